import type { Int64 } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { UserKey } from '../user-model.js'
import { withoutTexts, wordyKinds } from './event-texts.js'

export interface TextErasureServiceOptions {
  readonly outbox: Outbox
  readonly jobs: JobQueue
}

/** Done by {@link TextErasureService.erase}. */
export const textErasure = jobKind<{ readonly userId: Int64 }>('text_erasure')

/** Takes the texts out of what happened between deleted users and others (rule D5), after the deletion has been answered. */
export class TextErasureService {
  constructor(private readonly options: TextErasureServiceOptions) {}

  /** In the transaction of the deletion. */
  async order(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await this.options.jobs.enqueue(tx, textErasure, { appId, payload: { userId } })
  }

  /** For any number of users at the cost of one. What a stop interrupts can be done over. @throws when the signal is aborted */
  async erase(appId: string, users: readonly Int64[], signal: AbortSignal): Promise<void> {
    const userIds = new Set(users)
    const erase = (event: Event) => withoutTexts(event, userIds)
    await this.options.outbox.rewrite(appId, wordyKinds, erase, signal)
    signal.throwIfAborted()
  }
}
