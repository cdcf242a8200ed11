import type { Int64 } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { UserKey } from '../user-model.js'
import { erased, erasedTextKinds, personalTextKinds, redacted } from './event-texts.js'

interface TextErasureServiceOptions {
  readonly outbox: Outbox
  /** Copies of events outside of the outbox. */
  readonly copies: Pick<Outbox, 'rewrite'>
  readonly jobs: JobQueue
}

/** Handled by {@link TextErasureService.erase}. */
export const textErasure = jobKind<{ readonly userId: Int64 }>('text_erasure')

/**
 * Removes personal texts between deleted users and others from past events (rule D5), and the
 * changes of deleted users, after the deletion was answered.
 */
export class TextErasureService {
  constructor(private readonly options: TextErasureServiceOptions) {}

  /** Orders the removal in the transaction of the deletion. */
  async order(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await this.options.jobs.enqueue(tx, textErasure, { appId, payload: { userId } })
  }

  /**
   * Erases the texts of any number of users at the cost of one. Can be repeated after an
   * interruption.
   * @throws when the signal is aborted
   */
  async erase(appId: string, users: readonly Int64[], signal: AbortSignal): Promise<void> {
    const userIds = new Set(users)
    const erase = (event: Event) => redacted(event, userIds)
    const { outbox, copies } = this.options
    // The outbox first: copies are made from it.
    for (const events of [outbox, copies]) {
      await events.rewrite(appId, personalTextKinds, erase, signal)
      signal.throwIfAborted()
    }
    for (const userId of userIds) await outbox.eraseUser({ appId, userId }, signal)
    signal.throwIfAborted()
  }

  /**
   * Erases all texts of a deleted user, also those to groups (docs/decisions/080).
   * @throws when the signal is aborted
   */
  async eraseAll({ appId, userId }: UserKey, signal: AbortSignal): Promise<void> {
    const { outbox } = this.options
    await this.#visit(appId, signal, (event) => erased(event, new Set([userId])))
    await outbox.eraseUser({ appId, userId }, signal)
    signal.throwIfAborted()
  }

  /** Counts the events that {@link eraseAll} would change. */
  async countTexts({ appId, userId }: UserKey, signal: AbortSignal): Promise<number> {
    let count = 0
    await this.#visit(appId, signal, (event) => {
      if (erased(event, new Set([userId])) !== null) count++
      return null
    })
    return count
  }

  async #visit(
    appId: string,
    signal: AbortSignal,
    change: (event: Event) => ReturnType<typeof erased>,
  ): Promise<void> {
    const { outbox, copies } = this.options
    for (const events of [outbox, copies]) {
      await events.rewrite(appId, erasedTextKinds, change, signal)
      signal.throwIfAborted()
    }
  }
}
