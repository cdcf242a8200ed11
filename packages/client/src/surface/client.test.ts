import { expect, it, vi } from 'vitest'
import {
  aLog,
  aMessage,
  anUnsent,
  aUser,
  FakeSession,
  upload,
  settled,
} from '../../test/support/fake-session.js'
import type { ClientOptions, Message } from '../api.js'
import type { Command } from '../core/inputs.js'
import { createClientOn, createClientWith } from '../create-client.js'
import { ClientError, type FailureName, failureOf, type ServerErrorName } from '../errors.js'
import type { CallParams, OperationId } from '../protocol-types.js'

const options: ClientOptions = {
  url: 'https://chat.example',
  appId: 'app',
  token: () => 'secret',
}

const clock = {
  now: () => 0,
  wallTime: () => 7_000_000,
  after: () => () => {},
  random: () => 0.25,
}

function aClient(more: Partial<ClientOptions> = {}) {
  const session = new FakeSession(more)
  return { session, client: createClientOn(session, { ...options, ...more }, { clock, upload }) }
}

/** Runs calls with an answer, and returns their operations and parameters. */
async function callsOf(session: FakeSession, run: () => Promise<unknown>, data: unknown = true) {
  session.commands.length = 0
  session.answer = () => ({ data })
  await run()
  return session.commandsOf('call').map(({ op, data }) => [op, data])
}

it('client: wrong settings are refused with the name of the setting', () => {
  const wrong: readonly (readonly [keyof ClientOptions, unknown])[] = [
    ['url', 'chat.example'],
    ['url', 'ftp://chat.example'],
    ['appId', ''],
    ['appId', 5],
    ['token', 'secret'],
    ['userId', 1.5],
    ['userId', '7'],
    ['storage', 'disk'],
    ['deviceGuid', ''],
    ['deviceGuid', 'x'.repeat(129)],
    ['platform', 7],
    ['onError', 'log'],
  ]
  for (const [name, value] of wrong)
    expect(() => createClientWith({ ...options, [name]: value }, undefined as never)).toThrow(
      new RegExp(`^options\\.${name} must be `),
    )
  expect(() => createClientWith(undefined as never, undefined as never)).toThrow(ClientError)
})

it('client: wrong arguments are refused with their name, before anything is sent', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [session.fill('d1.9', 1)] })
  const conversation = client.direct(9)
  const replyTo = { id: 5, seq: 1 }
  const [unsent] = [{ ...conversation.messages.getSnapshot().messages[0], id: 0 }] as never[]
  for (const [name, run] of [
    ['userId', () => client.direct(-1)],
    ['userId', () => client.direct('9' as never)],
    ['ref', () => client.conversation(undefined as never)],
    ['ref\\.id', () => client.conversation({ id: -1, kind: 'direct' })],
    ['ref\\.kind', () => client.conversation({ id: 9, kind: 'room' as never })],
    ['id', () => client.user(Number.NaN)],
    ['id', () => client.group(0)],
    ['kind', () => client.on('' as never, () => {})],
    ['listener', () => client.on('message.stored', 5 as never)],
  ] as const)
    expect(run, name).toThrow(new RegExp(`^${name} must be`))
  for (const [name, run] of [
    ['draft', () => conversation.send('')],
    ['draft', () => conversation.send(5 as never)],
    ['draft', () => conversation.send({})],
    ['draft.text', () => conversation.send({ text: 5 as never })],
    ['draft.file', () => conversation.send({ file: 'a.png' as never })],
    ['draft.contentType', () => conversation.send({ text: 'x', contentType: 'recall' as never })],
    ['draft.attachment', () => conversation.send({ attachment: 'x' as never })],
    ['draft.replyTo.id', () => conversation.send({ text: 'x', replyTo: { id: 0, seq: 0 } })],
    ['draft', () => conversation.send({ text: 'x', contentType: 'forward', replyTo })],
    ['message', () => conversation.edit(unsent as never, 'x')],
    ['message', () => conversation.recall(undefined as never)],
    ['message', () => conversation.markRead(unsent)],
    ['limit', () => conversation.messages.loadOlder({ limit: 0 })],
    ['userId', () => client.contacts.add(0)],
    ['reason', () => client.contacts.add(5, { reason: 5 as never })],
    ['alias', () => client.contacts.setAlias(5, undefined as never)],
    ['username', () => client.contacts.findByName('')],
    ['name', () => client.groups.create({ name: '' })],
    ['userIds\\[1\\]', () => client.group(7).invite([5, 0])],
    ['userIds', () => client.group(7).kick([])],
    ['mode', () => client.group(7).setMuteMode('yes' as never)],
    ['changes\\.owner', () => client.group(7).update({ owner: 5 } as never)],
    ['changes\\.isHistoryVisible', () => client.group(7).update({ isHistoryVisible: 1 as never })],
    ['minutes', () => client.group(7).ban([5], { minutes: 0 })],
    ['file', () => client.group(7).shareFile('a.txt' as never)],
    ['changes\\.email', () => client.updateProfile({ email: 'a@b' } as never)],
    ['changes\\.strangerChat', () => client.updateSettings({ strangerChat: 'no' as never })],
    ['picture', () => client.setAvatar('a.png' as never)],
    ['id', () => client.call('' as never, {} as never)],
    ['params', () => client.call('profile' as never, 5 as never)],
    ['options.userId', () => client.call('user.settings.get', {}, { userId: 0 })],
  ] as const)
    await expect(run(), name).rejects.toMatchObject({
      name: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`^${name} must be`)),
    })
  expect(session.commands).toEqual([])
})

it('client: operations have literal IDs and typed parameters', () => {
  const id: OperationId = 'group.settings.capacity'
  const params: CallParams<typeof id> = { group_id: 1, value: 2 }
  // @ts-expect-error no operation has this ID
  const other: OperationId = 'user.nothing.update'
  expect([id, params, other]).toHaveLength(3)
})

it('client: the names of errors are typed', () => {
  const names: FailureName[] = ['not_connected', 'kicked', 'group_not_found', 'refused']
  // @ts-expect-error no error has this name
  names.push('of_a_newer_server')
  const ofServer: ServerErrorName = 'group_not_found'
  // @ts-expect-error no error of the server has this name
  const other: ServerErrorName = 'grup_not_found'
  expect([...names, ofServer, other]).toHaveLength(7)
})

it('connect: resolves when the client is current, and is one connection for two calls', async () => {
  const { session, client } = aClient()
  session.setLive({ connection: { state: 'idle' } })
  const both = Promise.all([client.connect(), client.connect()])
  for (const state of ['connecting', 'offline', 'syncing', 'online'] as const)
    session.setLive({ connection: { state } })
  await both
  expect(client.connection.getSnapshot()).toEqual({ state: 'online' })
})

it('connect: waits through the session that only learns the user', async () => {
  const { session, client } = aClient()
  const connected = client.connect()
  for (const state of ['connecting', 'idle', 'connecting', 'online'] as const)
    session.setLive({ connection: { state } })
  await connected
  expect(client.connection.getSnapshot()).toEqual({ state: 'online' })
})

it('connect: rejects when the server refuses, also after an earlier end', async () => {
  const { session, client } = aClient()
  const end = { code: 4503, name: 'user_disabled', message: 'disabled', retry: false } as const
  session.setLive({ connection: { state: 'ended', end } })
  const again = client.connect()
  session.setLive({ connection: { state: 'connecting' } })
  session.setLive({ connection: { state: 'ended', end: { ...end, code: 4504 } } })
  await expect(again).rejects.toMatchObject({ code: 4504 })
})

it('connect: ends its waiting with an abort, a disconnect and a close', async () => {
  const { session, client } = aClient()
  session.setLive({ connection: { state: 'connecting' } })
  const abort = new AbortController()
  const aborted = client.connect({ signal: abort.signal })
  abort.abort()
  await expect(aborted).rejects.toMatchObject({ name: 'aborted' })
  const disconnected = client.connect()
  client.disconnect()
  await expect(disconnected).rejects.toMatchObject({ name: 'not_connected' })
  const closed = client.connect()
  await client.close()
  await expect(closed).rejects.toMatchObject({ name: 'closed' })
  await expect(client.connect()).rejects.toMatchObject({ name: 'closed' })
})

it('connect: rejects as closed when the user logs out in another tab, also later', async () => {
  const { session, client } = aClient()
  session.setLive({ connection: { state: 'connecting' } })
  const waiting = client.connect()
  await session.destroy()
  session.setLive({ connection: { state: 'idle' } })
  await expect(waiting).rejects.toMatchObject({ name: 'closed' })
  await expect(client.connect()).rejects.toMatchObject({ name: 'closed' })
})

it('logOut: logs the device out at the server, then deletes everything here', async () => {
  const { session, client } = aClient()
  session.setLive({ deviceSn: 3 })
  session.answer = () => {
    throw new ClientError(failureOf('not_connected', 'cut'))
  }
  await client.logOut()
  expect(session.commandsOf('call')).toMatchObject([{ op: 'user.kick', data: { device_sn: 3 } }])
  expect(session.calls).toEqual(['destroy'])
})

it('logOut: works offline, and without a device it ends no other login', async () => {
  const { session, client } = aClient()
  await client.logOut()
  session.setLive({ deviceSn: 3, connection: { state: 'offline' } })
  await client.logOut()
  expect(session.commands).toEqual([])
  expect(session.calls).toEqual(['destroy', 'destroy'])
})

it('on: listeners get events of their kind, and one that throws harms no other', () => {
  const onError = vi.fn()
  const { session, client } = aClient({ onError })
  const heard: unknown[] = []
  client.on('user.disabled' as never, () => heard.push('other kind'))
  client.on('typing', () => {
    throw new Error('mine')
  })
  const end = client.on('typing', (data) => heard.push(data.userId))
  session.event({ kind: 'typing', data: { user_id: 5 } })
  end()
  session.event({ kind: 'typing', data: { user_id: 6 } })
  expect(heard).toEqual([5])
  expect(onError).toHaveBeenCalledTimes(2)
})

it('views: a listener that throws harms no other', () => {
  const onError = vi.fn()
  const { session, client } = aClient({ onError })
  let count = 0
  client.connection.subscribe(() => {
    throw new Error('mine')
  })
  client.connection.subscribe(() => count++)
  session.setLive({ connection: { state: 'offline' } })
  expect(count).toBe(1)
  expect(onError).toHaveBeenCalledOnce()
})

it('views: a report of errors that throws harms no view and no listener', () => {
  const onError = () => {
    throw new Error('the report')
  }
  const { session, client } = aClient({ onError })
  const heard: string[] = []
  const fail = () => {
    throw new Error('mine')
  }
  client.connection.subscribe(fail)
  client.connection.subscribe(() => heard.push('connection'))
  client.hasToken.subscribe(() => heard.push('token'))
  client.on('typing', fail)
  client.on('typing', () => heard.push('typing'))
  session.setLive({ connection: { state: 'offline' }, token: '' })
  session.event({ kind: 'typing', data: { user_id: 5 } })
  expect(heard).toEqual(['connection', 'token', 'typing'])
})

it('views: the same listener can be added twice, and each end counts once', () => {
  const { session, client } = aClient()
  let count = 0
  const listener = () => count++
  const end = client.connection.subscribe(listener)
  client.connection.subscribe(listener)
  end()
  end()
  session.setLive({ connection: { state: 'offline' } })
  expect(count).toBe(1)
})

it('call: passes operation, parameters, the acting user and the signal', async () => {
  const { session, client } = aClient()
  session.answer = () => ({ data: { no_push: true }, cursor: 'c' })
  const { signal } = new AbortController()
  const answer = await client.call('user.settings.get', {}, { userId: 5, groupId: 7, signal })
  expect(answer).toEqual({ data: { no_push: true }, cursor: 'c' })
  expect(session.commands).toEqual([
    { type: 'call', op: 'user.settings.get', data: {}, userId: 5, groupId: 7 },
  ])
})

it('conversation: the same handle each time, of the kind that the app has named', () => {
  const { session, client } = aClient()
  const direct = client.direct(7)
  session.apply({ logs: [aLog('g7')] })
  expect([direct.kind, direct.summary.getSnapshot().kind]).toEqual(['direct', 'direct'])
  expect(client.direct(7)).toBe(direct)
  const { conversation } = client.group(7)
  expect(conversation.kind).toBe('group')
  expect(client.conversation({ id: 7, kind: 'group' })).toBe(conversation)
  expect(client.conversation(conversation.summary.getSnapshot())).toBe(conversation)
  expect(client.user(5)).toBe(client.user(5))
  expect(client.group(7)).toBe(client.group(7))
})

it('conversation: what waits for one kind of an ID is not shown by the other', () => {
  const { session, client } = aClient()
  session.apply({
    logs: [aLog('g7')],
    unsent: [anUnsent(1, { conversationId: 7, isGroup: false, state: 'failed' })],
  })
  const keysOf = ({ messages }: typeof direct) =>
    messages.getSnapshot().messages.map(({ key }) => key)
  const direct = client.direct(7)
  expect([keysOf(direct), keysOf(client.group(7).conversation)]).toEqual([['t1'], []])
})

it('send: a text is a command with a new transaction ID, and answers its key', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [aLog('g7')] })
  const key = await client.group(7).conversation.send('hello')
  const [command] = session.commandsOf('send')
  expect(command).toMatchObject({
    conversationId: 7,
    isGroup: true,
    createdAt: 7_000_000,
    content: { contentType: 0, content: 'hello', attachment: '', config: '', ext: '' },
  })
  expect(key).toBe(`t${command?.transactionId}`)
  expect(Number.isSafeInteger(command?.transactionId)).toBe(true)
})

it.each([
  ['image/png', 1, 102],
  ['audio/amr', 2, 101],
  ['audio/mpeg', 2, 104],
  ['audio/ogg', 2, 100],
  ['video/mp4', 3, 103],
  ['application/pdf', 4, 100],
  ['', 4, 100],
])('send: a file of type "%s"', async (type, contentType, fileType) => {
  const { session, client } = aClient()
  const blob = new Blob(['12345'], { type })
  await client
    .direct(9)
    .send({ text: 'see', file: blob, fileName: 'a.bin', attachment: { width: 3 } })
  const [command] = session.commandsOf('send')
  expect(command).toMatchObject({
    content: { contentType, content: 'see' },
    file: { blob, name: 'a.bin', fileType },
  })
  expect(JSON.parse(command?.content.attachment ?? '')).toEqual({
    dName: 'a.bin',
    fLen: 5,
    width: 3,
  })
})

it('retry and discard: by the key of an own message', async () => {
  const { session, client } = aClient()
  session.apply({ unsent: [anUnsent(12, { state: 'failed' })] })
  const conversation = client.direct(9)
  const key = conversation.messages.getSnapshot().messages[0]?.key ?? ''
  await conversation.retry(key)
  await conversation.retry(key, { anyway: true })
  await conversation.discard(key)
  expect(session.commands).toEqual([
    { type: 'retry', transactionId: 12 },
    { type: 'retry', transactionId: 12, anyway: true },
    { type: 'discard', transactionId: 12 },
  ])
  await expect(conversation.retry('d1.9/10')).rejects.toMatchObject({ name: 'not_found' })
})

it('markRead: reads to the newest message of both logs, once', async () => {
  const { session, client } = aClient()
  const news = aMessage('b9', 1, { msgId: 95 })
  session.apply({ logs: [session.fill('d1.9', 5), aLog('b9', { seq: 1, last: news })] })
  const conversation = client.direct(9)
  await conversation.markRead()
  await conversation.markRead({ id: 30 } as never)
  session.apply({
    logs: [
      aLog('d1.9', { seq: 5, readSeq: 5, last: aMessage('d1.9', 5) }),
      aLog('b9', { seq: 1, readSeq: 1, last: news }),
    ],
  })
  await conversation.markRead()
  await client.direct(8).markRead()
  expect(session.commands).toEqual([
    { type: 'read', conversationId: 9, msgId: 95 },
    { type: 'read', conversationId: 9, msgId: 30 },
  ])
})

it('receipts: are requested with a message of a group, and without a request there is no answer', async () => {
  const { session, client } = aClient()
  const group = client.group(7).conversation
  const draft = { text: 'Who reads this?', receiptsOf: [5, 6] }
  await group.send(draft)
  await group.send({ text: 'And this?', mentions: 'all', receiptsOf: [5] })
  await group.send({ text: 'And you?', mentions: [6] })
  expect(session.commandsOf('send').map(({ content }) => content.config)).toEqual([
    '{"groupMemberList":[5,6]}',
    '{"mentionAll":true,"groupMemberList":[5]}',
    '{"mentionList":[6]}',
  ])
  session.answer = () => ({ data: { read: [5], unread: [6], gone: [] } })
  const message = { id: 30 } as Message
  const asked = { ...message, receiptsOf: [5, 6] }
  expect(await group.receipts(asked)).toEqual({ read: [5], unread: [6] })
  for (const [name, run] of [
    ['message', () => group.receipts(message)],
    ['draft.receiptsOf', () => group.send({ ...draft, receiptsOf: [] })],
    ['draft.mentions', () => group.send({ ...draft, mentions: [0.5] })],
    ['draft', () => client.direct(9).send(draft)],
  ] as const)
    await expect(run(), name).rejects.toThrow(new RegExp(`^${name}[^ ]* must be`))
})

it('conversation: edits and recalls are queued, and name the message as the app has seen it', async () => {
  const { session, client } = aClient()
  const conversation = client.direct(9)
  const alteration = { type: 'alter', conversationId: 9, isGroup: false, createdAt: 7_000_000 }
  await conversation.edit({ key: 'd1.9/30', id: 30, editedAt: 5 } as Message, 'new')
  await conversation.edit({ id: 30 } as Message, 'new')
  await conversation.recall({ key: 't7', id: 0, editedAt: 0 } as Message)
  expect(session.commandsOf('alter').map(({ transactionId: _, ...each }) => each)).toEqual([
    { ...alteration, kind: 'edit', text: 'new', msgId: 30, seenEdit: 5 },
    { ...alteration, kind: 'edit', text: 'new', msgId: 30 },
    { ...alteration, kind: 'recall', msgId: 0, of: 7 },
  ])
})

it('conversation: its calls are operations of the contract', async () => {
  const { session, client } = aClient()
  const conversation = client.direct(9)
  const calls = await callsOf(session, async () => {
    await conversation.pin()
    await conversation.unpin()
    await conversation.delete()
  })
  expect(calls).toEqual([
    ['user.conversation.pin', { conversation_id: 9 }],
    ['user.conversation.unpin', { conversation_id: 9 }],
    ['message.conversation.delete', { conversation_id: 9 }],
  ])
  conversation.typing()
  expect(session.commandsOf('typing')).toEqual([
    { type: 'typing', conversationId: 9, isGroup: false },
  ])
})

it('react and pinMessage: are wishes about a stored message that is no broadcast', async () => {
  const { session, client } = aClient()
  const message = { id: 30, isBroadcast: false } as Message
  const direct = client.direct(9)
  const group = client.group(7).conversation
  await direct.react(message, '👍')
  await direct.react(message, '👍', { isOn: false })
  await group.pinMessage(message)
  await group.unpinMessage(message)
  expect(session.commandsOf('wish').map(({ wish }) => wish)).toEqual([
    { log: 'd1.9', msgId: 30, reaction: '👍', isOn: true },
    { log: 'd1.9', msgId: 30, reaction: '👍', isOn: false },
    { log: 'g7', msgId: 30, isOn: true },
    { log: 'g7', msgId: 30, isOn: false },
  ])
  await expect(direct.react(message, '')).rejects.toThrow(/^key must be/)
  await expect(direct.react(message, '🤷'.repeat(17))).rejects.toThrow(/^key must be .* 64 bytes/)
  await expect(direct.react({ ...message, id: 0 }, 'x')).rejects.toThrow(/^message must be/)
  const broadcast = { ...message, isBroadcast: true }
  await expect(direct.pinMessage(broadcast)).rejects.toThrow(/^message must be/)
})

it('reactions and getMessage: are read from the server, in the public form', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [session.fill('d1.9', 1)] })
  const conversation = client.direct(9)
  const message = { id: 30 } as Message
  session.answer = () => ({ data: [{ user_id: 9, key: 'a', time: 5 }], cursor: 'next' })
  expect(await conversation.reactions(message, { key: 'a', limit: 1 })).toEqual({
    reactions: [{ userId: 9, key: 'a', timestamp: 5 }],
    cursor: 'next',
  })
  const query = { conversation_id: 9, msg_id: 30, limit: 1, key: 'a' }
  expect(session.commandsOf('call')).toMatchObject([{ op: 'message.reactions', data: query }])
  await expect(conversation.reactions(message, { limit: 201 })).rejects.toThrow(/^limit must be/)

  const found = {
    ...{ msg_id: 30, seq: 1, sender_id: 9, content: 'Hello', own: ['a'] },
    conversation: { low_id: 1, high_id: 9, is_group: false },
    reactions: [{ key: 'a', count: 2, latest: [9, 1] }],
    reply_to: { msg_id: 20, seq: 1 },
  }
  const quotes = [{ msg_id: 20, seq: 1, state: 'hidden' }]
  session.answer = () => ({ data: { message: found, quotes } })
  expect(await conversation.getMessage(30)).toMatchObject({
    ...{ id: 30, conversationId: 9, senderId: 9, text: 'Hello', isBroadcast: false },
    reactions: [{ key: 'a', count: 2, isOwn: true }],
    quote: { id: 20, state: 'hidden' },
  })
  const stream = { low_id: -1, high_id: 9, is_group: false }
  session.answer = () => ({ data: { message: { ...found, conversation: stream } } })
  expect(await conversation.getMessage(30)).toMatchObject({ isBroadcast: true })
  session.answer = () => ({ data: { recalled: { msg_id: 30 } } })
  expect(await conversation.getMessage(30)).toBeNull()
  session.answer = () => ({ data: { message: 5 } })
  await expect(conversation.getMessage(30)).rejects.toMatchObject({ name: 'bad_answer' })
})

it('contacts: the list by name, requests that wait, and calls', async () => {
  const { session, client } = aClient()
  const { contacts } = client
  expect(contacts.list.getSnapshot()).toBeUndefined()
  contacts.list.subscribe(() => {})
  const cached = [
    { key: 'contacts', value: [5, 6], isStale: false },
    {
      key: 'contactRequests',
      value: [
        { user_id: 8, status: 0, reason: 'hi', expired_time: 1 },
        { user_id: 9, status: 1, reason: '', expired_time: 1 },
      ],
      isStale: false,
    },
  ]
  session.apply({ cached: [...cached, aUser(5, { nick_name: 'Zoe' })] })
  session.apply({ cached: [aUser(6, { alias: 'Ann', relation: 3 })] })
  session.setLive({ online: [6] })
  const list = contacts.list.getSnapshot()
  expect(list).toMatchObject([
    { id: 6, name: 'Ann', isBlocked: true, isContact: false, isOnline: true },
    { id: 5, name: 'Zoe', isContact: true, isOnline: false },
  ])
  expect(client.user(6).getSnapshot()).toBe(list?.[0])
  session.setLive({ typing: [{ conversationId: 5, userId: 5 }] })
  expect(contacts.list.getSnapshot()).toBe(list)
  expect(contacts.requests.getSnapshot()).toMatchObject([{ userId: 8 }])
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toEqual(['contacts', 'user.5', 'user.6'])
  const calls = await callsOf(session, async () => {
    await contacts.add(5, { reason: 'hi' })
    await contacts.accept(5)
    await contacts.decline(5)
    await contacts.remove(5)
    await contacts.block(5)
    await contacts.unblock(5)
    await contacts.setAlias(5, '')
  })
  expect(calls).toEqual([
    ['contact.apply', { user_id: 5, reason: 'hi' }],
    ['contact.accept', { user_id: 5 }],
    ['contact.decline', { user_id: 5 }],
    ['contact.delete', { user_id: 5 }],
    ['contact.block', { user_id: 5 }],
    ['contact.unblock', { user_id: 5 }],
    ['contact.update', { user_id: 5, alias: '' }],
  ])
})

it('findByName: a user, or undefined when there is none', async () => {
  const { session, client } = aClient()
  session.answer = () => ({ data: aUser(5).value })
  expect(await client.contacts.findByName('user5')).toMatchObject({ id: 5, name: 'user5' })
  session.answer = () => {
    throw new ClientError({ code: 10_000, name: 'user_not_found', message: '', retry: false })
  }
  expect(await client.contacts.findByName('no-such-user')).toBeUndefined()
  expect(await client.contacts.findByName('x'.repeat(65))).toBeUndefined()
})

it('groups: list, info, members, and calls', async () => {
  const { session, client } = aClient()
  const { groups } = client
  const record = { group_id: 7, name: 'Team', type: 2, ban_expire_time: -1, msg_push_mode: 4 }
  const members = [{ user_id: 5, role: 2, join_time: 1, expired_time: 0, display_name: '' }]
  expect(groups.list.getSnapshot()).toBeUndefined()
  session.apply({
    cached: [
      { key: 'groups', value: [7, 8], isStale: false },
      { key: 'group.7', value: record, isStale: false },
      { key: 'members.7', value: members, isStale: false },
    ],
  })
  const group = client.group(7)
  const info = group.info.getSnapshot()
  expect(info).toMatchObject({ id: 7, name: 'Team', type: 'chatroom', pushMode: 'mentions' })
  expect(info?.bannedUntil).toBe(Number.POSITIVE_INFINITY)
  expect(groups.list.getSnapshot()).toEqual([info])
  expect(groups.list.getSnapshot()?.[0]).toBe(info)
  expect(group.members.getSnapshot()).toEqual([
    { userId: 5, role: 'owner', joinedAt: 1, bannedUntil: 0, displayName: '', isBot: false },
  ])
  group.members.subscribe(() => {})
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toEqual(['members.7', 'group.7'])
  const results = [
    { user_id: 5, result: 'success' },
    { user_id: 6, result: 'fail', reason: 'group is full' },
  ]
  const answers: unknown[] = []
  const calls = await callsOf(
    session,
    async () => {
      answers.push(await group.invite([5, 6], { reason: 'hi' }), await group.kick([5, 6]))
      await group.update({ name: 'New', joinApproval: 'confirm', hasReadReceipts: true })
      await group.setMuteMode('silent')
      await group.setPushMode('mentions')
      await group.setDisplayName('Al')
      await group.ban([5], { minutes: 10 })
      await group.banAll()
      await group.unbanAll()
      await group.transfer(5)
      await group.join({ reason: 'hi' })
      await group.acceptInvitation()
      await group.declineRequest(5)
      await group.leave()
      await group.destroy()
    },
    results,
  )
  const failed = [{ id: 6, reason: 'group is full' }]
  expect(answers).toEqual([failed, failed])
  expect(calls).toEqual([
    ['group.invite', { group_id: 7, user_list: [5, 6], reason: 'hi' }],
    ['group.kick', { group_id: 7, user_list: [5, 6] }],
    ['group.name.update', { group_id: 7, value: 'New' }],
    ['group.settings.require_admin_approval', { group_id: 7, apply_approval: 1 }],
    ['group.settings.enable_read_ack', { group_id: 7, value: true }],
    ['group.msg.mute_mode', { group_id: 7, msg_mute_mode: 1 }],
    ['group.msg.push_mode', { group_id: 7, msg_push_mode: 4 }],
    ['group.display_name.update', { group_id: 7, value: 'Al' }],
    ['group.ban', { group_id: 7, user_list: [5], duration: 10 }],
    ['group.settings.ban_all', { group_id: 7, duration: -1 }],
    ['group.settings.unban_all', { group_id: 7 }],
    ['group.transfer', { group_id: 7, new_owner: 5 }],
    ['group.apply', { group_id: 7, reason: 'hi' }],
    ['group.invite.handle', { group_id: 7, approval: true, user_id: 1 }],
    ['group.apply.handle', { group_id: 7, approval: false, user_id: 5 }],
    ['group.leave', { group_id: 7 }],
    ['group.destroy', { group_id: 7 }],
  ])
  session.answer = () => ({ data: { group_id: 12 } })
  expect(await groups.create({ name: 'New', userIds: [5] })).toBe(12)
})

it('groups: invitations and join requests that wait, of all groups', async () => {
  const { session, client } = aClient()
  const { invitations, joinRequests } = client.groups
  expect([invitations.getSnapshot(), joinRequests.getSnapshot()]).toEqual([undefined, undefined])
  const request = { reason: 'hi', expired_time: 5, status: 0 }
  session.apply({
    cached: [
      { key: 'groups', value: [7, 8], isStale: false },
      {
        key: 'invitations',
        value: [
          { ...request, group_id: 9, inviter_id: 5 },
          { ...request, status: 1 },
        ],
        isStale: false,
      },
      {
        key: 'joinRequests.7',
        value: [{ ...request, group_id: 7, applicant_id: 5 }],
        isStale: false,
      },
    ],
  })
  expect(joinRequests.getSnapshot()).toBeUndefined()
  const later = { ...request, group_id: 8, applicant_id: 6, expired_time: 6 }
  session.apply({ cached: [{ key: 'joinRequests.8', value: [later], isStale: false }] })
  expect(invitations.getSnapshot()).toEqual([
    { groupId: 9, inviterId: 5, reason: 'hi', expiresAt: 5 },
  ])
  const requests = joinRequests.getSnapshot()
  expect(requests).toMatchObject([
    { groupId: 8, userId: 6 },
    { groupId: 7, userId: 5 },
  ])
  joinRequests.subscribe(() => {})
  await settled()
  expect(session.commandsOf('watch').at(-1)?.keys).toEqual([
    'groups',
    'joinRequests.7',
    'joinRequests.8',
  ])
  expect(joinRequests.getSnapshot()).toBe(requests)
})

it('client: the profile and the settings of the own user are changed by their public names', async () => {
  const { session, client } = aClient()
  session.apply({
    cached: [
      { key: 'settings', value: { auth_mode: 2, no_push: true, stranger_chat: 1 }, isStale: false },
    ],
  })
  expect(client.settings.getSnapshot()).toMatchObject({
    contactApproval: 'question',
    isPushOff: true,
    strangerChat: 'allow',
  })
  const calls = await callsOf(session, async () => {
    await client.updateProfile({ nickname: 'Al', publicInfo: '' })
    await client.updateSettings({ contactApproval: 'closed', noPushFromHour: 22 })
    await client.setAvatar(null)
  })
  expect(calls).toEqual([
    ['user.profile.update', { nick_name: 'Al', public_info: '' }],
    ['user.settings.update', { user_id: 1, auth_mode: 3, no_push_start_hour: 22 }],
    ['user.avatar.update', { avatar: '' }],
  ])
})

it('client: the own user, the profile, the token', () => {
  const { session, client } = aClient({ userId: 1 })
  session.apply({
    cached: [{ key: 'profile', value: { username: 'me', nick_name: 'Me' }, isStale: false }],
  })
  expect(client.userId).toBe(1)
  expect(client.profile.getSnapshot()).toMatchObject({ username: 'me', nickname: 'Me' })
  expect(client.hasToken.getSnapshot()).toBe(true)
  expect(client.fileUrl('/file/download/chat?sign=x')).toContain('access-token=secret')
  session.setLive({ token: '', isDurable: false })
  expect(client.fileUrl('/file/download/chat?sign=x')).toBeUndefined()
  expect(client.isDurable.getSnapshot()).toBe(false)
})

it('features: what the service can do, nothing before it has said so', () => {
  const { session, client } = aClient()
  const none = { replies: false, reactions: false, pinnedMessages: false, streams: false }
  expect(client.features.getSnapshot()).toEqual(none)
  const value = ['message.updated', 'replies', 'pinned_messages', 'later']
  session.apply({ cached: [{ key: 'features', value, isStale: false }] })
  expect(client.features.getSnapshot()).toEqual({ ...none, replies: true, pinnedMessages: true })
})

it('draft: a text that is kept in the store', async () => {
  const { session, client } = aClient()
  const { draft } = client.direct(9)
  expect([draft.getSnapshot(), draft.getServerSnapshot()]).toEqual(['', ''])
  await draft.set('Hello B')
  expect(session.commands).toEqual([{ type: 'draft', conversationId: 9, text: 'Hello B' }])
  session.apply({ cached: [{ key: 'draft.9', value: 'Hello B', isStale: false }] })
  expect(draft.getSnapshot()).toBe('Hello B')
  expect(client.group(7).conversation.draft.getSnapshot()).toBe('')
})

it('typing that cannot be sent is no error', async () => {
  const { session, client } = aClient()
  session.execute = async (_command: Command) => {
    throw new Error('closed')
  }
  client.direct(9).typing()
  await settled()
})
