/** The events of the outbox in the few fields that tests look at. */

import { type ActorEventKind, eventSchemas } from '@hermod/protocol/events'
import type { Json } from '@hermod/testkit'
import { Kind, type TSchema, TypeRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Sql } from '../database/sql.js'

// The schemas' own int64, of which an event holds exact ones only.
TypeRegistry.Set<TSchema>(
  'Unsafe',
  ({ [Kind]: _, type }, value) => type === 'integer' && Number.isSafeInteger(value),
)

/** Who did what to whom; `content` is the text of the event, '' when it has none. */
export interface RecordedEvent {
  readonly kind: ActorEventKind
  readonly actor: number
  readonly users: readonly number[]
  readonly group: number | undefined
  readonly content: string
}

const editKinds = { 'message.appended': true, 'message.replaced': true }

/**
 * The events whose kinds start like this, in the order of the commits.
 * @throws when a payload is not as its schema says
 */
export async function recordedEvents(sql: Sql, kinds = ''): Promise<RecordedEvent[]> {
  const rows = await sql.run(
    `select kind, payload from outbox where kind like '${kinds}%' and kind <> 'message.stored' order by app_id, position`,
  )
  return rows.map((row) =>
    eventOf(String(row.kind) as ActorEventKind, JSON.parse(String(row.payload))),
  )
}

function eventOf(kind: ActorEventKind, row: Json): RecordedEvent {
  const { change: _, ...payload } = row
  // The outbox has no texts of edited messages.
  const [wrong] = kind in editKinds ? [] : Value.Errors(eventSchemas[kind], payload)
  if (wrong) throw new Error(`${kind}: ${wrong.path} ${wrong.message}`)
  const { actor_id, user_ids, conversation } = payload
  const group = payload.group_id ?? (conversation?.is_group ? conversation.low_id : undefined)
  return {
    kind,
    actor: actor_id,
    users: user_ids,
    group,
    content: contentOf(payload),
  }
}

function contentOf(payload: Json): string {
  const { reason, minutes, changed, properties, device_sn, setting } = payload
  if (reason !== undefined) return reason
  if (minutes !== undefined) return String(minutes)
  if (properties !== undefined) return JSON.stringify({ properties })
  if (changed !== undefined) return JSON.stringify(changed)
  if (device_sn !== undefined) return JSON.stringify({ device_sn })
  if (setting !== undefined) return JSON.stringify(setting)
  return longContentOf(payload)
}

function longContentOf(payload: Json): string {
  const {
    property,
    value,
    announcement_id: id,
    title,
    is_deleted,
    file_id,
    name,
    conversation,
    msg_id,
  } = payload
  if (property) return JSON.stringify({ property, [property]: value })
  if (id !== undefined) return JSON.stringify({ id, title, is_deleted })
  if (file_id !== undefined) return JSON.stringify({ file_id, name })
  if (conversation === undefined) return ''
  if (conversation.is_group) return JSON.stringify({ msg_id })
  return JSON.stringify({ msg_id, parties: [conversation.low_id, conversation.high_id] })
}
