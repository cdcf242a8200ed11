import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { RetryProcedure } from '../../../db/procedure.js'
import type { Clock } from '../../../lib/clock.js'
import { type BatchObserver, BatchQueue } from '../../../lib/concurrency/batch-queue.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import { textBytes } from '../../../lib/message-texts.js'
import type { HandOver } from '../../../outbox/hand-over.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { ItemOutcome } from '../../item-outcome.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import { type MessageDraft, messageRow } from '../model/message-model.js'
import type { BatchOfSends, BatchRetry, StoredBatch } from './batch-model.js'
import { newEvents } from './new-events.js'
import { storeBatch } from './store-batch.js'

export interface MessageWriterOptions {
  readonly database: Database
  readonly ids: IdGenerator
  readonly clock: Clock
  /** The time for which a transaction ID is remembered. */
  readonly transactionLifeMs: number
  readonly maxBatchMessages: number
  readonly maxQueuedMessages: number
  /** Bounds the texts of messages that are not stored yet. A send takes at most half of the free space. */
  readonly maxQueuedBytes: number
  readonly observer: BatchObserver
  readonly outbox: Pick<Outbox, 'lastBroadcastId'>
  readonly broadcastSenders: Pick<BroadcastSenders, 'recordBroadcast'>
  /** Takes new messages right after their commit. */
  readonly handOver: HandOver
  /** Reports a receiver that failed; it reads the messages from the outbox. */
  handOverFailed(error: unknown): void
  /**
   * Called after the commit of messages, once they are handed over.
   * @param position of their last row in the outbox of the app
   * @param time of the row
   */
  appended(appId: string, position: number, time: number): void
}

/** The messages of one send; they are stored together or not at all. */
export interface QueuedSend {
  /** null = repeats of the send are not recognized. */
  readonly transactionId: Int64 | null
  readonly drafts: readonly MessageDraft[]
  /**
   * For messages to groups, the members of each draft with a requested read receipt, as in
   * receipt_requests; '' = none.
   */
  readonly groups?: readonly string[] | undefined
}

type MessageIds = readonly number[]

/** Batches without a first try after a repeated send, because more repeats are likely. */
const batchesAfterRepeat = 64
/** Bounds the copy of a batch that crosses between threads. */
const maxBatchBytes = 8 * 1_048_576

/** Stores the sends of all callers in batches (rules E2 to E4). A send resolves when it is durable. */
export class MessageWriter {
  readonly #queue: BatchQueue<QueuedSend, MessageIds>
  /** Batches until the next first try. */
  #batchesUntilFirstTry = 0
  #writes = 0

  constructor(private readonly options: MessageWriterOptions) {
    this.#queue = new BatchQueue<QueuedSend, MessageIds>({
      sizeOf: ({ drafts }) => drafts.length,
      maxBatchSize: options.maxBatchMessages,
      maxQueuedSize: options.maxQueuedMessages,
      bytes: {
        of: ({ drafts }) => drafts.reduce((sum, draft) => sum + textBytes(draft), 0),
        maxBatch: maxBatchBytes,
        maxHeld: options.maxQueuedBytes,
      },
      maxBatches: options.database.dialect.concurrentBatches,
      run: (sends) => this.#commit(sends),
      full: () => new AppError('unavailable', 'too many messages are waiting'),
      isErrorOfOne: (error) => !(error instanceof AppError),
      observer: options.observer,
    })
  }

  /**
   * Stores the messages, except those with a deleted sender or receiver.
   * @returns the message IDs in the order of the drafts, or those of the first send with the same
   * transaction ID
   * @throws AppError user_deleted when no draft is left, unavailable when too many messages wait,
   * storage_failed
   */
  write(send: QueuedSend): Promise<MessageIds> {
    this.#writes++
    return this.#queue.add(send)
  }

  /** The number of calls of {@link write}. */
  get writes(): number {
    return this.#writes
  }

  get queuedMessages(): number {
    return this.#queue.queuedSize
  }

  /** The size of texts that are not stored yet, in UTF-16 units. */
  get queuedBytes(): number {
    return this.#queue.heldBytes
  }

  /** Resolves when all written messages are durable. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  async #commit(sends: readonly QueuedSend[]): Promise<readonly ItemOutcome<MessageIds>[]> {
    try {
      return await this.#store(sends)
    } catch (error) {
      const { refused } = retryOf(error)
      if (refused) return this.#commitWithout(sends, refused)
      throw error
    }
  }

  /** Stores a batch without the refused messages, and rejects sends without any other. */
  async #commitWithout(
    sends: readonly QueuedSend[],
    refused: readonly (readonly number[])[],
  ): Promise<readonly ItemOutcome<MessageIds>[]> {
    const rest = sends.map((each, index) => withoutPlaces(each, refused[index] ?? []))
    const left = rest.filter(({ drafts }) => drafts.length > 0)
    const stored = (left.length > 0 ? await this.#commit(left) : []).values()
    return rest.map(({ drafts }) =>
      drafts.length > 0
        ? (stored.next().value as ItemOutcome<MessageIds>)
        : new AppError('user_deleted'),
    )
  }

  /** @param after the message IDs must be greater than this one */
  async #store(sends: readonly QueuedSend[], after = 0): Promise<readonly MessageIds[]> {
    const { database, ids, clock, transactionLifeMs, broadcastSenders, handOver, appended } =
      this.options
    const taken = (await ids.take(countMessages(sends), after)).values()
    const now = clock.now()
    const submissions = sends.map(({ transactionId, drafts, groups }) => ({
      transactionId,
      groups,
      rows: drafts.map((draft) =>
        messageRow(draft, taken.next().value as number, { now, transactionId }),
      ),
    }))
    const wantsNumbers = [...appsOf(sends)].some((appId) => handOver.wants(appId))
    const isFirstTry = this.#batchesUntilFirstTry === 0
    if (!isFirstTry) this.#batchesUntilFirstTry--
    try {
      const batch = { submissions, now, transactionLifeMs, isFirstTry, wantsNumbers }
      const stored = await database.procedure(storeBatch, batch, ids)
      if (wantsNumbers) this.#handOver(batch, stored)
      for (const { app_id: appId, position, last_broadcast_id: broadcastId } of stored.heads) {
        if (broadcastId > 0) broadcastSenders.recordBroadcast(appId, broadcastId)
        appended(appId, position, now)
      }
      return stored.messageIds
    } catch (error) {
      if (retryOf(error).hasRepeats) {
        this.#batchesUntilFirstTry = batchesAfterRepeat
        return this.#store(sends, after)
      }
      const idsAfter = await this.#idsAfter(error, sends)
      if (idsAfter <= after) throw error
      return this.#store(sends, idsAfter)
    }
  }

  /** The messages are durable, so a failed receiver fails no send. */
  #handOver(batch: BatchOfSends, stored: StoredBatch): void {
    const { handOver, handOverFailed } = this.options
    try {
      for (const { appId, position, events } of newEvents(batch, stored))
        if (handOver.wants(appId)) handOver.handOver(appId, position, events)
    } catch (error) {
      handOverFailed(error)
    }
  }

  /** @returns the ID above which the batch may succeed; 0 = it failed for another reason */
  async #idsAfter(error: unknown, sends: readonly QueuedSend[]): Promise<number> {
    const { database, outbox } = this.options
    if (!database.dialect.isRefused(error)) return retryOf(error).idsAfter ?? 0
    return outbox.lastBroadcastId([...appsOf(sends)])
  }
}

function appsOf(sends: readonly QueuedSend[]): Set<string> {
  return new Set(sends.flatMap(({ drafts }) => drafts[0]?.conversation.appId ?? []))
}

/** The changes with which a failed batch can be retried; none when it failed for another reason. */
function retryOf(error: unknown): BatchRetry {
  return error instanceof RetryProcedure ? (error.detail as BatchRetry) : {}
}

function withoutPlaces(
  { drafts, groups, ...rest }: QueuedSend,
  places: readonly number[],
): QueuedSend {
  const isLeft = (_: unknown, place: number) => !places.includes(place)
  return { ...rest, drafts: drafts.filter(isLeft), groups: groups?.filter(isLeft) }
}

function countMessages(sends: readonly QueuedSend[]): number {
  return sends.reduce((sum, { drafts }) => sum + drafts.length, 0)
}
