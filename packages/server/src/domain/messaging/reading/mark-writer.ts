import { AppError, type Int64 } from '@hermod/protocol'
import { notice } from '@hermod/protocol/events'
import type { Database } from '../../../db/database.js'
import { BatchQueue } from '../../../lib/batch-queue.js'
import type { Clock } from '../../../lib/clock.js'
import {
  type Conversation,
  readersOf,
  sidesOf,
  toEventConversation,
} from '../log/conversation-model.js'
import type { ConversationStore, Mark } from './conversation-store.js'
import { type MarkMove, moveMarks } from './move-marks.js'

export interface MarkWriterOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly clock: Clock
  readonly maxBatchMoves: number
  readonly maxQueuedMoves: number
  /** Called after the commit of events of this application. */
  appended(appId: string): void
}

/** The event of each mark that moves. */
export const markEvents = {
  read_seq: 'message.read',
  delivered_seq: 'message.delivered',
} as const satisfies Record<Mark, MarkMove['event']['kind']>

const retryAfterSeconds = 1

/** Moves the marks of conversations between two users for all callers in batches (rules E5, E6). */
export class MarkWriter {
  readonly #queue: BatchQueue<MarkMove, boolean>

  constructor(private readonly options: MarkWriterOptions) {
    this.#queue = new BatchQueue({
      sizeOf: () => 1,
      maxBatchSize: options.maxBatchMoves,
      maxQueuedSize: options.maxQueuedMoves,
      maxBatches: options.database.dialect.concurrentBatches,
      run: (moves) => this.#commit(moves),
      full: () => new AppError('unavailable', 'too many marks are waiting', { retryAfterSeconds }),
      isErrorOfOne: (error) => !(error instanceof AppError),
    })
  }

  /**
   * Moves a mark forward and tells the parties of it; resolves when both are durable. One that is there already costs a read only.
   * @param to.seq null = to the end of the conversation
   * @param to.messageId what is told; without it the last message
   * @returns false when it did not move, or there is no such conversation
   * @throws AppError unavailable when too many marks wait, storage_failed
   */
  async move(
    conversation: Conversation,
    userId: Int64,
    mark: Mark,
    to: { readonly seq: number | null; readonly messageId: Int64 | undefined },
  ): Promise<boolean> {
    const { database, store } = this.options
    const [side] = sidesOf(conversation, userId)
    if (side === undefined) return false
    const place = await database.read((db) => store.findMark(db, conversation, side, mark))
    if (!place || (to.seq ?? place.end) <= place.at) return false
    const { appId } = conversation
    const about = { appId, actorId: userId, userIds: readersOf(conversation) }
    const messageId = to.messageId === undefined ? null : Number(to.messageId)
    const { kind, payload } = notice(markEvents[mark], about, {
      conversation: toEventConversation(conversation),
      msg_id: messageId ?? 0,
    })
    const { lowId, highId } = conversation
    return this.#queue.add({
      conversation: { appId, lowId, highId },
      side,
      mark,
      seq: to.seq,
      event: { kind, payload, messageId } as MarkMove['event'],
    })
  }

  async #commit(moves: readonly MarkMove[]): Promise<readonly boolean[]> {
    const { database, clock, appended } = this.options
    const moved = await database.procedure(moveMarks, { moves, now: clock.now() }, null)
    const told = moves.filter((_, index) => moved[index])
    for (const appId of new Set(told.map(({ conversation }) => conversation.appId))) appended(appId)
    return moved
  }
}
