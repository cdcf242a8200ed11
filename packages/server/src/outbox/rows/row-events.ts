import type { Event } from '@hermod/protocol/events'
import type { DeliveredEvent, MessageReader } from '../consumer.js'
import type { OutboxRow } from '../outbox-store.js'
import { isEdit } from './recorded-event.js'

/** Returns the events of a row of the outbox, those of messages read from the database. */
export async function eventsOfRow(
  messages: Pick<MessageReader, 'read' | 'readEdit' | 'readUpdate'>,
  appId: string,
  { kind, payload: text, position, createdAt }: OutboxRow,
): Promise<DeliveredEvent[]> {
  const place = { appId, position, createdAt }
  if (kind === 'message.stored') {
    const events = await messages.read(appId, text)
    return events.map(({ name, ...event }) => ({ ...event, ...place, id: `${position}.${name}` }))
  }
  const { change, ...payload } = JSON.parse(text)
  const numbered = { ...place, id: String(position), ...(change !== undefined && { change }) }
  if (kind === 'message.updated')
    return [{ ...(await messages.readUpdate({ kind, appId, payload })), ...numbered }]
  if (!isEdit(kind)) return [{ ...({ kind, payload } as Event), ...numbered }]
  const edit = await messages.readEdit({ kind, appId, payload })
  // The end of a stream has no number: devices learn from others that the message is gone.
  if (kind === 'message.stream_ended' && edit.kind !== kind) return []
  return [{ ...edit, ...numbered }]
}
