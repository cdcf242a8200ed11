/** The state at the start of the demo: users, contacts, a request, a group and a history. */
import { randomBytes } from 'node:crypto'
import type { DemoClock } from '../demo-clock.js'
import type { DemoServer } from '../demo-server.js'
import {
  directHistory,
  groupHistory,
  type HistoryLine,
  type Name,
  unreadHistory,
} from './history.js'
import { drawLake } from './pictures.js'

/** A user of the page. */
export interface DemoUser {
  readonly userId: number
  readonly name: string
  readonly token: string
}

/** Everyone whom the demo acts for. */
export interface World {
  /** The two users of the page. */
  readonly users: readonly DemoUser[]
  /** A bot, for a program that answers the users. */
  readonly assistant: DemoUser
}

type Ids = Readonly<Record<Name, number>>

const minuteMs = 60_000

/**
 * Fills an empty server.
 * @param clock is late until everything is sent
 * @returns the users with new tokens
 */
export async function createWorld(server: DemoServer, clock: DemoClock): Promise<World> {
  clock.setLate(directHistory[0].minutesAgo * minuteMs)
  const passwords = {
    Ada: newPassword(),
    Ben: newPassword(),
    Cleo: newPassword(),
    Dario: newPassword(),
  }
  const ids = await createUsers(server, passwords)
  const groupId = await createContacts(server, ids)
  const lines = [
    ...directHistory.map((line) => ({
      ...line,
      type: 1,
      to: line.from === 'Ada' ? ids.Ben : ids.Ada,
    })),
    ...groupHistory.map((line) => ({ ...line, type: 2, to: groupId })),
    ...unreadHistory.map((line) => ({ ...line, type: 1, to: ids.Ada })),
  ].sort((one, other) => other.minutesAgo - one.minutesAgo)
  const sent = new Map<string, number>()
  for (const line of lines) {
    clock.setLate(line.minutesAgo * minuteMs)
    sent.set(line.text, await send(server, ids, { ...line, replyTo: sent.get(line.replyTo ?? '') }))
  }
  for (const line of lines) await decorate(server, ids, { ...line, id: sent.get(line.text) ?? 0 })
  clock.setLate(0)
  await server.post(
    '/roster/apply',
    { user_id: ids.Ada, reason: 'We met on the hike. I have pictures for you.' },
    ids.Cleo,
  )
  const user = async (name: 'Ada' | 'Ben') => {
    const body = { user_id: ids[name], password: passwords[name] }
    const { token } = await server.post<{ token: string }>('/token/id', body)
    return { userId: ids[name], name, token }
  }
  const assistant = await server.post<{ token: string }>('/token/issue', {
    user_id: ids.Assistant,
  })
  return {
    users: await Promise.all([user('Ada'), user('Ben')]),
    assistant: { userId: ids.Assistant, name: 'Assistant', token: assistant.token },
  }
}

/** Only this run knows the passwords. */
function newPassword(): string {
  return randomBytes(18).toString('base64url')
}

async function createUsers(
  server: DemoServer,
  passwords: Readonly<Record<string, string>>,
): Promise<Ids> {
  const created = Object.entries(passwords).map(async ([name, password]) => {
    const username = name.toLowerCase()
    const { user_id: id } = await server.post<{ user_id: number }>('/user/register/v2', {
      username,
      password,
    })
    await server.post('/user/nickname', { nick_name: name }, id)
    return [name, id] as const
  })
  const { user_id } = await server.post<{ user_id: number }>('/token/issue', {
    issuer: 'demo',
    subject: 'assistant',
    create: { username: 'assistant', nick_name: 'Assistant', is_bot: true },
  })
  return { ...Object.fromEntries(await Promise.all(created)), Assistant: user_id } as Ids
}

/** Makes contacts and the group. @returns the ID of the group */
async function createContacts(server: DemoServer, ids: Ids): Promise<number> {
  const { Ada, Ben, Cleo, Dario, Assistant } = ids
  await server.post('/user/add_roster', { list: [Ben, Dario, Assistant] }, Ada)
  await server.post('/user/add_roster', { list: [Cleo, Assistant] }, Ben)
  await server.post('/user/settings', { user_id: Ada, auth_mode: 1 }, Ada)
  const { group_id } = await server.post<{ group_id: number }>(
    '/group/create',
    { name: 'Lake hike', user_list: [Ada, Cleo] },
    Ben,
  )
  return group_id
}

/** A message to a user (type 1) or a group (type 2). */
interface SentLine extends Omit<HistoryLine, 'replyTo'> {
  readonly type: number
  readonly to: number
}

/** Sends a message. @returns its ID */
async function send(
  server: DemoServer,
  ids: Ids,
  { from, text, type, to, hasPicture, replyTo }: SentLine & { replyTo: number | undefined },
): Promise<number> {
  const content = { content_type: 0, content: text }
  const picture = hasPicture && (await pictureOf(server, ids[from], to))
  const message = { type, targets: [to], reply_to: replyTo, ...content, ...picture }
  return server.send(message, ids[from])
}

async function pictureOf(server: DemoServer, from: number, to: number) {
  const { bytes, width, height } = await drawLake()
  const url = await server.uploadPicture(from, to, bytes, 'lake.jpg')
  const attachment = { url, name: 'lake.jpg', size: bytes.length, width, height }
  return { content_type: 1, attachment: JSON.stringify(attachment) }
}

/** Adds the reactions to a message, and pins it. */
async function decorate(
  server: DemoServer,
  ids: Ids,
  { id, from, type, to, reactions = [], pinnedBy }: SentLine & { readonly id: number },
): Promise<void> {
  // A user names a direct conversation by the other one.
  const messageFor = (userId: number) => ({
    conversation_id: userId === to ? ids[from] : to,
    msg_id: id,
  })
  for (const [name, key] of reactions) {
    const body = { ...messageFor(ids[name]), type, key, on: true }
    await server.post('/message/reaction', body, ids[name])
  }
  if (pinnedBy) await server.post('/message/pin', messageFor(ids[pinnedBy]), ids[pinnedBy])
}
