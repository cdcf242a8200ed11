import type { Int64 } from '@hermod/protocol'
import type { Event, EventKind, EventPayloads } from '@hermod/protocol/events'
import type { ChangedLog, RowLog } from './rows/log-key.js'
import type { EditEventKind, RecordedEdit, RecordedUpdate } from './rows/recorded-event.js'

/** An event as a consumer gets it. */
export type DeliveredEvent = Event<EventKind> & {
  /** Identifies the event within its app, also when it is delivered again. */
  readonly id: string
  /** Its position in the outbox of the app; the messages of one batch share one. */
  readonly position: number
  /** The change number in the log of its conversation (decision page 027); events of no log have none. */
  readonly change?: number
  /** The whole message after `message.updated`, for sessions that do not know this kind. */
  readonly replaced?: EventPayloads['message.replaced']
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/**
 * A follower of the events of all apps. It resumes where any node stopped, runs on one node at a
 * time, and holds back the purge of the outbox.
 */
export interface Consumer {
  /** The key of its positions: unique, and never reused. */
  readonly name: string
  /**
   * Tells whether the consumer needs events of the app now. The others are skipped unread, at most
   * once a second. Default: always.
   */
  needs?(appId: string): Promise<boolean>
  /**
   * Handles events of one app in their order. The same events come again when it rejects and after
   * a crash, so handling must be idempotent.
   * @param signal aborted when the node stops or another node has taken over
   */
  handle(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void>
  /** Events of the app were purged before this consumer got them; called before the next events. */
  missed(appId: string): Promise<void>
}

/** An event without its place in the outbox. */
type EventContent<Kind extends EventKind> = {
  readonly [K in Kind]: Pick<Event<K>, 'kind' | 'payload'>
}[Kind]

/** An event of a row of kind `message.stored`. */
export type MessageEvent = EventContent<'message.stored' | 'change.skipped'> & {
  /** Distinguishes the events of one row. */
  readonly name: string
  readonly change?: number
}

/** The logs that a search is for. */
export interface LogPattern extends Pick<RowLog, 'lowId' | 'isGroup'> {
  /** null: any. */
  readonly highId: Int64 | null
}

/** Reads the messages that rows of the outbox name. */
export interface MessageReader {
  /** Returns the number of messages of a row of kind `message.stored`. */
  count(payload: string): number
  /** Returns the logs that a row of kind `message.stored` has messages of. */
  logs(payload: string): readonly ChangedLog[]
  /** Returns a pattern of the payloads of rows of kind `message.stored` that have messages of a log. */
  payloadsWithLog(log: LogPattern): RegExp
  /**
   * Returns an event for each number of a row of kind `message.stored`, in order within each
   * conversation: the message, or `change.skipped` where it is gone.
   */
  read(appId: string, payload: string): Promise<readonly MessageEvent[]>
  /** Returns an edit with the message as it is now, or `change.skipped` when it is gone. */
  readEdit(edit: RecordedEdit): Promise<EventContent<EditEventKind | 'change.skipped'>>
  /** Returns an update with the fields as they are now, or `change.skipped` as {@link readEdit} does. */
  readUpdate(
    update: RecordedUpdate,
  ): Promise<EventContent<'message.updated' | 'change.skipped'> & Pick<DeliveredEvent, 'replaced'>>
}
