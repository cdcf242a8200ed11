import { type EventKind, type EventPayloads, eventKey } from '@hermod/protocol/events'
import { stringifyJson } from '../../lib/json.js'
import type { MessageReader } from '../../outbox/consumer.js'
import type { OutboxRow } from '../../outbox/outbox-reader.js'
import { isEdit, type RecordedEdit } from '../../outbox/rows/recorded-event.js'
import { eventsOfRow } from '../../outbox/rows/row-events.js'
import { type LoggedEvent, loggedId } from './logged-event.js'

type Reader = Pick<MessageReader, 'count' | 'logs' | 'read' | 'readEdit'>

/** Reads the events of the outbox as other systems get them. */
export class LoggedEvents {
  constructor(private readonly messages: Reader) {}

  /** Returns the events of a row in order. Those that other systems do not get are left out, and count for the places of the others. */
  async ofRow(appId: string, row: OutboxRow): Promise<LoggedEvent[]> {
    const events = await eventsOfRow(this.messages, appId, row)
    const last = events.findLastIndex(({ kind }) => kind !== 'change.skipped')
    return events.flatMap((event, index): LoggedEvent[] => {
      const { kind, payload, position, createdAt } = event
      if (kind === 'change.skipped') return []
      const isLast = index === last
      const name = kind === 'message.stored' ? String(event.payload.msg_id) : ''
      const key = eventKey({ kind, payload } as Parameters<typeof eventKey<EventKind>>[0])
      const place = { position, place: index + 1, name, key }
      return [
        {
          id: loggedId(appId, place),
          kind,
          appId,
          createdAt,
          payload: { ...payload },
          isLast,
          ...place,
        },
      ]
    })
  }

  /** Returns the number of events of a row, at most; nothing is read. */
  count({ kind, payload }: OutboxRow): number {
    return kind === 'message.stored' ? this.messages.count(payload) : 1
  }

  /** Tests whether a row may have events with a key; nothing is read. */
  mayHaveKey({ kind, payload: text }: OutboxRow, key: string): boolean {
    if (kind !== 'message.stored') {
      const payload = JSON.parse(text)
      return eventKey({ kind, payload }) === key
    }
    return this.messages.logs(text).some(({ lowId, highId, isGroup }) => {
      const conversation = { low_id: lowId, high_id: highId, is_group: isGroup }
      const payload = { conversation } as EventPayloads['message.stored']
      return eventKey({ kind, payload }) === key
    })
  }

  /** Returns the payload of an event as it is stored while the event waits: of messages without their texts. */
  toStored({ kind, payload }: Pick<LoggedEvent, 'kind' | 'payload'>): string {
    if (!isOfMessage(kind)) return stringifyJson(payload)
    const { actor_id = 0, user_ids = [], conversation, msg_id, seq } = payload
    return stringifyJson({ actor_id, user_ids, conversation, msg_id, seq })
  }

  /**
   * Reads a stored payload again.
   * @returns null when its message is gone
   */
  async ofStored(
    appId: string,
    kind: LoggedEvent['kind'],
    stored: string,
  ): Promise<LoggedEvent['payload'] | null> {
    const payload = JSON.parse(stored) as LoggedEvent['payload']
    if (!isOfMessage(kind)) return payload
    const edit = { kind: 'message.replaced', appId, payload } as unknown as RecordedEdit
    const event = await this.messages.readEdit(edit)
    if (event === null || event.kind === 'change.skipped') return null
    const { actor_id, user_ids, ...message } = event.payload
    return isEdit(kind as EventKind) ? { actor_id, user_ids, ...message } : message
  }
}

function isOfMessage(kind: LoggedEvent['kind']): boolean {
  return kind === 'message.stored' || isEdit(kind as EventKind)
}
