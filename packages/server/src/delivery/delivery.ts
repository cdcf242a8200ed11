import type { DeliveredEvent } from '../outbox/consumer.js'
import type { Session } from '../sessions/session.js'

/**
 * The state in which a session begins: `current` has missed nothing up to `pos`; clients in the
 * others call `message.sync`.
 */
export type SyncState =
  | { readonly sync: 'current'; readonly pos: string }
  | { readonly sync: 'needed' | 'reset'; readonly pos: null }

/** A listener to the events of apps that have sessions on this node, in their order. */
export interface DeliveryListener {
  begun(appId: string, events: readonly DeliveredEvent[]): void
  /** The listener may lack earlier events: delivery of the app begins, or rows were purged. */
  missed(appId: string): void
}

/** Brings events to the sessions of this node; the gateway calls it in this order for each session. */
export interface SessionDelivery {
  /**
   * Enters a session that the registry has, as skipped: events that concern it are not written to
   * it until {@link begin}. Loads what decides which events concern it.
   * @param pos the pos of the client; null = it has none
   */
  enter(session: Session, pos: string | null): Promise<SyncState>
  /** Returns the number of groups that delivery knows of the user of a session. */
  groupCount(session: Session): number
  /**
   * Writes events to the session from now on, `sync.needed` first when any was skipped. Called once
   * the answer is written.
   */
  begin(session: Session): void
  /**
   * The client has read what was unread: writes `sync.needed` and continues with events. Does
   * nothing for a session that is not behind.
   */
  drained(session: Session): void
  /** The session has ended; allowed at any time after {@link enter} was called. */
  leave(session: Session): void
  /** The frame of a heartbeat, shared by all sessions that have missed nothing: the watermark of the app. */
  heartbeat(session: Session): Buffer
}
