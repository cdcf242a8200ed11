import type { Event } from '@hermod/protocol/events'
import type { DeliveredEvent, MessageReader } from './consumer.js'
import type { OutboxRow } from './outbox-store.js'

/** Returns the events of a row of the outbox, those of messages read from the database. */
export async function eventsOfRow(
  messages: Pick<MessageReader, 'read'>,
  appId: string,
  { kind, payload, position, createdAt }: OutboxRow,
): Promise<DeliveredEvent[]> {
  if (kind !== 'message.stored') {
    const event = { kind, appId, payload: JSON.parse(payload) } as Event
    return [{ ...event, id: String(position), position, createdAt }]
  }
  const stored = await messages.read(appId, payload)
  return stored.map((message) => ({
    kind,
    appId,
    payload: message,
    id: `${position}.${message.msg_id}`,
    position,
    createdAt,
  }))
}
