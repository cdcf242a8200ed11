import { expect, it, vi } from 'vitest'
import {
  aLog,
  aMessage,
  anUnsent,
  aUser,
  FakeSession,
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
  return { session, client: createClientOn(session, { ...options, ...more }, clock) }
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
  const conversation = client.conversation(9)
  const [unsent] = [{ ...conversation.messages.getSnapshot().messages[0], id: 0 }] as never[]
  for (const [name, run] of [
    ['id', () => client.conversation(-1)],
    ['id', () => client.conversation('9' as never)],
    ['kind', () => client.conversation(9, 'room' as never)],
    ['id', () => client.user(Number.NaN)],
    ['id', () => client.groups.group(0)],
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
    ['draft.contentType', () => conversation.send({ text: 'x', contentType: 12 })],
    ['draft.attachment', () => conversation.send({ attachment: 'x' as never })],
    ['message', () => conversation.edit(unsent as never, 'x')],
    ['message', () => conversation.recall(undefined as never)],
    ['message', () => conversation.markRead(unsent)],
    ['limit', () => conversation.loadOlder({ limit: 0 })],
    ['userId', () => client.contacts.add(0)],
    ['reason', () => client.contacts.add(5, { reason: 5 as never })],
    ['alias', () => client.contacts.setAlias(5, undefined as never)],
    ['username', () => client.contacts.findByName('')],
    ['name', () => client.groups.create({ name: '' })],
    ['userIds\\[1\\]', () => client.groups.group(7).invite([5, 0])],
    ['userIds', () => client.groups.group(7).kick([])],
    ['isMuted', () => client.groups.group(7).setMuted('yes' as never)],
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

it('client: the names of errors are listed for the editor, and others are allowed', () => {
  type Listed = FailureName extends infer N ? (N extends string ? N : never) : never
  const names: Listed[] = ['not_connected', 'kicked', 'group_not_found', 'of_a_newer_server']
  const ofServer: ServerErrorName = 'group_not_found'
  // @ts-expect-error no error of the server has this name
  const other: ServerErrorName = 'grup_not_found'
  expect([...names, ofServer, other]).toHaveLength(6)
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
  const end = { code: 4503, name: 'connection_closed', message: 'disabled', retry: false }
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
  const end = client.on('typing', (data) => heard.push(data.user_id))
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

it('conversation: the same handle each time; its kind is what is stored, or what the app says', () => {
  const { session, client } = aClient()
  const group = client.conversation(7)
  expect(group.kind).toBe('direct')
  session.apply({ logs: [aLog('g7')] })
  expect(group.kind).toBe('group')
  expect(client.conversation(7)).toBe(group)
  expect(client.conversation(7, 'group')).toBe(group)
  expect(client.conversation(8, 'group').kind).toBe('group')
  expect(client.user(5)).toBe(client.user(5))
  expect(client.groups.group(7)).toBe(client.groups.group(7))
})

it('send: a text is a command with a new transaction ID, and answers its key', async () => {
  const { session, client } = aClient()
  session.apply({ logs: [aLog('g7')] })
  const key = await client.conversation(7).send('hello')
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
    .conversation(9)
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
  const conversation = client.conversation(9)
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
  const conversation = client.conversation(9)
  await conversation.markRead()
  await conversation.markRead({ id: 30 } as never)
  session.apply({
    logs: [
      aLog('d1.9', { seq: 5, readSeq: 5, last: aMessage('d1.9', 5) }),
      aLog('b9', { seq: 1, readSeq: 1, last: news }),
    ],
  })
  await conversation.markRead()
  await client.conversation(8).markRead()
  expect(session.commands).toEqual([
    { type: 'read', conversationId: 9, msgId: 95 },
    { type: 'read', conversationId: 9, msgId: 30 },
  ])
})

it('receipts: are requested with a message of a group, and without a request there is no answer', async () => {
  const { session, client } = aClient()
  const group = client.conversation(7, 'group')
  await group.send('Who reads this?', { receipts: [5, 6] })
  await group.send({ text: 'And this?', config: '{"mentionAll":true}' }, { receipts: [5] })
  expect(session.commandsOf('send').map(({ content }) => content.config)).toEqual([
    '{"groupMemberList":[5,6]}',
    '{"mentionAll":true,"groupMemberList":[5]}',
  ])
  session.answer = () => ({ data: { read: [5], unread: [6], gone: [] } })
  const sent = (config: string) => ({ id: 30, raw: { attachment: '', config } }) as Message
  const asked = sent('{"groupMemberList":[5,6]}')
  expect(await group.receipts(asked)).toEqual({ read: [5], unread: [6] })
  for (const [name, run] of [
    ['message', () => group.receipts(sent(''))],
    ['message', () => group.receipts(sent('{"mentionAll":true}'))],
    ['receipts', () => group.send('x', { receipts: [] })],
    ['receipts', () => client.conversation(9, 'direct').send('x', { receipts: [9] })],
    ['draft.config', () => group.send({ text: 'x', config: 'no JSON' }, { receipts: [5] })],
    ['draft.config', () => group.send({ text: 'x', config: '[1]' }, { receipts: [5] })],
  ] as const)
    await expect(run(), name).rejects.toThrow(new RegExp(`^${name} must be`))
})

it('conversation: its calls are operations of the contract', async () => {
  const { session, client } = aClient()
  const conversation = client.conversation(9)
  const message = { id: 30 } as never
  const calls = await callsOf(session, async () => {
    await conversation.edit(message, 'new')
    await conversation.recall(message)
    await conversation.pin()
    await conversation.unpin()
    await conversation.delete()
  })
  expect(calls).toEqual([
    ['message.send', { type: 1, targets: [9], content_type: 12, related_mid: 30, content: 'new' }],
    ['message.recall', { conversation_id: 9, msg_id: 30 }],
    ['user.conversation.pin', { conversation_id: 9 }],
    ['user.conversation.unpin', { conversation_id: 9 }],
    ['message.conversation.delete', { conversation_id: 9 }],
  ])
  conversation.typing()
  expect(session.commandsOf('typing')).toEqual([
    { type: 'typing', conversationId: 9, isGroup: false },
  ])
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
  expect(contacts.requests.getSnapshot()).toMatchObject([{ user_id: 8 }])
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
  const record = { group_id: 7, name: 'Team' }
  const members = [{ user_id: 5, role: 2 }]
  expect(groups.list.getSnapshot()).toBeUndefined()
  session.apply({
    cached: [
      { key: 'groups', value: [7, 8], isStale: false },
      { key: 'group.7', value: record, isStale: false },
      { key: 'members.7', value: members, isStale: false },
    ],
  })
  const group = groups.group(7)
  expect(groups.list.getSnapshot()).toEqual([record])
  expect(group.info.getSnapshot()).toBe(record)
  expect(group.members.getSnapshot()).toBe(members)
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
      await group.rename('New')
      await group.setMuted(true)
      await group.leave()
      await group.destroy()
    },
    results,
  )
  const failed = [{ userId: 6, reason: 'group is full' }]
  expect(answers).toEqual([failed, failed])
  expect(calls).toEqual([
    ['group.invite', { group_id: 7, user_list: [5, 6], reason: 'hi' }],
    ['group.kick', { group_id: 7, user_list: [5, 6] }],
    ['group.name.update', { group_id: 7, value: 'New' }],
    ['group.msg.not_disturb', { group_id: 7, value: true }],
    ['group.leave', { group_id: 7 }],
    ['group.destroy', { group_id: 7 }],
  ])
  session.answer = () => ({ data: { group_id: 12 } })
  expect(await groups.create({ name: 'New', userIds: [5] })).toBe(12)
})

it('client: the own user, the profile, the token', () => {
  const { session, client } = aClient({ userId: 1 })
  session.apply({ cached: [{ key: 'profile', value: { username: 'me' }, isStale: false }] })
  expect(client.userId).toBe(1)
  expect(client.profile.getSnapshot()).toEqual({ username: 'me' })
  expect(client.hasToken.getSnapshot()).toBe(true)
  expect(client.fileUrl('/file/download/chat?sign=x')).toContain('access-token=secret')
  session.setLive({ token: '', isDurable: false })
  expect(client.fileUrl('/file/download/chat?sign=x')).toBeUndefined()
  expect(client.isDurable.getSnapshot()).toBe(false)
})

it('typing that cannot be sent is no error', async () => {
  const { session, client } = aClient()
  session.execute = async (_command: Command) => {
    throw new Error('closed')
  }
  client.conversation(9).typing()
  await settled()
})
