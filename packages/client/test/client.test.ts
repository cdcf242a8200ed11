/**
 * The client against a running server, as an app uses it. The entry for Node has the interface of
 * that for browsers.
 */
import { type ServerProcess, startServer } from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import {
  type Client,
  type ClientOptions,
  createClient,
  logIn,
  type Message,
  register,
  type View,
} from '../src/node.js'
import { nodePorts } from '../src/node/node-ports.js'
import { createClientWith, memoryStore } from '../src/ports.js'

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
  const [toBob, toAlice] = [alice.direct(b.id), bob.direct(a.id)]
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

it('an edit and a recall that are made offline are done later; an edit overwrites none that its user has not seen', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [phone, page, bob] = [await a.connect(), await a.connect(), await b.connect()]
  const [ofPhone, ofPage] = [phone.direct(b.id), page.direct(b.id)]
  const ofBob = bob.direct(a.id)
  await ofPhone.send('one')
  await ofPhone.send('two')
  const { messages } = await when(ofPhone.messages, (list) => last(list)?.status === 'sent')
  const [one, two] = messages as [Message, Message]
  await when(ofPage.messages, (list) => last(list)?.id === two.id)

  phone.disconnect()
  await ofPhone.edit(one, 'from the phone')
  await ofPhone.recall(two)
  expect(ofPhone.messages.getSnapshot().messages).toMatchObject([
    { text: 'from the phone', isEdited: true, pending: { kind: 'edit', status: 'sending' } },
    { text: 'two', pending: { kind: 'recall', status: 'sending' } },
  ])
  await phone.connect()
  await when(ofBob.messages, (list) => list.messages.length === 1)
  await when(ofBob.messages, (list) => last(list)?.text === 'from the phone')
  const done = await when(ofPhone.messages, (list) => list.messages.length === 1)
  const [edited] = done.messages as [Message]
  expect(edited).not.toHaveProperty('pending')

  phone.disconnect()
  const shown = await when(ofPage.messages, (list) => last(list)?.text === 'from the phone')
  const [seen] = shown.messages as [Message]
  await ofPage.edit(seen, 'from the page')
  await when(ofBob.messages, (list) => last(list)?.text === 'from the page')
  await ofPhone.edit(edited, 'late')
  await phone.connect()
  const failed = await when(ofPhone.messages, (list) => last(list)?.pending?.status === 'failed')
  expect(last(failed)).toMatchObject({
    text: 'from the page',
    pending: { text: 'late', failure: { name: 'edited_meanwhile' } },
  })
  await ofPhone.retry(last(failed)?.pending?.key ?? '', { anyway: true })
  await when(ofBob.messages, (list) => last(list)?.text === 'late')
})

it('a reply shows its original: live, from the server where it is older, edited and recalled', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const [toBob, toAlice] = [alice.direct(b.id), bob.direct(a.id)]
  await toBob.send('Where?')
  const asked = await when(toAlice.messages, (list) => last(list)?.text === 'Where?')
  const question = last(asked) as Message
  await toAlice.send({ text: 'Here', replyTo: question })
  const quote = { id: question.id, state: 'present', senderId: a.id, text: 'Where?' }
  const shown = { text: 'Here', replyTo: { id: question.id, seq: question.seq }, quote }
  for (const { messages } of [toBob, toAlice])
    expect(last(await when(messages, (list) => last(list)?.quote && last(list)?.id))).toMatchObject(
      shown,
    )

  // A device that holds the newest messages only.
  for (let count = 0; count < 60; count++) await toBob.send(`later ${count}`)
  await when(toAlice.messages, (list) => last(list)?.text === 'later 59')
  await toAlice.send({ text: 'Still here', replyTo: question })
  await when(toBob.messages, (list) => last(list)?.text === 'Still here')
  const late = (await b.connect({ deviceGuid: 'another device' })).direct(a.id)
  const found = await when(late.messages, (list) => last(list)?.quote)
  expect(found.messages.some(({ id }) => id === question.id)).toBe(false)
  expect(last(found)).toMatchObject({ text: 'Still here', quote })

  const own = toBob.messages.getSnapshot().messages.find(({ id }) => id === question.id)
  await toBob.edit(own as Message, 'Where are you?')
  await when(late.messages, (list) => last(list)?.quote?.text === 'Where are you?')
  await toBob.recall(own as Message)
  for (const { messages } of [toBob, late])
    await when(messages, (list) => last(list)?.quote?.state === 'recalled')
  const key = await toAlice.send({ text: 'Too late', replyTo: question })
  const failed = await when(toAlice.messages, (list) => last(list)?.status === 'failed')
  expect(last(failed)).toMatchObject({ key, failure: { name: 'reply_unavailable' } })
})

it('reactions and pins: the user sees them at once, the other one with the next event, and edits keep them', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const [toBob, toAlice] = [alice.direct(b.id), bob.direct(a.id)]
  await toBob.send('Hello')
  const received = await when(toAlice.messages, ({ messages }) => messages.length === 1)
  const message = received.messages[0] as Message
  await toAlice.react(message, '👍')
  const own = { key: '👍', count: 1, userIds: [b.id], isOwn: true }
  expect(last(toAlice.messages.getSnapshot())?.reactions).toEqual([own])
  const seen = await when(toBob.messages, (list) => last(list)?.reactions.length === 1)
  expect(last(seen)?.reactions).toEqual([{ ...own, isOwn: false }])
  await toBob.pinMessage(last(seen) as Message)
  await when(toAlice.messages, (list) => last(list)?.pinned?.by === a.id)
  const [pinned] = (await when(toAlice.pinned, (list) => list?.length === 1)) as Message[]
  expect(pinned).toMatchObject({ key: message.key, reactions: [own], pinned: { by: a.id } })
  const { reactions, cursor } = await toBob.reactions(message, { key: '👍' })
  expect([reactions, cursor]).toMatchObject([[{ userId: b.id, key: '👍' }], undefined])
  expect(await toAlice.getMessage(message.id)).toEqual(pinned)
  expect(alice.features.getSnapshot()).toMatchObject({ reactions: true, pinnedMessages: true })
  await toBob.edit(last(seen) as Message, 'Hello Bob')
  const edited = await when(toAlice.messages, (list) => last(list)?.text === 'Hello Bob')
  expect(last(edited)).toMatchObject({ reactions: [own], pinned: { by: a.id } })
  await toAlice.react(message, '👍', { isOn: false })
  expect(last(toAlice.messages.getSnapshot())?.reactions).toEqual([])
  await when(toBob.messages, (list) => last(list)?.reactions.length === 0)
  await toAlice.unpinMessage(message)
  await when(toBob.messages, (list) => last(list)?.pinned === undefined)
  await when(toAlice.pinned, (list) => list?.length === 0)
  await toBob.recall(last(toBob.messages.getSnapshot()) as Message)
  await when(toAlice.messages, ({ messages }) => messages.length === 0)
  expect(await toAlice.getMessage(message.id)).toBeNull()
  await expect(toAlice.getMessage(1)).rejects.toMatchObject({ name: 'message_not_found' })
})

it('a new client shows the newest messages, and loads older ones to the beginning', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const sender = await a.connect()
  const texts = Array.from({ length: 130 }, (_, index) => `message ${index + 1}`)
  const toBob = sender.direct(b.id)
  await Promise.all(texts.map((text) => toBob.send(text)))
  await when(
    toBob.messages,
    (list) => last(list)?.text === 'message 130' && last(list)?.status !== 'sending',
  )
  const bob = await b.connect()
  const conversation = bob.direct(a.id)
  const first = await when(
    conversation.messages,
    ({ messages, isLoading }) => messages.length > 0 && !isLoading,
  )
  expect(first).toMatchObject({ hasOlder: true })
  expect(last(first)?.text).toBe('message 130')
  for (let pages = 0; conversation.messages.getSnapshot().hasOlder && pages < 10; pages++)
    await conversation.messages.loadOlder()
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
  await when(bob.contacts.requests, (requests) => requests?.[0]?.userId === a.id)
  await bob.contacts.accept(a.id)
  await when(bob.contacts.requests, (requests) => requests?.length === 0)
  await when(alice.contacts.list, (list) => list?.[0]?.id === b.id && list[0].isOnline)
  await alice.contacts.setAlias(b.id, 'Bobby')
  await when(alice.user(b.id), (user) => user?.name === 'Bobby')

  const { summary } = alice.direct(b.id)
  summary.subscribe(() => {})
  bob.direct(a.id).typing()
  await when(summary, ({ typing }) => typing.includes(b.id))

  await alice.contacts.block(b.id)
  await when(alice.user(b.id), (user) => user?.isBlocked)
  const key = await bob.direct(a.id).send('Are you there?')
  const failed = await when(bob.direct(a.id).messages, (list) => last(list)?.status === 'failed')
  expect(last(failed)).toMatchObject({ key, failure: { name: 'blocked_by_recipient' } })
  await bob.direct(a.id).discard(key)
  await when(bob.direct(a.id).messages, ({ messages }) => messages.length === 0)
})

it('groups: create, write, receipts, rename, mute, pin, leave', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const id = await alice.groups.create({ name: 'Team', userIds: [b.id] })
  const team = alice.group(id)
  await team.update({ hasReadReceipts: true })
  await team.conversation.send({ text: 'Who reads this?', receiptsOf: [b.id] })
  const listed = await when(bob.conversations, ({ conversations }) =>
    conversations.some(({ title }) => title === 'Team'),
  )
  expect(listed.conversations).toMatchObject([{ id, kind: 'group', isWritable: true }])
  const group = bob.group(id).conversation
  expect(group.kind).toBe('group')
  const asked = await when(team.conversation.messages, (list) => last(list)?.status === 'sent')
  const question = last(asked) as Message
  await expect(team.conversation.receipts(question)).resolves.toEqual({
    read: [],
    unread: [b.id],
  })
  await when(group.messages, (list) => last(list)?.text === 'Who reads this?')
  await group.markRead()
  await when(group.summary, ({ unread }) => unread === 0)
  await group.send('Hi all')
  await when(team.conversation.messages, (list) => last(list)?.text === 'Hi all')
  const members = await when(team.members, (list) => list?.length === 2)
  expect(members?.map(({ userId, role }) => [userId, role])).toEqual([
    [a.id, 'owner'],
    [b.id, 'member'],
  ])
  await team.update({ name: 'New team' })
  await when(bob.group(id).info, (info) => info?.name === 'New team')
  await bob.group(id).setMuteMode('silent')
  await group.pin()
  await when(group.summary, ({ isMuted, isPinned }) => isMuted && isPinned)
  expect(await team.invite([a.id])).toMatchObject([{ id: a.id }])
  await bob.group(id).leave()
  await when(team.members, (list) => list?.length === 1)
  await when(bob.conversations, ({ conversations }) =>
    conversations.every((each) => each.id !== id || !each.isWritable),
  )
})

it('a picture is uploaded with progress, and its address and thumbnail can be fetched', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const file = new Blob([dot], { type: 'image/gif' })
  const toBob = alice.direct(b.id)
  const key = await toBob.send({
    text: 'a dot',
    file,
    fileName: 'dot.gif',
    attachment: { width: 1, height: 1 },
  })
  const sent = await when(toBob.messages, (list) => last(list)?.id)
  expect(last(sent)?.key).toBe(key)
  const received = await when(bob.direct(a.id).messages, (list) => last(list)?.attachment)
  const { attachment, contentType } = last(received) as Message
  expect([contentType, attachment]).toMatchObject([
    'image',
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
  await alice.direct(b.id).send('one')
  for (const each of [bob, other])
    await when(each.conversations, ({ conversations }) => conversations.length === 1)
  await bob.direct(a.id).delete()
  for (const each of [bob, other])
    await when(each.conversations, ({ conversations }) => conversations.length === 0)
  await alice.direct(b.id).send('two')
  const { messages } = await when(other.direct(a.id).messages, (list) => last(list)?.text === 'two')
  expect(messages).toHaveLength(1)
})

it('groups: requests and invitations are shown to those who answer them', async () => {
  const [a, b, c] = [await aUser(), await aUser(), await aUser()]
  const [alice, bob, carol] = [await a.connect(), await b.connect(), await c.connect()]
  await carol.updateSettings({ asksBeforeGroups: true })
  await when(carol.settings, (settings) => settings?.asksBeforeGroups)
  const id = await alice.groups.create({ name: 'Open', type: 'public', userIds: [c.id] })
  const team = alice.group(id)
  const invitations = await when(carol.groups.invitations, (list) => list?.length === 1)
  expect(invitations).toMatchObject([{ groupId: id, inviterId: a.id }])
  await carol.group(id).acceptInvitation()
  await when(carol.groups.invitations, (list) => list?.length === 0)
  await team.update({ joinApproval: 'confirm', description: 'All welcome' })
  await when(alice.groups.joinRequests, (list) => list?.length === 0)
  await bob.group(id).join({ reason: 'It is me' })
  const requests = await when(alice.groups.joinRequests, (list) => list?.length === 1)
  expect(requests).toMatchObject([{ groupId: id, userId: b.id, reason: 'It is me' }])
  await team.acceptRequest(b.id)
  await when(alice.groups.joinRequests, (list) => list?.length === 0)
  const info = await when(bob.group(id).info, (group) => group?.memberCount === 3)
  expect(info).toMatchObject({ type: 'public', joinApproval: 'confirm', ownerId: a.id })
})

it('groups: admins, bans, announcements, shared files, pictures', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const id = await alice.groups.create({ name: 'Team', userIds: [b.id] })
  const team = alice.group(id)
  const stranger = a.id + 1_000_000
  expect(await team.addAdmins([b.id, stranger])).toMatchObject([{ id: stranger }])
  await when(team.members, (list) => list?.some(({ role }) => role === 'admin'))
  expect(await team.removeAdmins([b.id])).toEqual([])
  expect(await team.ban([b.id])).toEqual([])
  await when(team.members, (list) => list?.some((each) => each.bannedUntil === Infinity))
  expect(await team.unban([b.id])).toEqual([])
  await team.banAll({ minutes: 5 })
  await when(bob.group(id).info, (info) => info && info.bannedUntil > Date.now())
  await team.unbanAll()

  const announced = await team.announce({ title: 'News', text: 'We are two' })
  expect(await bob.group(id).announcements()).toEqual([announced])
  expect(announced).toMatchObject({ authorId: a.id, groupId: id, text: 'We are two' })
  await team.deleteAnnouncement(announced.id)
  expect(await bob.group(id).announcements()).toEqual([])

  const picture = new Blob([dot], { type: 'image/gif' })
  const shared = await bob.group(id).shareFile(picture, { name: 'dot.gif' })
  await team.renameFile(shared.id, 'red.gif')
  expect(await team.sharedFiles()).toMatchObject([
    { id: shared.id, name: 'red.gif', size: dot.length, uploaderId: b.id },
  ])
  expect((await fetch(alice.fileUrl(shared.url) ?? '')).status).toBe(200)
  expect(await team.deleteFiles([shared.id, stranger])).toMatchObject([{ id: stranger }])

  await team.setAvatar(picture)
  await bob.setAvatar(picture)
  await bob.updateProfile({ nickname: 'Bo' })
  const [info, user] = await Promise.all([
    when(bob.group(id).info, (group) => group?.avatar),
    when(alice.user(b.id), (each) => each?.avatar && each.nickname === 'Bo'),
  ])
  for (const avatar of [info?.avatar, user?.avatar])
    expect((await fetch(alice.fileUrl(avatar ?? '') ?? '')).status).toBe(200)
  await team.setAvatar(null)
  await team.setDisplayName('Al')
  await team.setPushMode('mentions')
  await when(team.info, (group) => group?.avatar === '' && group.pushMode === 'mentions')
  await when(team.members, (list) => list?.some(({ displayName }) => displayName === 'Al'))
  await team.transfer(b.id)
  await when(team.info, (group) => group?.ownerId === b.id)
  await expect(team.update({ name: 'Mine' })).rejects.toMatchObject({
    name: 'group_admin_required',
  })
})

it('a client with a store of the app shows what it has stored before it connects, drafts too', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const store = memoryStore()
  const ports = { ...nodePorts, openStore: async () => store }
  const options = { url: server.url, appId: server.appId, userId: a.id, token: () => a.token }
  const start = () => {
    const client = createClientWith(options, ports)
    clients.push(client)
    return client
  }
  const first = start()
  await first.connect()
  await first.direct(b.id).send('kept')
  await when(first.direct(b.id).messages, (list) => last(list)?.id)
  await first.direct(b.id).draft.set('Half a')
  await first.close()
  const second = start().direct(b.id)
  await when(second.messages, (list) => last(list)?.text === 'kept')
  await when(second.draft, (text) => text === 'Half a')
})

it('onMessage: what comes while the client is away is heard once, after the reconnect', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  await alice.direct(b.id).send('before')
  await when(bob.direct(a.id).messages, (list) => last(list)?.text === 'before')
  const heard: string[] = []
  bob.onMessage(({ text }, { id, kind }) => heard.push(`${kind} ${id === a.id} ${text}`))
  await alice.direct(b.id).send('live')
  await vi.waitFor(() => expect(heard).toHaveLength(1))
  bob.disconnect()
  await when(bob.connection, ({ state }) => state === 'idle')
  const missed = Array.from({ length: 130 }, (_, index) => `missed ${index}`)
  for (const text of missed) await alice.direct(b.id).send(text)
  await when(alice.direct(b.id).messages, (list) => last(list)?.status === 'sent')
  const group = await alice.groups.create({ name: 'New', userIds: [b.id] })
  await alice.group(group).conversation.send('in the group')
  await when(alice.group(group).conversation.messages, (list) => last(list)?.id)
  await bob.connect()
  await vi.waitFor(() => expect(heard).toHaveLength(132), 10_000)
  expect(heard.filter((each) => each.startsWith('direct'))).toEqual(
    ['live', ...missed].map((text) => `direct true ${text}`),
  )
  expect(heard).toContain('group false in the group')
})

it('messages: around an old one, whose ID alone is known', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  for (let index = 1; index <= 60; index++) await alice.direct(b.id).send(`number ${index}`)
  await when(alice.direct(b.id).messages, (list) => last(list)?.status === 'sent')
  const query = `opposite_id=${b.id}&msg_id_start=0&limit=50`
  const headers = { app_id: server.appId, 'access-token': a.token }
  const page = await fetch(`${server.url}/message/conversation?${query}`, { headers })
  const { data } = await page.json()
  const { messages } = bob.direct(a.id)
  messages.subscribe(() => {})
  const oldest = data.messages.at(-1)
  await messages.loadAround(oldest.msg_id, { limit: 10 })
  const shown = messages.getSnapshot()
  expect(shown.messages.map(({ text }) => text)).toContain(oldest.content)
  expect(shown).toMatchObject({ hasOlder: true, hasNewer: true })
  expect(shown.messages).toHaveLength(10)
  await messages.loadLatest()
  expect(last(messages.getSnapshot())?.text).toBe('number 60')
})

it('an Admin token acts for a user, and for others in single calls', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const { adminToken } = server
  const bot = await a.connect({ token: () => adminToken, userId: a.id })
  const bob = await b.connect()
  await bot.direct(b.id).send('I am a bot')
  await when(bob.direct(a.id).messages, (list) => last(list)?.text === 'I am a bot')
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

it('a message that is written piece by piece grows at its reader, who asks to stop another one', async () => {
  const [a, b] = [await aUser(), await aUser()]
  const [alice, bob] = [await a.connect(), await b.connect()]
  const toAlice = bob.direct(a.id)
  let isLeft: (() => void) | undefined
  async function* halves() {
    yield 'First half, '
    await new Promise<void>((resolve) => {
      isLeft = resolve
    })
    yield 'second half'
  }
  const writing = alice.direct(b.id).stream(halves(), { kind: 'markdown', placeholder: 'wait' })
  const open = await when(toAlice.messages, (list) => last(list)?.text === 'First half, ')
  expect(last(open)).toMatchObject({ stream: { kind: 'markdown', state: 'open' }, isEdited: false })
  isLeft?.()
  const { id, state } = await writing
  expect(state).toBe('done')
  const done = await when(toAlice.messages, (list) => last(list)?.stream?.state === 'done')
  expect(last(done)).toMatchObject({ id, text: 'First half, second half', isEdited: false })

  async function* endless() {
    for (;;) {
      yield 'more '
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const stopped = alice.direct(b.id).stream(endless())
  const list = await when(toAlice.messages, ({ messages }) => messages.length === 2)
  await toAlice.cancelStream(last(list) as Message)
  expect(await stopped).toMatchObject({ state: 'cancelled' })
})
