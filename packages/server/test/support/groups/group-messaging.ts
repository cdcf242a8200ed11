/** How tests send to groups, and what they find about it beside the answers. */
import type { Answer, Api, Json, Session } from '@hermod/testkit'
import { type Person, registerPeople, type Tuple } from '../contacts.js'
import type { Sql } from '../database/sql.js'
import { operate, type operationTypes } from '../messaging/message-operations.js'
import { type SendExtras, textTo } from '../messaging/messaging.js'
import { recordedEvents } from '../messaging/recorded-events.js'
import type { TestServer } from '../watched-server.js'

/** A user who calls with an own token. */
export type Speaker = Pick<Session, 'id' | 'api'>

export async function speakers<Count extends number>(
  server: TestServer,
  count: Count,
): Promise<Tuple<Speaker, Count>> {
  const people: readonly Person[] = await registerPeople(server, count)
  return Promise.all(
    people.map(async ({ id }) => {
      const { data } = await server.api.succeed('POST', '/token/id', {
        body: { user_id: id, password: 'correct horse' },
      })
      return { id, api: server.api.as(data.token) }
    }),
  ) as Promise<Tuple<Speaker, Count>>
}

export function textToGroups(
  groups: readonly (number | bigint)[],
  content: string,
  extras: SendExtras = {},
) {
  return textTo(groups, content, { type: 2, ...extras })
}

export function sendToGroups(
  api: Api,
  groups: readonly (number | bigint)[],
  content: string,
  extras: SendExtras = {},
): Promise<Answer> {
  return api.call('POST', '/message/send', { body: textToGroups(groups, content, extras) })
}

/** @returns its msg_id */
export async function sendToGroup(
  api: Api,
  group: number,
  content: string,
  extras: SendExtras = {},
): Promise<number> {
  const { msg_ids } = await api.succeed('POST', '/message/send', {
    body: textToGroups([group], content, extras),
  })
  if (!Array.isArray(msg_ids) || msg_ids.length !== 1)
    throw new Error(`not one msg_id: ${JSON.stringify(msg_ids)}`)
  return Number(msg_ids[0])
}

/** Acts on a message of a group through /message/send. */
export function operateInGroup(
  api: Api,
  operation: keyof typeof operationTypes,
  what: { readonly group: number; readonly message: number; readonly [field: string]: unknown },
): Promise<Answer<Json>> {
  const { group, ...fields } = what
  return operate(api, operation, { peer: group, type: 2, ...fields })
}

/** Receipts of messages of the group: who has read it and who gets to know, oldest first. */
export interface RecordedReceipt {
  readonly reader: number
  readonly users: readonly number[]
  readonly message: number
}

export async function recordedReads(sql: Sql, group: number): Promise<RecordedReceipt[]> {
  return (await recordedEvents(sql, 'message.read'))
    .filter((event) => event.kind === 'message.read' && event.group === group)
    .map(({ actor: reader, users, content }) => ({
      reader,
      users,
      message: JSON.parse(content).msg_id,
    }))
}

/** Reads of which users other than the readers get to know. */
export async function receipts(sql: Sql, group: number): Promise<RecordedReceipt[]> {
  return (await recordedReads(sql, group)).filter(({ reader, users }) => !users.includes(reader))
}

const tableNames = {
  sqlite: "select name from sqlite_master where type = 'table'",
  postgres:
    'select table_name as name from information_schema.tables where table_schema = current_schema()',
}

/** How many rows every table has. */
export async function rowCounts(
  sql: Sql,
  engine: keyof typeof tableNames,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name } of await sql.run(tableNames[engine]))
    counts[String(name)] = Number(
      (await sql.run(`select count(*) as count from "${name}"`))[0]?.count,
    )
  return counts
}
