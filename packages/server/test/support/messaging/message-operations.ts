/** Calls that act on messages, and the records that they leave. */
import type { Answer, Api, Json } from '@hermod/testkit'
import type { Sql } from '../database/sql.js'
import { recordedEvents } from './recorded-events.js'

export const operationTypes = { readAck: 9, recall: 10, append: 11, replace: 12 } as const

/** Acts on a message of the conversation with `peer` through /message/send. */
export function operate(
  api: Api,
  operation: keyof typeof operationTypes,
  what: { readonly peer: number; readonly message: number; readonly [field: string]: unknown },
): Promise<Answer<Json>> {
  const { peer, message, ...fields } = what
  const body = {
    type: 1,
    content_type: operationTypes[operation],
    content: '',
    targets: [peer],
    related_mid: message,
    ...fields,
  }
  return api.call('POST', '/message/send', { body })
}

export function recall(api: Api, peer: number, message: number | bigint): Promise<Answer<Json>> {
  return api.call('POST', '/message/recall', { body: { conversation_id: peer, msg_id: message } })
}

export interface RecordedMessageEvent {
  readonly kind: string
  readonly actor: number
  readonly users: readonly number[]
  readonly messageId: number | null
}

/** The recorded events about messages that concern a user, oldest first. */
export async function messageEvents(sql: Sql, userId: number): Promise<RecordedMessageEvent[]> {
  return (await recordedEvents(sql, 'message.'))
    .map(({ kind, actor, users, content }) => {
      const messageId: number | null = content === '' ? null : JSON.parse(content).msg_id
      return { kind, actor, users, messageId }
    })
    .filter(({ users }) => users.includes(userId))
}
