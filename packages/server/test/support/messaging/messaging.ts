/** How tests send, and how they read everything back. */
import type { ConversationEntry, Message, MessagePage } from '@hermod/protocol'
import type { Answer, Api, Json, Session } from '@hermod/testkit'
import type { Tuple } from '../contacts.js'
import type { TestServer, Watched } from '../watched-server.js'

/** What a send may say beside its targets and its content. */
export type SendExtras = Readonly<Record<string, unknown>>

export interface Page {
  readonly start?: number | bigint
  readonly limit?: number
}

const longestHistoryPage = 100
/** More pages than any test needs; a server that never says that a page is the last one ends here. */
const maxPages = 1_000

/** A user as if /user/delete had been called before the server looked at the user. @returns the ID */
export async function aDeletedUser({ api, sql, server }: Watched): Promise<number> {
  const { id } = await api.register()
  await sql.run(
    `update users set deleted_at = ${Date.now()}, username_key = null where user_id = ${id}`,
  )
  await sql.run(`delete from user_badges where user_id = ${id}`)
  await sql.run(`update user_counts set users = users - 1 where app_id = '${server.appId}'`)
  return id
}

/** New users, who call by user token. */
export function sessions<Count extends number>(
  { api }: Pick<TestServer, 'api'>,
  count: Count,
): Promise<Tuple<Session, Count>> {
  const all = Array.from({ length: count }, () => api.newSession())
  return Promise.all(all) as Promise<Tuple<Session, Count>>
}

/** Sends what the test wrote by hand. */
export const send = (api: Api, body: object): Promise<Answer<Json>> =>
  api.call('POST', '/message/send', { body })

/** The body of a send of a text to users. */
export function textTo(
  targets: readonly (number | bigint | string)[],
  content: string,
  extras: SendExtras = {},
) {
  return { type: 1, content_type: 0, targets, content, ...extras }
}

/** Sends a text to one user; @returns its msg_id */
export async function sendText(
  api: Api,
  target: number,
  content: string,
  extras: SendExtras = {},
): Promise<number> {
  const { msg_ids } = await api.succeed('POST', '/message/send', {
    body: textTo([target], content, extras),
  })
  return onlyOne(msg_ids)
}

/** Sends a system notification to one user; @returns its msg_id */
export async function notify(
  api: Api,
  target: number,
  content: string,
  extras: SendExtras = {},
): Promise<number> {
  const { msg_ids } = await api.succeed('POST', '/message/notify', {
    body: textTo([target], content, extras),
  })
  return onlyOne(msg_ids)
}

function onlyOne(ids: Json): number {
  if (!Array.isArray(ids) || ids.length !== 1 || typeof ids[0] !== 'number')
    throw new Error(`not one msg_id: ${JSON.stringify(ids)}`)
  return ids[0]
}

export async function historyPage(
  api: Api,
  peer: number,
  { start = 0, limit = longestHistoryPage }: Page = {},
): Promise<MessagePage> {
  const query = { opposite_id: peer, msg_id_start: start, limit }
  const { data } = await api.succeed<MessagePage>('GET', '/message/conversation', { query })
  return data
}

/** All pages of a conversation, newest message first. */
export async function history(
  api: Api,
  peer: number,
  limit = longestHistoryPage,
): Promise<Message[]> {
  const messages: Message[] = []
  let start: Page['start'] = 0
  for (let pages = 1; ; pages++) {
    const page: MessagePage = await historyPage(api, peer, { start, limit })
    messages.push(...page.messages)
    if (page.is_last) return messages
    if (pages === maxPages) throw new Error(`the history of ${peer} has no last page`)
    start = page.next_msg_id
  }
}

/** Newest first. */
export async function contents(api: Api, peer: number): Promise<string[]> {
  return (await history(api, peer)).map(({ content }) => content)
}

/** Of all messages of a conversation, newest first. */
export async function statuses(api: Api, peer: number): Promise<string[]> {
  return (await history(api, peer)).map(({ status }) => status)
}

/** All pages of the list, most recent activity first. */
export async function conversationList(api: Api, limit?: number): Promise<ConversationEntry[]> {
  const conversations: ConversationEntry[] = []
  let cursor = ''
  for (let pages = 1; ; pages++) {
    const { data } = await api.succeed('GET', '/message/conversation_list', {
      query: { cursor, limit },
    })
    conversations.push(...data.conversations)
    if (!data.has_more) return conversations
    if (pages === maxPages) throw new Error('the list of conversations has no last page')
    cursor = data.next_cursor
  }
}

/** The other parties of the conversations, most recent activity first. */
export async function peers(api: Api): Promise<number[]> {
  return (await conversationList(api)).map(({ conversation_id }) => Number(conversation_id.uid))
}

/** The other parties with the newest message that is visible, most recent activity first. */
export async function newestMessages(api: Api, limit?: number): Promise<[number, number][]> {
  const list = await conversationList(api, limit)
  return list.map(({ conversation_id, latest_msg_id }) => [
    Number(conversation_id.uid),
    Number(latest_msg_id),
  ])
}

/** Unread counts by conversation; conversations without any are not in it. */
export async function unreadCounts(api: Api): Promise<Record<number, number>> {
  const { data } = await api.succeed('GET', '/message/unread')
  return Object.fromEntries(
    data.map(({ conversation_id, num }: Json) => [conversation_id.uid, num]),
  )
}

export async function acknowledge(
  api: Api,
  what: { readonly peer?: number; readonly message?: number | bigint } = {},
): Promise<void> {
  await api.succeed('GET', '/message/ack', {
    query: { conversation_id: what.peer, msg_id: what.message },
  })
}

export async function deleteConversation(api: Api, peer: number): Promise<void> {
  await api.succeed('DELETE', '/message/conversation', { body: { conversation_id: peer } })
}

/** What the operator's integrity check says is wrong. */
export async function integrityFaults(server: TestServer): Promise<Json[]> {
  const { data } = await server.api.as(server.operatorToken).succeed('POST', '/operator/v1/check')
  return data.faults
}
