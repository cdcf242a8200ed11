import { expect, it } from 'vitest'
import {
  aLog,
  aMessage,
  anUnsent,
  aUser,
  FakeSession,
  upload,
  settled,
} from '../../test/support/fake-session.js'
import { createClientOn } from '../create-client.js'

const clock = { now: () => 0, wallTime: () => 0, after: () => () => {}, random: () => 0.5 }

function aClient() {
  const session = new FakeSession()
  const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
  const client = createClientOn(session, options, { clock, upload })
  const list = () => client.conversations.getSnapshot()
  const ids = () => list().conversations.map(({ id }) => id)
  return { session, client, list, ids }
}

function pins(...value: number[]) {
  return { cached: [{ key: 'pins', value, isStale: false }] }
}

/** A direct conversation with a user above 1, and the time of its last message. */
function talk(id: number, timestamp: number, unread = 0) {
  const key = `d1.${id}`
  return aLog(key, { seq: 1, unread, last: aMessage(key, 1, { senderId: id, timestamp }) })
}

it.each([
  ['with listeners', true],
  ['without listeners', false],
])('conversation list %s: pinned ones first, then by last activity', (_name, isWatched) => {
  const { session, client, list, ids } = aClient()
  if (isWatched) client.conversations.subscribe(() => {})
  session.apply({ logs: [talk(5, 50, 2), talk(6, 60, 1), talk(7, 70)] })
  expect(ids()).toEqual([7, 6, 5])
  expect(list()).toMatchObject({ unread: 3, isComplete: true })
  session.apply({ logs: [talk(5, 80, 3)] })
  expect(ids()).toEqual([5, 7, 6])
  expect(list().unread).toBe(4)
  session.apply(pins(6))
  expect(ids()).toEqual([6, 5, 7])
  session.apply({ unsent: [anUnsent(1, { conversationId: 7, createdAt: 90 })] })
  expect(ids()).toEqual([6, 7, 5])
  session.apply({ sent: [1] })
  expect(ids()).toEqual([6, 5, 7])
  session.apply({ goneLogs: ['d1.5'] })
  expect(ids()).toEqual([6, 7])
  session.apply({ isReset: true, logs: [talk(8, 10)] })
  expect(ids()).toEqual([8])
})

it('conversation list: both logs of a user are one conversation', () => {
  const { session, list } = aClient()
  session.apply({ logs: [talk(5, 50, 2)] })
  const news = aMessage('b5', 1, { content: 'news', msgId: 900, timestamp: 99 })
  session.apply({ logs: [aLog('b5', { seq: 1, unread: 1, last: news })] })
  expect(list().conversations).toHaveLength(1)
  expect(list().conversations[0]).toMatchObject({
    unread: 3,
    lastActivity: 99,
    lastMessage: { text: 'news', isBroadcast: true },
  })
})

it('conversation list: titles, pictures, presence and typing', () => {
  const { session, client, list } = aClient()
  client.conversations.subscribe(() => {})
  const group = { group_id: 7, name: 'Team', avatar: 'team.png', created_at: 33, msg_mute_mode: 0 }
  session.apply({ logs: [talk(5, 50), aLog('g7', { last: null, muteMode: 1, status: 0 })] })
  expect(list().conversations.map(({ title }) => title)).toEqual(['', ''])
  session.apply({
    cached: [
      aUser(5, { alias: 'Bo', avatar: 'bo.png', mute_notification: true }),
      { key: 'group.7', value: group, isStale: false },
    ],
  })
  session.setLive({
    online: [5],
    typing: [
      { conversationId: 7, userId: 5 },
      { conversationId: 7, userId: 1 },
    ],
  })
  expect(list().conversations).toMatchObject([
    { id: 5, kind: 'direct', title: 'Bo', avatar: 'bo.png', isMuted: true, isOnline: true },
    { id: 7, kind: 'group', title: 'Team', isMuted: true, typing: [5], lastActivity: 33 },
  ])
  session.setLive({ online: [], typing: [] })
  expect(list().conversations).toMatchObject([{ isOnline: false }, { typing: [] }])
})

it('conversation list: deleted and empty conversations are left out, new groups are not', () => {
  const { session, ids } = aClient()
  session.apply({
    logs: [
      aLog('d1.2', { last: null }),
      aLog('d1.3', { seq: 4, last: null, hiddenMsgId: 40 }),
      aLog('d1.4', { seq: 4 }),
      aLog('g7', { last: null, status: 0 }),
      aLog('g8', { seq: 2, last: null, hiddenMsgId: 20 }),
      aLog('g9', { last: null, status: 1 }),
    ],
  })
  expect(ids()).toEqual([7, 4])
})

it('conversation list: a group that was dissolved or left takes no messages', () => {
  const { session, client } = aClient()
  const isWritable = (id: number) => client.group(id).conversation.summary.getSnapshot().isWritable
  session.apply({ logs: [aLog('g7', { status: 0 }), aLog('g8', { status: 1 })] })
  expect([isWritable(7), isWritable(8)]).toEqual([true, false])
  session.apply({ cached: [{ key: 'groups', value: [8], isStale: false }] })
  expect(isWritable(7)).toBe(false)
})

it('conversation list: one change among 5,000 conversations keeps all other objects', () => {
  const { session, client, list } = aClient()
  let notified = 0
  client.conversations.subscribe(() => notified++)
  session.apply({ logs: Array.from({ length: 5_000 }, (_, index) => talk(index + 2, index)) })
  expect(notified).toBe(1)
  const before = list()
  session.apply({ logs: [talk(17, 9_000, 1)] })
  const after = list()
  expect(after.conversations[0]).toMatchObject({ id: 17, unread: 1 })
  const known = new Set(before.conversations)
  expect(after.conversations.filter((each) => !known.has(each))).toHaveLength(1)
  session.apply({ messages: [aMessage('d1.17', 1)] })
  session.apply({ cached: [aUser(9_999)] })
  expect(list()).toBe(after)
  expect(notified).toBe(2)

  let looks = 0
  const { logs } = session.state
  session.state.logs.get = (key) => {
    looks++
    return Map.prototype.get.call(logs, key)
  }
  session.apply({ logs: [talk(18, 10_000)] })
  session.setLive({ typing: [{ conversationId: 19, userId: 19 }] })
  session.setLive({ online: [20] })
  expect(list().conversations[0]?.id).toBe(18)
  expect(looks).toBeLessThan(50)
})

it('conversation list: the names of all conversations are read while it has listeners', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [talk(5, 50), aLog('g7', { last: null })] })
  const unsubscribe = client.conversations.subscribe(() => {})
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toEqual(['pins', 'groups', 'user.5', 'group.7'])
  session.apply({ logs: [talk(6, 60)] })
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toContain('user.6')
  expect(session.commandsOf('presence').at(-1)?.userIds).toEqual([6, 5])
  unsubscribe()
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toEqual([])
})

it('conversation list and messages: nothing more comes to a client that has ended', async () => {
  const { session, client, list } = aClient()
  session.state.meta = { ...session.state.meta, pos: '' }
  session.setLive({ connection: { state: 'connecting' } })
  const { messages } = client.direct(5)
  messages.subscribe(() => {})
  await settled()
  expect([list().isComplete, messages.getSnapshot().isLoading]).toEqual([false, true])
  session.setLive({ connection: { state: 'ended' } })
  expect([list().isComplete, messages.getSnapshot().isLoading]).toEqual([true, false])
})
