/** The receivers of docs/guides/webhooks.md, as they stand there, with requests of a real service. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  anyBackend,
  type Backend,
  Child,
  freePort,
  isFullRun,
  type Session,
  TempFolder,
  testPython,
  waitFor,
} from '@hermod/testkit'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programOf } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { ownServer } from '../support/in-process-server.js'

const programs = new Map(
  blocksRunBy(import.meta.filename).map((block) => [block.file ?? '', programOf(block)]),
)

const has = (program: string, option: string) =>
  spawnSync(program, [option], { stdio: 'ignore' }).status === 0

/** The programs with the commands that run them; null: the machine has no such tool. */
const receivers: readonly (readonly [string, readonly [string, ...string[]] | null])[] = [
  ['receiver.mjs', [process.execPath]],
  ['receiver.py', commandOf(testPython(['hmac']))],
  // Both compile first, which takes seconds.
  ['receiver.go', isFullRun && has('go', 'version') ? ['go', 'run'] : null],
  ['Receiver.java', isFullRun && has('java', '-version') ? ['java'] : null],
]

function commandOf(program: string | null): readonly [string] | null {
  return program === null ? null : [program]
}

const tenMinutes = 600_000
const [backend] = anyBackend() as [Backend]
const server = ownServer(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
let folder: TempFolder
let alice: Session
let bob: Session
const children: Child[] = []

beforeAll(async () => {
  ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  folder = new TempFolder('receivers')
})

afterAll(async () => {
  for (const child of children) child.killTree()
  folder?.[Symbol.dispose]()
})

/** Calls an operation of webhooks with an Admin token. */
async function call(path: string, body: object) {
  const answer = await server.api.admin().succeed('POST', `/app/webhook/${path}`, { body })
  return answer.data
}

/** A receiver of the guide that runs, and its endpoint. */
class Receiver {
  private constructor(
    readonly url: string,
    readonly endpointId: number,
    readonly secret: string,
    readonly child: Child,
  ) {}

  static async start(name: string, command: readonly [string, ...string[]]): Promise<Receiver> {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/hook`
    const { endpoint_id, secret } = await call('create', { url })
    writeFileSync(join(folder.path, name), (programs.get(name) ?? '').replace('3000', `${port}`))
    const env = { ...process.env, SECRET: secret }
    const child = new Child([...command, name], { cwd: folder.path, env })
    children.push(child)
    const receiver = new Receiver(url, endpoint_id, secret, child)
    const answers = async () => (await receiver.post({})) !== 0
    await waitFor(answers, { what: `${name} to listen`, timeoutMs: 120_000 })
    return receiver
  }

  /** Sends a request that is not the service's. @returns the status; 0 = no answer */
  async post(headers: Readonly<Record<string, string>>, body = '{"id":"none"}'): Promise<number> {
    const answer = await fetch(this.url, { method: 'POST', headers, body }).catch(() => null)
    return answer?.status ?? 0
  }

  /** Signs a body as the service does. */
  sign(id: string, body: string, at = new Date()): Readonly<Record<string, string>> {
    return {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(this.secret).sign(id, at, body),
    }
  }

  /** Sends a test event. @returns the status of the answer */
  async test(): Promise<number> {
    return (await call('test', { endpoint_id: this.endpointId })).status
  }

  /** Returns how many printed lines have a text. */
  printed(text: string): number {
    return this.child.output().split(text).length - 1
  }
}

async function say(content: string): Promise<void> {
  const body = { type: 1, targets: [bob.id], content_type: 0, content }
  await alice.api.succeed('POST', '/message/send', { body })
}

function isAccepted(status: number): boolean {
  return status >= 200 && status < 300
}

describe('the receivers of the guide', () => {
  it('have at most 20 lines without imports', () => {
    expect([...programs.keys()]).toEqual([
      'receiver.mjs',
      'receiver.py',
      'receiver.go',
      'Receiver.java',
      'events.mjs',
    ])
    for (const [name, text] of programs) {
      const lines = text.split('\n').filter((line) => !/^\s*($|import |from |package )/.test(line))
      expect([name, lines.length <= 20]).toEqual([name, true])
    }
  })

  for (const [name, command] of receivers) {
    if (command === null) continue

    it(`${name} takes each message once, with the old secret too, and refuses what is not signed or old`, async () => {
      const receiver = await Receiver.start(name, command)
      const { endpointId } = receiver
      for (const text of [`${name} one`, `${name} zwölf`]) await say(text)
      const hasAll = () => receiver.printed(`${name} zwölf`) === 1
      await waitFor(hasAll, { what: 'both messages', timeoutMs: 20_000 })
      expect(receiver.printed(`${name} one`)).toBe(1)

      await call('update', { endpoint_id: endpointId, new_secret: true })
      expect(isAccepted(await receiver.test())).toBe(true)
      server.clock.set(Date.now() - tenMinutes)
      expect(await receiver.test()).toBe(401)
      server.clock.set(Date.now() + tenMinutes)
      expect(await receiver.test()).toBe(401)
      server.clock.set(Date.now())
      await call('update', { endpoint_id: endpointId, new_secret: true })
      expect(await receiver.test()).toBe(401)

      const body = '{"id":"forged","type":"test","data":{"content":"forged"}}'
      const right = receiver.sign('forged', body)
      const forgeries = [
        [{}, body],
        [right, body.replace('forged"}', 'changed"}')],
        [{ ...right, 'webhook-id': 'other' }, body],
        [{ ...right, 'webhook-timestamp': '0' }, body],
        [{ ...right, 'webhook-signature': `${right['webhook-signature']}x` }, body],
        [{ ...right, 'webhook-signature': 'ü'.repeat(47) }, body],
        [{ ...right, 'webhook-signature': '' }, body],
      ] as const
      for (const [headers, text] of forgeries) expect(await receiver.post(headers, text)).toBe(401)
      expect(receiver.printed('forged')).toBe(0)
      for (const _ of [1, 2]) expect(isAccepted(await receiver.post(right, body))).toBe(true)
      await waitFor(() => receiver.printed('forged') > 0, { what: 'a line', timeoutMs: 5_000 })
      expect(receiver.child.output().match(/^forged /gm)).toHaveLength(1)
      await call('delete', { endpoint_id: endpointId })
    }, 150_000)
  }
})

describe('the loop of the guide that reads the log', () => {
  it('prints each message once, also those that were sent while it was away', async () => {
    const { url, appId, adminToken } = server
    const program = (programs.get('events.mjs') ?? '').replace("'hermod'", `'${appId}'`)
    writeFileSync(join(folder.path, 'events.mjs'), program)
    const start = () => {
      const command = [process.execPath, 'events.mjs', url, adminToken] as const
      const child = new Child([...command], { cwd: folder.path })
      children.push(child)
      return child
    }
    const consumer = async () => {
      const list = await server.api.admin().succeed('GET', '/events/consumer/list')
      return list.data[0]
    }
    const first = start()
    await waitFor(async () => (await consumer()) !== undefined, {
      what: 'a consumer',
      timeoutMs: 20_000,
    })
    await say('at once')
    await waitFor(
      async () => first.output().includes('at once') && (await consumer()).behind === 0,
      {
        what: 'the message and its acknowledgement',
        timeoutMs: 20_000,
      },
    )
    first.killTree()
    await first.exited
    for (const text of ['away one', 'away two']) await say(text)
    const second = start()
    await waitFor(() => second.output().includes('away two'), {
      what: 'the missed messages',
      timeoutMs: 20_000,
    })
    const texts = second.output().match(/(?<=message\.stored ).*$/gm)
    expect(texts).toEqual(['away one', 'away two'])
  })
})
