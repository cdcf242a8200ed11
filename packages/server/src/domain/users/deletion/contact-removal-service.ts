import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { UserKey } from '../user-model.js'

interface ContactRemovalServiceOptions {
  readonly database: Database
  /** Lists users with a contact, a block or a contact request between them and a user. */
  readonly contacts: { listRelated(tx: Tx, user: UserKey): Promise<readonly Int64[]> }
  readonly outbox: Outbox
  readonly jobs: JobQueue
}

interface RelatedUsers {
  readonly userId: Int64
  readonly relatedIds: readonly Int64[]
}

const contactRemoval = jobKind<RelatedUsers>('contact_removal')
/** Users of one event, so that the head of the outbox is locked for a short time. */
const usersPerEvent = 500

/**
 * Announces a deletion to users who had a relation to the deleted user (rule D5), after the
 * deletion was answered.
 */
export class ContactRemovalService {
  constructor(private readonly options: ContactRemovalServiceOptions) {}

  /** Orders the events in the transaction of the deletion, before the contacts are erased. */
  async order(tx: Tx, user: UserKey): Promise<void> {
    const { contacts, jobs } = this.options
    const { appId, userId } = user
    const related = await contacts.listRelated(tx, user)
    for (const relatedIds of chunksOf(related, usersPerEvent))
      await jobs.enqueue(tx, contactRemoval, { appId, payload: { userId, relatedIds } })
  }

  /** Appends the event of one step. */
  async announce(appId: string, { userId, relatedIds }: RelatedUsers): Promise<void> {
    const { database, outbox } = this.options
    const about = { appId, actorId: userId, userIds: relatedIds }
    await database.transaction(async (tx) => {
      outbox.append(tx, actorEvent('contact.user_removed', about))
    })
  }
}

/** Returns the handler of the jobs that announce removed contacts of deleted users. */
export function contactRemovalHandler(removals: ContactRemovalService): JobHandler {
  return jobHandler(contactRemoval, async ({ appId, payloads }) => {
    for (const removal of payloads) await removals.announce(appId, removal)
  })
}
