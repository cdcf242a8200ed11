import type { Int64 } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { withoutTexts, wordyKinds } from './event-texts.js'
import type { PendingErasureStore } from './pending-erasure-store.js'

export interface TextErasureServiceOptions {
  readonly database: Database
  readonly store: PendingErasureStore
  readonly outbox: Outbox
  readonly clock: Clock
  /** Has {@link TextErasureService.run} called soon. */
  wake(): void
}

const usersAtOnce = 500

/** Takes the texts out of what happened between deleted users and others (decision D5), after the deletion has been answered. */
export class TextErasureService {
  constructor(private readonly options: TextErasureServiceOptions) {}

  /** In the transaction of the deletion; {@link wake} once it is committed. */
  async order(tx: Tx, appId: string, userId: Int64): Promise<void> {
    const { store, clock } = this.options
    await store.insert(tx, appId, userId, clock.now())
  }

  wake(): void {
    this.options.wake()
  }

  /** Does what was ordered; what a stop interrupts is done over by the next run. */
  async run(signal: AbortSignal): Promise<void> {
    const { database, store, outbox } = this.options
    for (;;) {
      const pending = await database.read((db) => store.findSome(db, usersAtOnce))
      if (!pending) return
      const userIds = new Set(pending.userIds)
      const erase = (event: Event) => withoutTexts(event, userIds)
      await outbox.rewrite(pending.appId, wordyKinds, erase, signal)
      if (signal.aborted) return
      await database.transaction((tx) => store.delete(tx, pending))
    }
  }
}
