import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReactionStore } from '../log/reaction-store.js'
import type { ReactionWriter } from './reaction-writer.js'

const reactionRemoval = jobKind<{ readonly userId: Int64 }>('reaction_removal')
/** Messages of one read. */
const messagesPerPage = 100

/** Orders the removal of the reactions of a deleted user, in the transaction of the deletion. */
export async function orderReactionRemoval(
  jobs: Pick<JobQueue, 'enqueue'>,
  tx: Tx,
  { appId, userId }: UserKey,
): Promise<void> {
  await jobs.enqueue(tx, reactionRemoval, { appId, payload: { userId } })
}

interface ReactionRemovalOptions {
  readonly database: Database
  readonly store: ReactionStore
  readonly writer: Pick<ReactionWriter, 'removeAll'>
  readonly finder: Pick<ConversationFinder, 'kindOf'>
}

/** Removes the reactions of deleted users. */
export class ReactionRemoval {
  constructor(private readonly options: ReactionRemovalOptions) {}

  /**
   * Removes the reactions of a user, those to each message in a transaction of their own, with its
   * number and events.
   * @throws when the signal is aborted
   */
  async remove(user: UserKey, signal: AbortSignal): Promise<void> {
    const { database, store, writer, finder } = this.options
    const { appId, userId } = user
    for (;;) {
      const page = await database.read((db) => store.listMessages(db, user, messagesPerPage))
      for (const { lowId, highId, messageId } of page) {
        signal.throwIfAborted()
        const isGroup =
          lowId === highId &&
          (await database.read((db) => finder.kindOf(db, appId, lowId))) === 'group'
        const conversation = { appId, lowId, highId, isGroup }
        await database.transaction((tx) => writer.removeAll(tx, conversation, messageId, userId))
      }
      if (page.length < messagesPerPage) return
    }
  }
}

/** Returns the handler of the jobs that remove the reactions of deleted users. */
export function reactionRemovalHandler(removal: ReactionRemoval): JobHandler {
  return jobHandler(reactionRemoval, async ({ appId, payloads, signal }) => {
    for (const { userId } of payloads) await removal.remove({ appId, userId }, signal)
  })
}
