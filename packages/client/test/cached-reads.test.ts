import { isFullRun, type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Client } from '../src/api.js'
import { kinds, parseKey } from '../src/core/cached-reads/kinds.js'
import { fetchUpload } from '../src/node/fetch-upload.js'
import { connectNodeSocket } from '../src/node/node-socket.js'
import { createClient } from '../src/node.js'
import type { Leader } from '../src/runtime/leader.js'
import { leaderStarter } from '../src/runtime/leader-runtime.js'
import { memoryStore } from '../src/stores/memory-store.js'
import { fastClock } from './support/test-leader.js'

let server: ServerProcess
const clients: Client[] = []
const leaders: Leader[] = []

beforeAll(async () => {
  server = await startServer()
})
afterAll(async () => {
  for (const leader of leaders) leader.stop()
  for (const client of clients) await client.close()
  await server?.[Symbol.asyncDispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: any operation of the contract
type Call = (op: string, params?: object) => Promise<any>

/** A client by which a user calls. */
async function newUser(deviceGuid?: string) {
  const { id, token } = await server.api.newSession()
  const client = await connect(token, deviceGuid)
  return { id, token, call: client.call.bind(client) as unknown as Call }
}

async function connect(token: string, deviceGuid?: string): Promise<Client> {
  const options = { url: server.url, appId: server.appId, token: () => token }
  const client = createClient({ ...options, ...(deviceGuid && { deviceGuid }) })
  clients.push(client)
  await client.connect()
  return client
}

/** What an operation answers for a thing: the list as a whole, an entry, or nothing. */
async function answerOf(call: Call, key: string): Promise<unknown> {
  const { kind, ref } = parseKey(key) ?? expect.fail(key)
  const answer = await call(kind.op, kind.params?.([ref]) ?? {}).catch(() => undefined)
  if (!answer) return kind.empty
  const data = kind.member ? answer.data[kind.member] : answer.data
  if (kind.batch && kind.empty === null) return data[0] ?? null
  const second = kind.more && data.length > 0 ? kind.more(ref, data) : undefined
  return second ? (await call(second.op, second.params)).data : data
}

/** Keeps cached reads as a client does, and compares them with what the user's calls answer. */
async function watch({ token, call }: { token: string; call: Call }, keys: readonly string[]) {
  const store = memoryStore()
  /** Operations that the client has called. */
  const calls: string[] = []
  const leader = leaderStarter(
    { url: server.url, appId: server.appId, token: () => token, onError: String },
    {
      clock: fastClock(1),
      connect: (url, listener) => {
        const connection = connectNodeSocket(url, listener)
        return {
          send(text) {
            calls.push(JSON.parse(text).op)
            connection.send(text)
          },
          abandon: (code) => connection.abandon(code),
        }
      },
      upload: fetchUpload,
      wakeups: { listen: () => () => {} },
      platform: 'unknown',
    },
  )({
    state: { logs: [], unsent: [], cached: [] },
    store,
    generation: (await store.lead()).generation,
    listener: {
      committed: () => {},
      live: () => {},
      event: () => {},
      done: () => {},
      failed: String,
    },
  })
  leaders.push(leader)
  leader.connect()
  leader.execute('want', { type: 'watch', caller: 'test', keys })

  const untilEqual = async (what: string) => {
    let wrong: unknown
    await waitFor(
      async () => {
        const { cached } = await store.load()
        const kept = new Map(cached.map((thing) => [thing.key, thing]))
        const pairs = await Promise.all(
          keys.map(async (key) => [key, kept.get(key)?.value, await answerOf(call, key)]),
        )
        wrong = pairs.filter(([, ours, theirs]) => JSON.stringify(ours) !== JSON.stringify(theirs))
        return (wrong as unknown[]).length === 0
      },
      { what, timeoutMs: 10_000 },
    ).catch((error) => expect.fail(`${what}: ${JSON.stringify(wrong)} ${error}`))
  }
  return { untilEqual, calls }
}

it('cached reads: each kind equals the answers of the server, and again after each change', async () => {
  const [me, friend, stranger] = [await newUser(), await newUser(), await newUser()]
  await stranger.call('user.settings.update', { user_id: stranger.id, group_confirm: true })
  await me.call('user.settings.update', { user_id: me.id, group_confirm: true, auth_mode: 1 })
  const groupOf = async ({ call }: { call: Call }, name: string, user_list: number[]) =>
    (await call('group.create', { name, type: 1, user_list })).data.group_id as number
  const mine = await groupOf(me, 'mine', [])
  const theirs = await groupOf(friend, 'theirs', [])

  const keys = [
    ...Object.keys(kinds).filter((kind) => parseKey(kind)),
    ...[me, friend, stranger].map(({ id }) => `user.${id}`),
    ...[mine, theirs].flatMap((id) => [`group.${id}`, `members.${id}`, `joinRequests.${id}`]),
  ]
  const { untilEqual } = await watch(me, keys)
  await untilEqual('the first answers')

  const inGroup = (group_id: number) => ({ group_id })
  const changes: readonly (readonly [what: string, change: () => Promise<unknown>])[] = [
    ['a request', () => friend.call('contact.apply', { user_id: me.id, reason: 'hi' })],
    ['an accepted request', () => me.call('contact.accept', { user_id: friend.id })],
    ['an alias', () => me.call('contact.update', { user_id: friend.id, alias: 'Al' })],
    ['a block', () => me.call('contact.block', { user_id: stranger.id })],
    ['the end of a block', () => me.call('contact.unblock', { user_id: stranger.id })],
    ['a nickname', () => me.call('user.nickname.update', { nick_name: 'Me' })],
    ['a setting', () => me.call('user.settings.update', { user_id: me.id, auth_mode: 0 })],
    ['a device', () => connect(me.token, 'phone')],
    ['a pin', () => me.call('user.conversation.pin', { conversation_id: friend.id })],
    ['another pin', () => me.call('user.conversation.pin', { conversation_id: mine })],
    ['no pin', () => me.call('user.conversation.unpin', { conversation_id: friend.id })],
    ['a name', () => me.call('group.name.update', { ...inGroup(mine), value: 'ours' })],
    ['an applicant', () => stranger.call('group.apply', { ...inGroup(mine), reason: 'please' })],
    [
      'a member',
      () =>
        me.call('group.apply.handle', { ...inGroup(mine), approval: true, user_id: stranger.id }),
    ],
    ['an admin', () => me.call('group.admin.add', { ...inGroup(mine), user_list: [stranger.id] })],
    [
      'an invitation',
      () => friend.call('group.invite', { ...inGroup(theirs), user_list: [me.id] }),
    ],
    [
      'a membership',
      () => me.call('group.invite.handle', { ...inGroup(theirs), approval: true, user_id: me.id }),
    ],
    ['a mode', () => me.call('group.msg.mute_mode', { ...inGroup(theirs), msg_mute_mode: 1 })],
    [
      'a ban',
      () => me.call('group.ban', { ...inGroup(mine), user_list: [stranger.id], duration: 5 }),
    ],
    ['a kick', () => friend.call('group.kick', { ...inGroup(theirs), user_list: [me.id] })],
    ['the end of a group', () => me.call('group.destroy', inGroup(mine))],
    ['no contact', () => friend.call('contact.delete', { user_id: me.id })],
  ]
  // Each comparison reads everything.
  for (const [what, change] of isFullRun ? changes : changes.slice(0, 3)) {
    await change().catch((error) => expect.fail(`${what}: ${error}`))
    await untilEqual(what)
  }
}, 120_000)

it('cached reads: a member of a group applies the events of others without a call', async () => {
  const [me, owner, friend] = [await newUser(), await newUser(), await newUser()]
  const { data } = await owner.call('group.create', { name: 'team', user_list: [me.id] })
  const group_id = data.group_id as number
  const keys = [`group.${group_id}`, `members.${group_id}`, 'groups', 'invitations', 'contacts']
  const { untilEqual, calls } = await watch(me, keys)
  await untilEqual('the first answers')
  calls.length = 0
  const users = { group_id, user_list: [friend.id] }
  const set = (name: string, value: unknown) => [name, { group_id, value }] as const
  const changes: readonly (readonly [op: string, data: object])[] = [
    set('group.name.update', 'crew'),
    set('group.avatar.update', 'https://example.org/a.png'),
    set('group.description.update', 'all of us'),
    set('group.ext.update', '{}'),
    set('group.settings.allow_member_invitation', true),
    set('group.settings.allow_member_modify', true),
    set('group.settings.capacity', 50),
    ['group.settings.require_admin_approval', { group_id, apply_approval: 0 }],
    ['group.settings.ban_all', { group_id, duration: 5 }],
    ['group.settings.unban_all', { group_id }],
    ['group.invite', users],
    set('group.display_name.update', 'boss'),
    ['group.admin.add', users],
    ['group.admin.remove', users],
    ['group.ban', { ...users, duration: 5 }],
    ['group.unban', users],
    ['group.announcement.edit', { group_id, title: 'news', content: 'none' }],
    ['group.kick', users],
    ['group.invite', users],
    ['group.transfer', { group_id, new_owner: friend.id }],
  ]
  for (const [op, params] of changes)
    await owner.call(op, params).catch((error) => expect.fail(`${op}: ${error}`))
  await untilEqual('the changes')
  await friend.call('group.destroy', { group_id })
  await untilEqual('the end of the group')
  expect(calls.filter((op) => op !== 'message.sync')).toEqual([])
}, 30_000)
