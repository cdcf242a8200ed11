import { expect, it } from 'vitest'
import {
  aLog,
  aMessage,
  anUnsent,
  FakeSession,
  upload,
  me,
  settled,
} from '../../../test/support/fake-session.js'
import type { Client } from '../../api.js'
import type { Command } from '../../core/inputs.js'
import { createClientOn } from '../../create-client.js'
import { ClientError, failureOf } from '../../errors.js'
import type { UnsentRecord } from '../../model/records.js'

const direct = 'd1.9'
const broadcasts = 'b9'

const clock = {
  now: () => 0,
  wallTime: () => 7_000_000,
  after: () => () => {},
  random: () => 0.25,
}

function aClient() {
  const session = new FakeSession()
  const options = { url: 'https://chat.example', appId: 'app', token: () => 'secret' }
  const client: Client = createClientOn(session, options, { clock, upload })
  const conversation = client.direct(9)
  const snapshot = () => conversation.messages.getSnapshot()
  const texts = () => snapshot().messages.map(({ text }) => text)
  const seqs = () => snapshot().messages.map(({ id }) => id / 10)
  return { session, client, conversation, snapshot, texts, seqs }
}

/** Answers history from the messages that the server has, and puts them into the store. */
function serveHistory(session: FakeSession, serverSeq: number) {
  session.answer = (command: Command) => {
    if (command.type !== 'history') return undefined
    const { log, beforeSeq, limit } = command
    const fromSeq = Math.max(1, beforeSeq - limit)
    expect(beforeSeq).toBeLessThanOrEqual(serverSeq + 1)
    const record = session.state.logs.get(log)
    const messages = []
    for (let seq = fromSeq; seq < beforeSeq; seq++) messages.push(aMessage(log, seq))
    const ranges = joined([...(record?.ranges ?? []), [fromSeq, beforeSeq - 1]])
    session.apply({ logs: [{ ...aLog(log), ...record, ranges }], messages })
    return { fromSeq }
  }
}

function joined(ranges: (readonly [number, number])[]): (readonly [number, number])[] {
  const result: [number, number][] = []
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const last = result.at(-1)
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else result.push([from, to])
  }
  return result
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

it('message list: the first listener loads the newest page from the store', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 120)] })
  conversation.messages.subscribe(() => {})
  await settled()
  expect(seqs()).toEqual(range(71, 120))
  expect(snapshot()).toMatchObject({ hasOlder: true, isLoading: false })
  expect(session.commandsOf('history')).toEqual([])
})

it('message list: it is loading until it has been loaded, so an app does not show an empty one', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 2)] })
  const shown = [snapshot()]
  conversation.messages.subscribe(() => shown.push(snapshot()))
  await settled()
  expect(shown.map(({ isLoading, messages }) => [isLoading, messages.length])).toEqual([
    [true, 0],
    [false, 2],
  ])
})

it('message list: it is loading while the first sync may still bring the conversation', async () => {
  const { session, conversation, snapshot } = aClient()
  const { meta } = session.state
  session.apply({ meta: { ...meta, pos: '' } })
  conversation.messages.subscribe(() => {})
  await settled()
  expect(snapshot()).toMatchObject({ isLoading: true, messages: [] })
  session.apply({ meta: { ...meta, pos: 'p', listCursor: 'rest' } })
  await settled()
  expect(snapshot().isLoading).toBe(true)
  session.apply({ meta })
  await settled()
  expect(snapshot()).toMatchObject({ isLoading: false, messages: [] })
})

it('message list: older pages are loaded to the beginning', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 120)] })
  conversation.messages.subscribe(() => {})
  await settled()
  await conversation.messages.loadOlder()
  await conversation.messages.loadOlder({ limit: 10 })
  expect(seqs()).toEqual(range(11, 120))
  await conversation.messages.loadOlder()
  expect(seqs()).toEqual(range(1, 120))
  expect(snapshot().hasOlder).toBe(false)
})

it('message list: a listener that comes, goes and comes again, as in strict mode, loads once', async () => {
  const { session, conversation, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 10)] })
  conversation.messages.subscribe(() => {})()
  const unsubscribe = conversation.messages.subscribe(() => {})
  await settled()
  expect([seqs(), session.reads]).toEqual([range(1, 10), 1])
  expect(session.commandsOf('onScreen')).toHaveLength(1)
  unsubscribe()
  conversation.messages.subscribe(() => {})
  await settled()
  expect(session.reads).toBe(1)
  expect(session.commandsOf('onScreen')).toHaveLength(1)
})

it('message list: two requests for older messages at once load one page', async () => {
  const { session, conversation, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 120)] })
  conversation.messages.subscribe(() => {})
  await settled()
  await Promise.all([
    conversation.messages.loadOlder({ limit: 10 }),
    conversation.messages.loadOlder({ limit: 10 }),
  ])
  expect(seqs()).toEqual(range(61, 120))
  await conversation.messages.loadOlder({ limit: 10 })
  expect(seqs()).toEqual(range(51, 120))
})

it('message list: what the store lacks comes from the server', async () => {
  const { session, conversation, seqs, snapshot } = aClient()
  serveHistory(session, 130)
  session.apply({ logs: [session.fill(direct, 130, { ranges: [[121, 130]] })] })
  conversation.messages.subscribe(() => {})
  await settled()
  expect(seqs()).toEqual(range(81, 130))
  await conversation.messages.loadOlder({ limit: 100 })
  expect(seqs()).toEqual(range(1, 130))
  expect(snapshot().hasOlder).toBe(false)
})

it('message list: a hole that appears in the loaded part is filled', async () => {
  const { session, conversation, seqs } = aClient()
  serveHistory(session, 60)
  session.apply({ logs: [session.fill(direct, 20)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const messages = range(51, 60).map((seq) => aMessage(direct, seq))
  const ranges: [number, number][] = [
    [1, 20],
    [51, 60],
  ]
  session.apply({ logs: [aLog(direct, { seq: 60, ranges })], messages })
  expect(seqs()).toEqual([...range(1, 20), ...range(51, 60)])
  await settled()
  expect(seqs()).toEqual(range(1, 60))
})

it('message list: a hole of many messages moves the beginning of the loaded part above it', async () => {
  const { session, conversation, seqs, snapshot } = aClient()
  serveHistory(session, 1_000)
  session.apply({ logs: [session.fill(direct, 20)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const messages = range(991, 1_000).map((seq) => aMessage(direct, seq))
  const ranges: [number, number][] = [
    [1, 20],
    [991, 1_000],
  ]
  session.apply({ logs: [aLog(direct, { seq: 1_000, ranges })], messages })
  await settled()
  expect(seqs()).toEqual(range(991, 1_000))
  expect(snapshot().hasOlder).toBe(true)
  await conversation.messages.loadOlder({ limit: 20 })
  expect(seqs()).toEqual(range(971, 1_000))
})

it('message list: direct messages and broadcasts of a user are merged by ID', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({
    logs: [
      session.fill(direct, 80),
      session.fill(broadcasts, 2, {
        ranges: [[1, 2]],
      }),
    ],
  })
  session.apply({
    messages: [
      aMessage(broadcasts, 1, { msgId: 305, content: 'old news' }),
      aMessage(broadcasts, 2, { msgId: 795, content: 'news' }),
    ],
  })
  conversation.messages.subscribe(() => {})
  await settled()
  const ids = snapshot().messages.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(ids.slice(-3)).toEqual([790, 795, 800])
  expect(snapshot().messages.find(({ id }) => id === 795)).toMatchObject({
    isBroadcast: true,
    text: 'news',
  })
  // Direct messages below the first loaded one are not loaded, so an older broadcast waits.
  expect(ids).not.toContain(305)
  await conversation.messages.loadOlder()
  expect(snapshot().messages).toHaveLength(82)
})

it('message list: edits and recalls show, and nothing else changes', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 3)] })
  let notified = 0
  conversation.messages.subscribe(() => notified++)
  await settled()
  const before = snapshot()
  notified = 0
  session.apply({ messages: [aMessage(direct, 2, { content: 'edited', editTimestamp: 1 })] })
  const after = snapshot()
  expect(notified).toBe(1)
  expect(after.messages.map(({ text }) => text)).toEqual(['message 1', 'edited', 'message 3'])
  expect(after.messages[1]).toMatchObject({ isEdited: true, key: before.messages[1]?.key })
  expect(after.messages[0]).toBe(before.messages[0])
  session.apply({ removed: [{ log: direct, seq: 1 }] })
  expect(snapshot().messages.map(({ id }) => id)).toEqual([20, 30])
  notified = 0
  session.apply({ messages: [aMessage('d1.5', 2)] })
  session.setLive({ typing: [{ conversationId: 5, userId: 5 }] })
  expect(notified).toBe(0)
})

it('message list: a queued edit shows its text until the message has another one, or it has failed', async () => {
  const { session, client, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 2)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const alteration = (changes: Partial<UnsentRecord>) =>
    session.apply({
      unsent: [
        anUnsent(7, {
          ...{ content: 'new', alters: { kind: 'edit', msgId: 20, seenEdit: 0 }, ...changes },
        }),
      ],
    })
  alteration({ state: 'queued' })
  const edited = { id: 20, text: 'new', isEdited: true, editedAt: 0 }
  const pending = { kind: 'edit', text: 'new', key: 't7' }
  expect(snapshot().messages[1]).toMatchObject({
    ...edited,
    pending: { ...pending, status: 'sending' },
  })
  expect(client.conversations.getSnapshot().conversations[0]?.lastMessage).toMatchObject(edited)
  expect(snapshot().messages).toHaveLength(2)
  expect(snapshot().messages[0]).not.toHaveProperty('pending')

  const last = aMessage(direct, 2, { content: 'of another', editTimestamp: 9 })
  session.apply({ messages: [last] })
  const present = { text: 'of another', editedAt: 9 }
  expect(snapshot().messages[1]).toMatchObject({ ...present, pending })
  const failure = { code: 13_014, name: 'edited_meanwhile', message: '', retry: false }
  alteration({ state: 'failed', failure })
  expect(snapshot().messages[1]).toMatchObject({
    ...present,
    pending: { ...pending, status: 'failed', failure },
  })
  session.apply({ sent: [7] })
  expect(snapshot().messages[1]).not.toHaveProperty('pending')
})

it('message list: a recall that waits for an unsent message shows with it', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 1)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const alters = { kind: 'recall', msgId: 0, of: 7 } as const
  session.apply({
    unsent: [
      anUnsent(7, { state: 'unknown', content: 'hi' }),
      anUnsent(8, { state: 'queued', content: '', alters }),
    ],
  })
  const pending = { kind: 'recall', key: 't8', status: 'sending' }
  expect(snapshot().messages[1]).toMatchObject({ text: 'hi', status: 'unknown', pending })
  expect(snapshot().messages).toHaveLength(2)
})

it('message list: messages that the user hid are gone', async () => {
  const { session, conversation, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 5)] })
  conversation.messages.subscribe(() => {})
  await settled()
  session.apply({
    logs: [aLog(direct, { seq: 5, hiddenMsgId: 30, ranges: [[1, 5]] })],
    hidden: [{ log: direct, msgId: 30 }],
  })
  expect(seqs()).toEqual([4, 5])
})

it('message list: a change that comes while the store is read is not undone by the older answer', async () => {
  const { session, conversation, texts } = aClient()
  session.apply({ logs: [session.fill(direct, 3)] })
  conversation.messages.subscribe(() => {})
  session.beforeRead = () => {
    session.beforeRead = () => {}
    session.apply({
      messages: [aMessage(direct, 2, { content: 'edited later' }), aMessage(direct, 4)],
      removed: [{ log: direct, seq: 1 }],
      logs: [aLog(direct, { seq: 4, ranges: [[1, 4]] })],
    })
  }
  await settled()
  expect(texts()).toEqual(['edited later', 'message 3', 'message 4'])
})

it('message list: dropped messages of a log are loaded again', async () => {
  const { session, conversation, seqs } = aClient()
  serveHistory(session, 5)
  session.apply({ logs: [session.fill(direct, 5)] })
  conversation.messages.subscribe(() => {})
  await settled()
  session.apply({ emptiedLogs: [direct], logs: [aLog(direct, { seq: 5 })] })
  expect(seqs()).toEqual([])
  await settled()
  expect(seqs()).toEqual([1, 2, 3, 4, 5])
})

it('message list: after a reload of the state the same messages are the same objects', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 5)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const before = snapshot()
  session.stored.set(`${direct} 5`, aMessage(direct, 5, { content: 'other' }))
  session.notify({ type: 'reload' })
  expect(snapshot().messages).toBe(before.messages)
  await settled()
  const after = snapshot()
  expect(after.messages[4]?.text).toBe('other')
  expect(after.messages[0]).toBe(before.messages[0])
})

it('message list: the key of an own message stays from writing over sending to a reload', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({ logs: [session.fill(direct, 2)] })
  conversation.messages.subscribe(() => {})
  await settled()
  const keys: (string | undefined)[] = []
  const statuses: (string | undefined)[] = []
  const note = () => {
    expect(snapshot().messages).toHaveLength(3)
    keys.push(snapshot().messages[2]?.key)
    statuses.push(snapshot().messages[2]?.status)
  }
  for (const state of ['queued', 'sending', 'unknown', 'sent'] as const) {
    session.apply({ unsent: [anUnsent(77, { state })] })
    note()
  }
  const stored = aMessage(direct, 3, { senderId: me, transactionId: 77 })
  const log = (changes: object) => aLog(direct, { seq: 3, ranges: [[1, 3]], ...changes })
  session.apply({ messages: [stored], logs: [log({})] })
  note()
  session.apply({ sent: [77] })
  note()
  session.apply({ logs: [log({ peerDeliveredSeq: 3 })] })
  note()
  session.apply({ logs: [log({ peerDeliveredSeq: 3, peerReadSeq: 3 })] })
  note()
  session.notify({ type: 'reload' })
  await settled()
  note()
  expect(new Set(keys).size).toBe(1)
  expect(statuses).toEqual([
    ...['sending', 'sending', 'unknown', 'sent', 'sent', 'sent', 'delivered', 'read', 'read'],
  ])
})

it('message list: unsent messages stand last, in their order, with failure and progress', async () => {
  const { session, conversation, snapshot } = aClient()
  const failure = { code: 10_006, name: 'blocked_by_recipient', message: 'blocked', retry: false }
  const file = { blob: new Blob(['123456']), name: 'a.txt', fileType: 100 }
  session.apply({
    logs: [session.fill(direct, 1)],
    unsent: [
      anUnsent(3, { order: 3, state: 'uploading', file }),
      anUnsent(2, { order: 2, state: 'failed', failure }),
      anUnsent(4, { conversationId: 5 }),
    ],
  })
  conversation.messages.subscribe(() => {})
  await settled()
  session.setLive({ uploads: { 3: { sent: 2, total: 6 } } })
  const [, failed, uploading] = snapshot().messages
  expect(snapshot().messages).toHaveLength(3)
  expect(failed).toMatchObject({ status: 'failed', failure, isOwn: true, id: 0, key: 't2' })
  expect(uploading).toMatchObject({
    status: 'sending',
    upload: { sent: 2, total: 6 },
    file: file.blob,
  })
  session.setLive({ uploads: {} })
  session.apply({ unsent: [anUnsent(3, { order: 3, state: 'queued', file })] })
  expect(snapshot().messages[2]).toMatchObject({ upload: { sent: 6, total: 6 } })
})

it('message list: a page that cannot be loaded says so, and is loaded with the next connection', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  const offline = failureOf('not_connected', 'offline', true)
  session.answer = (command) => {
    if (command.type === 'history') throw new ClientError(offline)
  }
  session.setLive({ connection: { state: 'offline' } })
  session.apply({ logs: [session.fill(direct, 60, { ranges: [[51, 60]] })] })
  conversation.messages.subscribe(() => {})
  await settled()
  expect(seqs()).toEqual(range(51, 60))
  expect(snapshot()).toMatchObject({ error: { name: 'not_connected' }, hasOlder: true })
  await expect(conversation.messages.loadOlder()).rejects.toMatchObject({ name: 'not_connected' })
  serveHistory(session, 60)
  session.setLive({ connection: { state: 'online' } })
  await settled()
  expect(snapshot().error).toBeUndefined()
  await conversation.messages.loadOlder()
  expect(seqs()).toEqual(range(1, 60))
})

it('message list: an aborted signal ends the waiting only', async () => {
  const { session, conversation, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 5)] })
  const abort = new AbortController()
  abort.abort()
  await expect(conversation.messages.loadOlder({ signal: abort.signal })).rejects.toMatchObject({
    name: 'aborted',
  })
  await settled()
  expect(seqs()).toEqual([1, 2, 3, 4, 5])
})

it('message list: a list without listeners follows what it has loaded', async () => {
  const { session, conversation, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 2)] })
  await conversation.messages.loadOlder()
  session.apply({
    messages: [aMessage(direct, 3)],
    logs: [aLog(direct, { seq: 3, ranges: [[1, 3]] })],
  })
  expect(seqs()).toEqual([1, 2, 3])
})

it('message list: a list that grows for long keeps the newest messages', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  session.apply({ logs: [session.fill(direct, 1)] })
  conversation.messages.subscribe(() => {})
  await settled()
  for (let seq = 2; seq <= 3_000; seq += 50) {
    const messages = range(seq, seq + 49).map((each) => aMessage(direct, each))
    session.apply({ messages, logs: [aLog(direct, { seq: seq + 49, ranges: [[1, seq + 49]] })] })
  }
  expect(snapshot().messages.length).toBeLessThan(1_100)
  expect(seqs().at(-1)).toBe(3_001)
  expect(snapshot().hasOlder).toBe(true)
})

it.each([true, false])(
  'message list: what it drops need not stay in memory (durable: %s)',
  async (isDurable) => {
    const { session, conversation } = aClient()
    session.setLive({ isDurable })
    session.apply({ logs: [session.fill(direct, 200)] })
    await conversation.messages.loadOlder({ limit: 150 })
    const end = conversation.messages.subscribe(() => {})
    end()
    const forgotten = isDurable ? [] : [{ type: 'forget', log: direct, beforeSeq: 151 }]
    expect(session.commandsOf('forget')).toEqual(forgotten)
  },
)

it('message list: while it has listeners its logs are on screen', async () => {
  const { session, conversation } = aClient()
  const unsubscribe = conversation.messages.subscribe(() => {})
  await settled()
  expect(session.commandsOf('onScreen').at(-1)?.logs).toEqual([direct, broadcasts])
  expect(session.commandsOf('presence').at(-1)?.userIds).toEqual([9])
  unsubscribe()
  await settled()
  expect(session.commandsOf('onScreen').at(-1)?.logs).toEqual([])
})

it('message list: around a message, from the store and the server, and on to both ends', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  serveHistory(session, 2_000)
  session.apply({
    logs: [
      session.fill(direct, 2_000, {
        ranges: [
          [401, 420],
          [1_991, 2_000],
        ],
      }),
    ],
  })
  conversation.messages.subscribe(() => {})
  await settled()
  await conversation.messages.loadAround(4_100, { limit: 100 })
  expect(seqs()).toEqual(range(361, 460))
  expect(snapshot()).toMatchObject({ hasOlder: true, hasNewer: true, isLoading: false })
  expect(session.commandsOf('history').length).toBeLessThan(15)
  const { messages } = snapshot()
  await conversation.messages.loadNewer({ limit: 40 })
  expect(seqs()).toEqual(range(361, 500))
  expect(snapshot().messages[0]).toBe(messages[0])
  await conversation.messages.loadOlder({ limit: 10 })
  expect(seqs()).toEqual(range(351, 500))
  await conversation.messages.loadLatest()
  expect(seqs()).toEqual(range(1_951, 2_000))
  expect(snapshot().hasNewer).toBe(false)
})

it('message list: around a message that is gone; what comes shows at the end only', async () => {
  const { session, conversation, snapshot, seqs } = aClient()
  session.apply({
    logs: [session.fill(direct, 60)],
    removed: [{ log: direct, seq: 20 }],
    unsent: [anUnsent(1)],
  })
  await conversation.messages.loadAround(200, { limit: 4 })
  expect(seqs()).toEqual([18, 19, 21])
  session.apply({ logs: [session.fill(direct, 61)], messages: [aMessage(direct, 61)] })
  session.apply({ messages: [aMessage(direct, 19, { content: 'edited' })] })
  expect(seqs()).toEqual([18, 19, 21])
  expect(snapshot().messages[1]?.text).toBe('edited')
  while (snapshot().hasNewer) await conversation.messages.loadNewer({ limit: 20 })
  expect(seqs()).toEqual([18, 19, ...range(21, 61), 0])
  session.apply({
    logs: [aLog(direct, { seq: 62, ranges: [[1, 62]] })],
    messages: [aMessage(direct, 62)],
  })
  expect(seqs().at(-2)).toBe(62)
})

it('message list: the first unread message, once it is loaded', async () => {
  const { session, conversation, snapshot } = aClient()
  session.apply({
    logs: [session.fill(direct, 120, { readSeq: 40, unread: 80 })],
    messages: [aMessage(direct, 41, { senderId: me })],
  })
  conversation.messages.subscribe(() => {})
  await settled()
  expect(snapshot().firstUnreadKey).toBeUndefined()
  expect(conversation.summary.getSnapshot().readSeq).toBe(40)
  await conversation.messages.loadOlder()
  const { messages, firstUnreadKey } = snapshot()
  expect(messages.find(({ seq }) => seq === 42)?.key).toBe(firstUnreadKey)
  session.apply({ logs: [aLog(direct, { seq: 120, ranges: [[1, 120]], readSeq: 120 })] })
  expect(snapshot().firstUnreadKey).toBeUndefined()
})

it('message list: a reply has the quote of a loaded original, as it is now', async () => {
  const { session, conversation, snapshot } = aClient()
  const replyTo = { msgId: 10, seq: 1 }
  const reply = aMessage(direct, 3, { replyTo })
  session.apply({
    logs: [session.fill(direct, 2)],
    unsent: [anUnsent(7, { replyTo })],
  })
  conversation.messages.subscribe(() => {})
  await settled()
  session.apply({ logs: [aLog(direct, { seq: 3, ranges: [[1, 3]] })], messages: [reply] })
  const quotes = () => snapshot().messages.flatMap(({ quote }) => quote ?? [])
  const present = { id: 10, state: 'present', senderId: 9, contentType: 'text', text: 'message 1' }
  expect(quotes()).toEqual([present, present])
  expect(snapshot().messages.at(-1)).toMatchObject({ replyTo: { id: 10, seq: 1 }, isOwn: true })
  const before = snapshot().messages
  session.apply({ messages: [aMessage(direct, 2, { content: 'edited' })] })
  expect(snapshot().messages[2]).toBe(before[2])
  session.apply({ messages: [aMessage(direct, 1, { content: 'edited' })] })
  expect(quotes()).toMatchObject([{ text: 'edited' }, { text: 'edited' }])
  session.apply({ removed: [{ log: direct, seq: 1 }] })
  expect(quotes()).toEqual(Array(2).fill({ id: 10, state: 'recalled' }))
  expect(session.commandsOf('quotes')).toEqual([])
})

it('message list: other quotes are those that are kept; what is missing is asked for while it is shown', async () => {
  const { session, conversation, snapshot } = aClient()
  const hidden = { msgId: 10, seq: 1 }
  const other = { msgId: 20, seq: 2 }
  session.apply({ logs: [session.fill(direct, 120, { hiddenMsgId: 15 })] })
  for (const [seq, replyTo] of [
    [118, hidden],
    [119, other],
    [120, other],
  ] as const)
    session.stored.set(`${direct} ${seq}`, aMessage(direct, seq, { replyTo }))
  const end = conversation.messages.subscribe(() => {})
  await settled()
  const quotes = () =>
    snapshot()
      .messages.slice(-3)
      .map(({ quote }) => quote)
  expect(quotes()).toEqual([{ id: 10, state: 'hidden' }, undefined, undefined])
  expect(session.commandsOf('quotes').at(-1)?.replies).toEqual([
    { log: direct, msgId: 1190, original: other },
    { log: direct, msgId: 1200, original: other },
  ])
  const kept = { ...other, state: 'recalled', senderId: 9 }
  session.apply({ cached: [{ key: `quotes.${direct}`, value: [kept], isStale: false }] })
  await settled()
  const recalled = { id: 20, state: 'recalled', senderId: 9 }
  expect(quotes()).toEqual([{ id: 10, state: 'hidden' }, recalled, recalled])
  expect(session.commandsOf('quotes').at(-1)?.replies).toEqual([])
  end()
})
