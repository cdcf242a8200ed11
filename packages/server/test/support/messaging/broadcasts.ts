/** How tests send to everybody, and make applications in which they are alone. */
import { Api } from '@hermod/testkit'
import type { Person, Tuple } from '../contacts.js'
import type { TestServer } from '../watched-server.js'
import { historyPage, unreadCounts } from './messaging.js'

/** What a broadcast may say beside its content. */
export type BroadcastExtras = Readonly<Record<string, unknown>>

export function broadcastBody(content: string, extras: BroadcastExtras = {}) {
  return { type: 1, content_type: 0, content, ...extras }
}

/** Sends a text to everybody, from the system or the user of the header; @returns send_num */
export async function broadcast(
  api: Api,
  content: string,
  extras: BroadcastExtras = {},
): Promise<number> {
  const { data } = await api.succeed('POST', '/message/broadcast', {
    body: broadcastBody(content, extras),
  })
  if (data.success !== true) throw new Error(`no broadcast: ${JSON.stringify(data)}`)
  return Number(data.send_num)
}

/** The msg_id of the newest message that a user has with a peer. */
export async function newestId(api: Api, peer: number): Promise<number> {
  const { messages } = await historyPage(api, peer, { limit: 1 })
  return Number(messages[0]?.msg_id ?? 0)
}

/** How many messages with a peer are unread. */
export async function unreadOf(api: Api, peer: number): Promise<number> {
  return (await unreadCounts(api))[peer] ?? 0
}

/** An application without users, on the same server; its Admin. */
export async function anApplication(server: TestServer): Promise<Api> {
  const operator = server.api.as(server.operatorToken)
  const { data } = await operator.succeed('POST', '/operator/v1/app/create')
  const { options } = server.api
  return new Api({ ...options, appId: data.app_id, adminToken: data.admin_token }).admin()
}

/** Users of an application, who call by its Admin; their names begin alike. */
export async function addUsers<Count extends number>(
  admin: Api,
  count: Count,
  prefix = 'user',
): Promise<Tuple<Person, Count>> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}_${index}`)
  const accounts = await admin.addUsers(names)
  const users = accounts.map(({ id, username }) => ({
    id,
    username,
    api: admin.admin({ userId: id }),
  }))
  return users as Tuple<Person, Count>
}
