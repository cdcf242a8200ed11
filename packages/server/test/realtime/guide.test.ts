/** The program of docs/guides/realtime.md, as it stands there. */
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Child,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '../../../..')
const guide = readFileSync(join(root, 'docs/guides/realtime.md'), 'utf8')
const [, program = ''] = /cat > receiver\.mjs <<'END'\n(.*?\n)END\n/s.exec(guide) ?? []

let server: ServerProcess
let folder: TempFolder
let alice: Session
let bob: Session
let receivers: Child[]

beforeAll(async () => {
  server = await startServer()
  ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
  receivers = []
  folder = new TempFolder('receiver')
  writeFileSync(join(folder.path, 'receiver.mjs'), program)
  // The guide runs in a checkout, where the program finds its library.
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
})

afterAll(async () => {
  for (const receiver of receivers) receiver.killTree()
  rmSync(join(folder.path, 'node_modules'))
  folder[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
})

function startReceiver(): Child {
  const address = `${server.url.replace('http', 'ws')}/gateway`
  const { appId } = server
  const command = [process.execPath, 'receiver.mjs', address, appId, bob.token] as const
  const receiver = new Child([...command], { cwd: folder.path })
  receivers.push(receiver)
  return receiver
}

async function say(content: string): Promise<void> {
  const body = { type: 1, targets: [bob.id], content_type: 0, content }
  await alice.api.succeed('POST', '/message/send', { body })
}

function printed(receiver: Child, line: string | RegExp): Promise<boolean> {
  return waitFor(() => receiver.output().match(line) !== null, {
    what: `${line} in ${receiver.output()}`,
    timeoutMs: 20_000,
  })
}

describe('the program of the guide', () => {
  it('prints messages as they come, and after an absence those it missed, each once', async () => {
    const first = startReceiver()
    await printed(first, /session \d+ needed/)
    await say('at once')
    await printed(first, '1 message.stored at once')
    first.killTree()
    await first.exited
    for (const word of ['one', 'two', 'three']) await say(word)
    const second = startReceiver()
    await printed(second, '4 message.stored three')
    await say('again live')
    await printed(second, '5 message.stored again live')
    const applied = second.output().match(/^\d+ message\.stored .*$/gm)
    expect(applied).toEqual([
      '2 message.stored one',
      '3 message.stored two',
      '4 message.stored three',
      '5 message.stored again live',
    ])
  })

  it('stays away when its session was kicked', async () => {
    const receiver = startReceiver()
    await printed(receiver, /session \d+ /)
    await bob.api.succeed('POST', '/user/kick')
    await printed(receiver, 'closed 4501')
    expect(await receiver.exited).toEqual({ code: 0, signal: null })
  })
})
