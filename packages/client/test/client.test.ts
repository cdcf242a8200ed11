/**
 * The client against a running server, as an app uses it. The entry for Node has the interface of
 * that for browsers.
 */
import { type ServerProcess, startServer } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import {
  type Client,
  type ClientOptions,
  createClient,
  logIn,
  type Message,
  register,
  type View,
} from '../src/node.js'

const password = 'change-me-soon'
/** The red dot of docs/guides/files.md. */
const dot = Buffer.from(
  '47494638396101000100800000ff0000ffffff21f90400000000002c00000000010001000002024401003b',
  'hex',
)

let server: ServerProcess
let users = 0
const clients: Client[] = []

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

/** A registered user, and connected clients of it. */
async function aUser() {
  const service = { url: server.url, appId: server.appId }
  const username = `user${++users}`
  const id = await register(service, { username, password })
  const { token, userId } = await logIn(service, { username, password })
  expect(userId).toBe(id)
  const connect = async (options: Partial<ClientOptions> = {}) => {
    const client = createClient({ ...service, token: () => token, ...options })
    clients.push(client)
    await client.connect()
    return client
  }
  return { id, username, token, connect }
}

/** Waits until the value of a view passes; the view has a listener from then to the end. */
function when<T>(view: View<T>, passes: (value: T) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(
      () => reject(new Error(`the view is ${JSON.stringify(view.getSnapshot())}`)),
      10_000,
    )
    const check = () => {
      const value = view.getSnapshot()
      if (!passes(value)) return
      clearTimeout(limit)
      resolve(value)
    }
    view.subscribe(check)
    check()
  })
}

const last = ({ messages }: { readonly messages: readonly Message[] }) => messages.at(-1)

it('two users write, edit, recall and read; both see the same, with one key for each message', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const [toBob, toAlice] = [alice.conversation(b.id), bob.conversation(a.id)]
  const key = await toBob.send('Hello')
  const sent = await when(toBob.messages, (list) => last(list)?.status === 'sent')
  expect(sent.messages).toMatchObject([{ key, text: 'Hello', isOwn: true }])
  const received = await when(toAlice.messages, ({ messages }) => messages.length === 1)
  expect(received.messages).toMatchObject([{ text: 'Hello', isOwn: false, senderId: a.id }])
  expect(received.messages[0]?.id).toBe(last(sent)?.id)
  await when(
    toBob.messages,
    (list) => last(list)?.status === 'delivered' || last(list)?.status === 'read',
  )
  const unread = await when(bob.conversations, ({ conversations }) =>
    conversations.some(({ id, title }) => id === a.id && title === a.username),
  )
  expect(unread).toMatchObject({
    unread: 1,
    conversations: [{ id: a.id, unread: 1, lastMessage: { text: 'Hello' } }],
  })
  await toAlice.markRead()
  await when(toBob.messages, (list) => last(list)?.status === 'read')
  await when(bob.conversations, (list) => list.unread === 0)

  const [message] = toBob.messages.getSnapshot().messages
  await toBob.edit(message as Message, 'Hello Bob')
  const edited = await when(toAlice.messages, (list) => last(list)?.text === 'Hello Bob')
  expect(last(edited)).toMatchObject({ isEdited: true, key: received.messages[0]?.key })
  const own = await when(toBob.messages, (list) => last(list)?.text === 'Hello Bob')
  expect(last(own)).toMatchObject({ key, status: 'read' })
  await toBob.recall(message as Message)
  await when(toAlice.messages, ({ messages }) => messages.length === 0)
  await when(bob.conversations, ({ conversations }) =>
    conversations.every((each) => !each.lastMessage),
  )
})

it('a new client shows the newest messages, and loads older ones to the beginning', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const sender = await a.connect()
  const texts = Array.from({ length: 130 }, (_, index) => `message ${index + 1}`)
  const toBob = sender.conversation(b.id)
  await Promise.all(texts.map((text) => toBob.send(text)))
  await when(
    toBob.messages,
    (list) => last(list)?.text === 'message 130' && last(list)?.status !== 'sending',
  )
  const bob = await b.connect()
  const conversation = bob.conversation(a.id)
  const first = await when(
    conversation.messages,
    ({ messages, isLoading }) => messages.length > 0 && !isLoading,
  )
  expect(first).toMatchObject({ hasOlder: true })
  expect(last(first)?.text).toBe('message 130')
  for (let pages = 0; conversation.messages.getSnapshot().hasOlder && pages < 10; pages++)
    await conversation.loadOlder()
  expect(conversation.messages.getSnapshot().messages.map(({ text }) => text)).toEqual(texts)
  expect(bob.conversations.getSnapshot().conversations[0]).toMatchObject({ unread: 130 })
})

it('contacts: request, answer, alias, presence, typing, block', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const alice = await a.connect({ deviceGuid: `device of ${a.id}` })
  const bob = await b.connect({ deviceGuid: `device of ${b.id}` })
  const found = await alice.contacts.findByName(b.username)
  expect(found).toMatchObject({ id: b.id, isContact: false })
  expect(await alice.contacts.findByName('no-such-user')).toBeUndefined()
  await bob.call('user.settings.update', { user_id: b.id, auth_mode: 1 } as never)
  await alice.contacts.add(b.id, { reason: 'It is me' })
  await when(bob.contacts.requests, (requests) => requests?.[0]?.user_id === a.id)
  await bob.contacts.accept(a.id)
  await when(bob.contacts.requests, (requests) => requests?.length === 0)
  await when(alice.contacts.list, (list) => list?.[0]?.id === b.id && list[0].isOnline)
  await alice.contacts.setAlias(b.id, 'Bobby')
  await when(alice.user(b.id), (user) => user?.name === 'Bobby')

  const { summary } = alice.conversation(b.id)
  summary.subscribe(() => {})
  bob.conversation(a.id).typing()
  await when(summary, ({ typing }) => typing.includes(b.id))

  await alice.contacts.block(b.id)
  await when(alice.user(b.id), (user) => user?.isBlocked)
  const key = await bob.conversation(a.id).send('Are you there?')
  const failed = await when(
    bob.conversation(a.id).messages,
    (list) => last(list)?.status === 'failed',
  )
  expect(last(failed)).toMatchObject({ key, failure: { name: 'blocked_by_recipient' } })
  await bob.conversation(a.id).discard(key)
  await when(bob.conversation(a.id).messages, ({ messages }) => messages.length === 0)
})

it('groups: create, write, receipts, rename, mute, pin, leave', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const id = await alice.groups.create({ name: 'Team', userIds: [b.id] })
  await alice.call('group.settings.enable_read_ack', { group_id: id, value: true })
  await alice.conversation(id).send('Who reads this?', { receipts: [b.id] })
  const listed = await when(bob.conversations, ({ conversations }) =>
    conversations.some(({ title }) => title === 'Team'),
  )
  expect(listed.conversations).toMatchObject([{ id, kind: 'group', isWritable: true }])
  const group = bob.conversation(id)
  expect(group.kind).toBe('group')
  const asked = await when(alice.conversation(id).messages, (list) => last(list)?.status === 'sent')
  const question = last(asked) as Message
  await expect(alice.conversation(id).receipts(question)).resolves.toEqual({
    read: [],
    unread: [b.id],
  })
  await when(group.messages, (list) => last(list)?.text === 'Who reads this?')
  await group.markRead()
  await when(group.summary, ({ unread }) => unread === 0)
  await group.send('Hi all')
  await when(alice.conversation(id).messages, (list) => last(list)?.text === 'Hi all')
  const members = await when(alice.groups.group(id).members, (list) => list?.length === 2)
  expect(members?.map(({ user_id, role }) => [user_id, role])).toEqual([
    [a.id, 2],
    [b.id, 0],
  ])
  await alice.groups.group(id).rename('New team')
  await when(bob.groups.group(id).info, (info) => info?.name === 'New team')
  await bob.groups.group(id).setMuted(true)
  await group.pin()
  await when(group.summary, ({ isMuted, isPinned }) => isMuted && isPinned)
  expect(await alice.groups.group(id).invite([a.id])).toMatchObject([{ userId: a.id }])
  await bob.groups.group(id).leave()
  await when(alice.groups.group(id).members, (list) => list?.length === 1)
  await when(bob.conversations, ({ conversations }) =>
    conversations.every((each) => each.id !== id || !each.isWritable),
  )
})

it('a picture is uploaded with progress, and its address and thumbnail can be fetched', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const file = new Blob([dot], { type: 'image/gif' })
  const toBob = alice.conversation(b.id)
  const key = await toBob.send({
    text: 'a dot',
    file,
    fileName: 'dot.gif',
    attachment: { width: 1, height: 1 },
  })
  const sent = await when(toBob.messages, (list) => last(list)?.id)
  expect(last(sent)?.key).toBe(key)
  const received = await when(bob.conversation(a.id).messages, (list) => last(list)?.attachment)
  const { attachment, contentType } = last(received) as Message
  expect([contentType, attachment]).toMatchObject([
    1,
    { name: 'dot.gif', size: dot.length, width: 1, height: 1 },
  ])
  const response = await fetch(bob.fileUrl(attachment?.url ?? '') ?? '')
  expect(Buffer.from(await response.arrayBuffer()).equals(dot)).toBe(true)
  const thumbnail = await fetch(bob.fileUrl(attachment?.url ?? '', { thumbnail: 64 }) ?? '')
  expect(thumbnail.headers.get('content-type')).toMatch(/^image\//)
})

it('deleting a conversation hides it on all devices until the next message', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const alice = await a.connect()
  const [bob, other] = [await b.connect(), await b.connect()]
  await alice.conversation(b.id).send('one')
  for (const each of [bob, other])
    await when(each.conversations, ({ conversations }) => conversations.length === 1)
  await bob.conversation(a.id).delete()
  for (const each of [bob, other])
    await when(each.conversations, ({ conversations }) => conversations.length === 0)
  await alice.conversation(b.id).send('two')
  const { messages } = await when(
    other.conversation(a.id).messages,
    (list) => last(list)?.text === 'two',
  )
  expect(messages).toHaveLength(1)
})

it('an Admin token acts for a user, and for others in single calls', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const { adminToken } = server
  const bot = await a.connect({ token: () => adminToken, userId: a.id })
  const bob = await b.connect()
  await bot.conversation(b.id).send('I am a bot')
  await when(bob.conversation(a.id).messages, (list) => last(list)?.text === 'I am a bot')
  const answer = await bot.call('user.profile.get', {}, { userId: b.id })
  expect(answer.data.username).toBe(b.username)
})

it('refusals have the name of the server, and what waits for a connection says so', async () => {
  const a = await aUser()
  const alice = await a.connect()
  await expect(alice.contacts.remove(a.id + 1_000_000)).rejects.toMatchObject({
    retry: false,
    name: expect.stringMatching(/not_contact|user_not_found/),
  })
  const wrong = createClient({ url: server.url, appId: server.appId, token: () => 'nonsense' })
  clients.push(wrong)
  await expect(wrong.connect()).rejects.toMatchObject({ retry: false })
  const abort = AbortSignal.timeout(20)
  const away = createClient({ url: 'http://127.0.0.1:1', appId: 'app', token: () => a.token })
  clients.push(away)
  await expect(away.connect({ signal: abort })).rejects.toMatchObject({ name: 'aborted' })
})
