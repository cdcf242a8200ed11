/** The state at the start of the demo: users, contacts, a request, a group and a history. */
import { randomBytes } from 'node:crypto'
import type { DemoClock } from '../demo-clock.js'
import type { DemoServer } from '../demo-server.js'
import { directHistory, groupHistory, type HistoryLine, unreadHistory } from './history.js'
import { drawLake } from './pictures.js'

/** A user of the page. */
export interface DemoUser {
  readonly userId: number
  readonly name: string
  readonly token: string
}

type Name = 'Ada' | 'Ben' | 'Cleo' | 'Dario'
type Ids = Readonly<Record<Name, number>>

const minuteMs = 60_000

/**
 * Fills an empty server.
 * @param clock is late until everything is sent
 * @returns the two users of the page, with new tokens
 */
export async function createWorld(server: DemoServer, clock: DemoClock): Promise<DemoUser[]> {
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
  for (const line of lines) {
    clock.setLate(line.minutesAgo * minuteMs)
    await send(server, ids, line)
  }
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
  return Promise.all([user('Ada'), user('Ben')])
}

/** Only this run knows the passwords. */
function newPassword(): string {
  return randomBytes(18).toString('base64url')
}

async function createUsers(server: DemoServer, passwords: Record<Name, string>): Promise<Ids> {
  const created = Object.entries(passwords).map(async ([name, password]) => {
    const username = name.toLowerCase()
    const { user_id: id } = await server.post<{ user_id: number }>('/user/register/v2', {
      username,
      password,
    })
    await server.post('/user/nickname', { nick_name: name }, id)
    return [name, id] as const
  })
  return Object.fromEntries(await Promise.all(created)) as unknown as Ids
}

/** Makes contacts and the group. @returns the ID of the group */
async function createContacts(server: DemoServer, ids: Ids): Promise<number> {
  const { Ada, Ben, Cleo, Dario } = ids
  await server.post('/user/add_roster', { list: [Ben, Dario] }, Ada)
  await server.post('/user/add_roster', { list: [Cleo] }, Ben)
  await server.post('/user/settings', { user_id: Ada, auth_mode: 1 }, Ada)
  const { group_id } = await server.post<{ group_id: number }>(
    '/group/create',
    { name: 'Lake hike', user_list: [Ada, Cleo] },
    Ben,
  )
  return group_id
}

async function send(
  server: DemoServer,
  ids: Ids,
  line: HistoryLine & { readonly type: number; readonly to: number },
): Promise<void> {
  const { from, text, type, to } = line
  const body = { type, targets: [to], content_type: 0, content: text }
  if (!line.hasPicture) return void (await server.post('/message/send', body, ids[from]))
  const { bytes, width, height } = await drawLake()
  const url = await server.uploadPicture(ids[from], to, bytes, 'lake.jpg')
  const attachment = { url, name: 'lake.jpg', size: bytes.length, width, height }
  const picture = { ...body, content_type: 1, attachment: JSON.stringify(attachment) }
  await server.post('/message/send', picture, ids[from])
}
