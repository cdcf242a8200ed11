/** The program of docs/guides/realtime.md, as it stands there. */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

/** What the program has stored of its only log: the number of its last change, 0 before the first one. */
function storedChange(): number {
  const { logs } = JSON.parse(readFileSync(join(folder.path, 'store.json'), 'utf8'))
  return Number(Object.values(logs)[0] ?? 0)
}

function hasSynced(): Promise<boolean> {
  const store = join(folder.path, 'store.json')
  const isThere = () => existsSync(store) && JSON.parse(readFileSync(store, 'utf8')).pos !== ''
  return waitFor(isThere, { what: 'a pos in the store', timeoutMs: 20_000 })
}

async function printed(receiver: Child, line: string | RegExp): Promise<void> {
  const has = () => receiver.output().match(line) !== null
  const patience = { what: String(line), timeoutMs: 20_000 }
  await waitFor(has, patience).catch((cause) => {
    throw new Error(`the program printed:\n${receiver.output()}`, { cause })
  })
}

describe('the program of the guide', () => {
  it('prints messages as they come, and after an absence those it missed, each once', async () => {
    const first = startReceiver()
    await printed(first, /session \d+ needed/)
    await hasSynced()
    await say('at once')
    await printed(first, '1 message.stored at once')
    // The program prints before it stores: a kill in between shows the message again.
    await waitFor(() => storedChange() === 1, { what: 'a stored message', timeoutMs: 20_000 })
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
    // The next program uses the same store.
    second.killTree()
    await second.exited
  })

  it('prints the first message that it gets of a group that is older than the membership', async () => {
    const group = { name: 'Crew' }
    const created = await alice.api.succeed('POST', '/group/create', { body: group })
    const groupId = created.data.group_id
    const sayInGroup = (content: string) => {
      const body = { type: 2, targets: [groupId], content_type: 0, content }
      return alice.api.succeed('POST', '/message/send', { body })
    }
    for (const word of ['before', 'before']) await sayInGroup(word)
    const receiver = startReceiver()
    await printed(receiver, /session \d+ /)
    const invited = { group_id: groupId, user_list: [bob.id] }
    await alice.api.succeed('POST', '/group/invite', { body: invited })
    await sayInGroup('welcome')
    // It comes as an event, or with the sync that the unknown number asks for.
    await printed(receiver, /(3 message\.stored|seq 3) welcome/)
    expect(receiver.output()).not.toContain('before')
    receiver.killTree()
    await receiver.exited
  })

  it('stays away when its session was kicked', async () => {
    const receiver = startReceiver()
    await printed(receiver, /session \d+ /)
    await bob.api.succeed('POST', '/user/kick')
    await printed(receiver, 'closed 4501')
    expect(await receiver.exited).toEqual({ code: 0, signal: null })
  })
})
