import type { Event, EventPayloads } from '@hermod/protocol/events'

/** An event as a consumer gets it. */
export type DeliveredEvent = Event & {
  /** Names the event within its app, also when it comes again. */
  readonly id: string
  /** Its place in the outbox of the app; the messages of one batch share theirs. */
  readonly position: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** What follows the events of all apps. */
export interface Consumer {
  /** Of a durable consumer the key of its positions: unique, and never given to another one. */
  readonly name: string
  /**
   * A durable consumer goes on where any node has left off, is run by one node at a time, and keeps the purge of the outbox waiting. One
   * that is not durable follows on its own node from when it started, and keeps nothing.
   */
  readonly isDurable: boolean
  /**
   * Whether events of the app are of any use now. While they are not, they are passed over unread, at most once a second. Left
   * out: they always are.
   */
  wants?(appId: string): Promise<boolean>
  /**
   * Takes events of one app in their order. When it rejects, the same events come again, and so they do after a crash: handling
   * an event twice must do no harm.
   * @param signal aborted when the node stops or another node has taken over
   */
  handle(events: readonly DeliveredEvent[], signal: AbortSignal): Promise<void>
  /** Events of the app were purged before this consumer had seen them; comes before the next events. */
  missed(appId: string): Promise<void>
}

/** Reads what rows of kind `message.stored` stand for. */
export interface MessageReader {
  /** How many messages a row stands for. */
  count(payload: string): number
  /** In order within each conversation, without those that are not there any more. */
  read(appId: string, payload: string): Promise<readonly EventPayloads['message.stored'][]>
}
