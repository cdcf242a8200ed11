import type { DeliveredEvent } from './consumer.js'

/**
 * A receiver of events in memory, right after their commit on this node. It reads from the outbox
 * what is not handed over.
 */
export interface HandOver {
  /**
   * Tests whether anything on this node receives events of the app. Events of other apps need not
   * be made.
   */
  wants(appId: string): boolean
  /**
   * Takes the events of one row of the outbox. Batches commit side by side on PostgreSQL, so
   * positions may arrive out of order, and rows that are not handed over lie between them.
   */
  handOver(appId: string, position: number, events: readonly DeliveredEvent[]): void
}
