import {
  type CommittedKind,
  committedKinds,
  type EventKind,
  eventKey,
} from '@hermod/protocol/events'
import { stringifyJson } from '../../lib/json.js'
import type { LogPattern, MessageReader } from '../../outbox/consumer.js'
import type { OutboxRow } from '../../outbox/outbox-reader.js'
import { isEdit, type RecordedEdit } from '../../outbox/rows/recorded-event.js'
import { eventsOfRow } from '../../outbox/rows/row-events.js'
import { broadcastUserId } from '../messaging/model/conversation-model.js'
import type { EventIds } from './event-ids.js'
import type { LoggedEvent } from './logged-event.js'

type LoggedMessageReader = Pick<
  MessageReader,
  'count' | 'payloadsWithLog' | 'read' | 'readEdit' | 'readUpdate'
>

const kinds: ReadonlySet<EventKind> = new Set(committedKinds)

/** The keys of {@link eventKey}, with their IDs. */
const keyPattern = /^(?:app|[gu]:(\d+)|d:(\d+):(\d+))$/

/** Reads the events of the outbox as other systems get them. */
export class LoggedEvents {
  constructor(
    private readonly messages: LoggedMessageReader,
    private readonly ids: Pick<EventIds, 'of'>,
  ) {}

  /** Returns the ID of an event. */
  idOf(appId: string, place: Pick<LoggedEvent, 'position' | 'name'>): string {
    return this.ids.of(appId, place)
  }

  /**
   * Returns the events of a row in order. Those that other systems do not get are left out, and
   * count for the places of the others.
   */
  async ofRow(appId: string, row: OutboxRow): Promise<LoggedEvent[]> {
    // Nothing is read for devices' events.
    if (!isLogged(row.kind)) return []
    const events = await eventsOfRow(this.messages, appId, row)
    const last = events.findLastIndex(({ kind }) => isLogged(kind))
    return events.flatMap((event, index): LoggedEvent[] => {
      const { kind, payload, position, createdAt } = event
      if (!isLogged(kind)) return []
      const isLast = index === last
      const name = kind === 'message.stored' ? String(event.payload.msg_id) : ''
      const key = eventKey({ kind, payload } as Parameters<typeof eventKey<EventKind>>[0])
      const place = { position, place: index + 1, name, key }
      return [
        {
          id: this.idOf(appId, place),
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
    if (!isLogged(kind)) return 0
    return kind === 'message.stored' ? this.messages.count(payload) : 1
  }

  /**
   * Returns a test of whether a row may have events with a key. Nothing is read, and only rows that
   * name the IDs of the key are parsed.
   */
  keyTest(key: string): (row: OutboxRow) => boolean {
    const ids = keyPattern
      .exec(key)
      ?.slice(1)
      .filter((id) => id !== undefined)
    if (ids === undefined) return () => false
    const ofMessages = key.startsWith('u:') ? null : this.messages.payloadsWithLog(logOf(key, ids))
    const named = ids.map((id) => new RegExp(`[:,[]${id}[,\\]}]`))
    return ({ kind, payload }) => {
      if (kind === 'message.stored') return ofMessages?.test(payload) ?? false
      return (
        named.every((pattern) => pattern.test(payload)) &&
        eventKey({ kind, payload: JSON.parse(payload) }) === key
      )
    }
  }

  /**
   * Returns the payload of an event as it is stored while the event waits: of messages without
   * their texts.
   */
  toStored({ kind, payload }: Pick<LoggedEvent, 'kind' | 'payload'>): string {
    if (!isMessageKind(kind)) return stringifyJson(payload)
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
    if (!isMessageKind(kind)) return payload
    const edit = { kind: 'message.replaced', appId, payload } as unknown as RecordedEdit
    const event = await this.messages.readEdit(edit)
    if (event.kind === 'change.skipped') return null
    const { actor_id, user_ids, ...message } = event.payload
    return isEdit(kind as EventKind) ? { actor_id, user_ids, ...message } : message
  }
}

/** Returns the log whose messages have a key. */
function logOf(key: string, [first, second]: readonly string[]): LogPattern {
  if (first === undefined) return { lowId: broadcastUserId, highId: null, isGroup: false }
  return { lowId: BigInt(first), highId: BigInt(second ?? first), isGroup: key.startsWith('g:') }
}

function isLogged(kind: EventKind): kind is CommittedKind {
  return kinds.has(kind)
}

function isMessageKind(kind: LoggedEvent['kind']): boolean {
  return kind === 'message.stored' || isEdit(kind as EventKind)
}
