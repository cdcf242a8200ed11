/** The backends of docs/guides/identity.md, as they stand there, with a real service. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  anyBackend,
  type Backend,
  Child,
  freePort,
  isFullRun,
  TempFolder,
  testPython,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const programs = new Map(
  blocksRunBy(import.meta.filename).map((block) => [block.file ?? '', programOf(block)]),
)
const has = (program: string, option: string) =>
  spawnSync(program, [option], { stdio: 'ignore' }).status === 0
const python = testPython(['http.server', 'urllib.request'])

/** The programs with the commands that run them; null: the machine has no such tool. */
const backends: readonly (readonly [string, readonly [string, ...string[]] | null])[] = [
  ['backend.mjs', [process.execPath]],
  ['backend.py', python === null ? null : [python]],
  // Both compile first, which takes seconds.
  ['backend.go', isFullRun && has('go', 'version') ? ['go', 'run'] : null],
  ['Backend.java', isFullRun && has('java', '-version') ? ['java'] : null],
]

const [database] = anyBackend() as [Backend]
const server = ownServer(database)
let folder: TempFolder
const children: Child[] = []

beforeAll(() => {
  folder = new TempFolder('backends')
})

afterAll(() => {
  for (const child of children) child.killTree()
  folder?.[Symbol.dispose]()
})

/** Starts a program of the guide. @returns its address */
async function start(name: string, command: readonly [string, ...string[]]): Promise<string> {
  const port = await freePort()
  writeFileSync(join(folder.path, name), (programs.get(name) ?? '').replace('3000', `${port}`))
  const { url: HERMOD_URL, appId: HERMOD_APP, adminToken: HERMOD_TOKEN } = server
  const env = { ...process.env, HERMOD_URL, HERMOD_APP, HERMOD_TOKEN }
  const child = new Child([...command, name], { cwd: folder.path, env })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  const answers = async () => (await post(`${url}/chat-token`)).status !== 0
  await waitFor(answers, { what: `${name} to listen`, timeoutMs: 120_000 }).catch((cause) => {
    throw new Error(`the program printed:\n${child.output()}`, { cause })
  })
  return url
}

/** Calls the backend with the cookie of a page. A status of 0: it does not answer. */
async function post(url: string, session?: string): Promise<{ status: number; text: string }> {
  const headers = session === undefined ? {} : { cookie: `session=${session}` }
  const answer = await fetch(url, { method: 'POST', headers }).catch(() => null)
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? '' }
}

describe('the backends of the guide', () => {
  it('are four, and that in Node has at most 30 lines', () => {
    expect([...programs.keys()]).toEqual(backends.map(([name]) => name))
    const lines = (programs.get('backend.mjs') ?? '').split('\n')
    expect(lines.filter((line) => !/^\s*($|\/\/|import )/.test(line)).length).toBeLessThanOrEqual(
      30,
    )
  })

  for (const [name, command] of backends) {
    if (command === null) continue

    it(`${name} issues tokens to its own log-ins, and ends them everywhere`, async () => {
      const url = await start(name, command)
      for (const session of [undefined, 'unknown'])
        expect(await post(`${url}/chat-token`, session)).toMatchObject({ status: 401 })

      const alice = await post(`${url}/chat-token`, 'alice-1')
      const bob = await post(`${url}/chat-token`, 'bob-1')
      expect([alice.status, bob.status]).toEqual([200, 200])
      const profileOf = async (token: string) =>
        (await server.api.as(token).succeed('GET', '/user/profile')).data
      const profile = await profileOf(alice.text)
      expect([profile.nick_name, (await profileOf(bob.text)).nick_name]).toEqual(['Alice', 'Bob'])
      const again = await post(`${url}/chat-token`, 'alice-1')
      expect((await profileOf(again.text)).user_id).toBe(profile.user_id)
      expect(await post(`${url}/of-another-app`, 'alice-1')).toMatchObject({ status: 404 })
      const [first, next] = [
        await post(`${url}/chat-token?device=a-browser`, 'alice-1'),
        await post(`${url}/chat-token?device=a-browser`, 'alice-1'),
      ]
      expect(await server.api.as(first.text).call('GET', '/user/profile')).toMatchObject({
        code: answerCode.token_expired,
      })

      expect((await post(`${url}/log-out-everywhere`, 'alice-1')).status).toBe(200)
      for (const { text } of [alice, again, next])
        expect(await server.api.as(text).call('GET', '/user/profile')).toMatchObject({
          code: answerCode.token_expired,
        })
      expect((await post(`${url}/chat-token`, 'alice-1')).status).toBe(401)
      expect((await profileOf(bob.text)).nick_name).toBe('Bob')
    }, 150_000)
  }
})
