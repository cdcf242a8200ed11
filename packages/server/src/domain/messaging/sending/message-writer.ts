import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { ProcedureRestart } from '../../../db/procedure.js'
import type { Clock } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids.js'
import { type Draft, messageRow } from '../log/message-model.js'
import { type BatchRestart, storeBatch } from './store-batch.js'

export interface MessageWriterOptions {
  readonly database: Database
  readonly ids: IdGenerator
  readonly clock: Clock
  /** How long a transaction ID is remembered. */
  readonly transactionLifeMs: number
  readonly maxBatchMessages: number
  readonly maxQueuedMessages: number
  readonly observer: BatchObserver
  /** Called after the commit of messages of this application. */
  appended(appId: string): void
}

export interface BatchObserver {
  /** A batch is durable, or failed. */
  committed(batch: {
    readonly messages: number
    readonly seconds: number
    readonly failed: boolean
  }): void
}

/** The messages of one send; they are stored together or not at all. */
export interface Delivery {
  /** null = the send is not to be recognised again. */
  readonly transactionId: Int64 | null
  readonly drafts: readonly Draft[]
  /** Of messages to groups: for each draft who is asked for a read receipt, as in receipt_requests; '' = nobody. */
  readonly groups?: readonly string[] | undefined
}

interface Pending {
  delivery: Delivery
  resolve(messageIds: readonly number[]): void
  reject(error: unknown): void
}

const retryAfterSeconds = 1
/**
 * From so many waiting messages on a batch starts at once, and takes no more unless very many wait: the rest of this turn's calls is
 * read while it is being written, and then written while its answers are.
 */
const fullBatchMessages = 24

/**
 * Group commit: drafts of all callers that arrive while a commit is under way make the next batch, so that one wait for the disk
 * serves them all (rules E2 to E4). A send resolves when it is durable. A batch that fails with a fault of a single message is
 * tried again message by message, so that nobody pays for somebody else's fault.
 */
export class MessageWriter {
  readonly #queue: Pending[] = []
  #queuedMessages = 0
  #runningBatches = 0
  #isScheduled = false
  #whenIdle: (() => void)[] = []

  constructor(private readonly options: MessageWriterOptions) {}

  /**
   * Drafts whose sender or receiver was deleted meanwhile are left out.
   * @returns the message IDs in the order of the drafts, or those of the first send with the same transaction ID
   * @throws AppError user_deleted when no draft is left, unavailable when too many messages wait, storage_failed
   */
  write(delivery: Delivery): Promise<readonly number[]> {
    return new Promise((resolve, reject) => {
      if (this.#queuedMessages + delivery.drafts.length > this.options.maxQueuedMessages)
        throw new AppError('unavailable', 'too many messages are waiting', { retryAfterSeconds })
      this.#queue.push({ delivery, resolve, reject })
      this.#queuedMessages += delivery.drafts.length
      if (this.#queuedMessages >= fullBatchMessages && this.#mayStart()) this.#start()
      else this.#schedule()
    })
  }

  get queuedMessages(): number {
    return this.#queuedMessages
  }

  /** Resolves when everything that was written is durable. */
  async idle(): Promise<void> {
    if (this.#queue.length === 0 && this.#runningBatches === 0) return
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayStart()) return
    this.#isScheduled = true
    // After the I/O of this turn, so that calls which arrived together are committed together.
    setImmediate(() => {
      this.#isScheduled = false
      this.#start()
    })
  }

  #mayStart(): boolean {
    return this.#runningBatches < this.options.database.dialect.concurrentBatches
  }

  #start(): void {
    const batch = this.#takeBatch()
    if (batch.length === 0) return
    this.#runningBatches++
    void this.#commit(batch).finally(() => {
      this.#runningBatches--
      if (this.#queue.length > 0) this.#schedule()
      else if (this.#runningBatches === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
    })
    if (this.#queue.length > 0) this.#schedule()
  }

  #takeBatch(): Pending[] {
    const limit = Math.min(
      this.options.maxBatchMessages,
      Math.max(fullBatchMessages, this.#queuedMessages / 2),
    )
    let messages = 0
    let count = 0
    for (const pending of this.#queue) {
      if (count > 0 && messages + pending.delivery.drafts.length > limit) break
      messages += pending.delivery.drafts.length
      count++
    }
    this.#queuedMessages -= messages
    return this.#queue.splice(0, count)
  }

  async #commit(batch: readonly Pending[]): Promise<void> {
    if (batch.length === 0) return
    const startedAt = performance.now()
    const messages = messagesOf(batch)
    try {
      const results = await this.#store(batch)
      this.#observe(messages, startedAt, false)
      for (const appId of appsOf(batch)) this.options.appended(appId)
      for (const [index, pending] of batch.entries()) pending.resolve(results[index] ?? [])
    } catch (error) {
      const { refused } = restartOf(error)
      if (refused) return this.#commit(withoutRefused(batch, refused))
      this.#observe(messages, startedAt, true)
      const isOneMessagesFault = batch.length > 1 && !(error instanceof AppError)
      if (isOneMessagesFault) for (const pending of batch) await this.#commit([pending])
      else for (const pending of batch) pending.reject(error)
    }
  }

  #observe(messages: number, startedAt: number, failed: boolean): void {
    this.options.observer.committed({
      messages,
      seconds: (performance.now() - startedAt) / 1000,
      failed,
    })
  }

  /** @param after the messages take IDs above this one */
  async #store(batch: readonly Pending[], after = 0): Promise<readonly (readonly number[])[]> {
    const { database, ids, clock, transactionLifeMs } = this.options
    const messageIds = (await ids.take(messagesOf(batch), after)).values()
    const submissions = batch.map(({ delivery: { transactionId, drafts, groups } }) => ({
      transactionId,
      groups,
      rows: drafts.map((draft) => messageRow(draft, messageIds.next().value as number)),
    }))
    try {
      return await database.procedure(
        storeBatch,
        { submissions, now: clock.now(), transactionLifeMs },
        ids,
      )
    } catch (error) {
      const { idsAfter } = restartOf(error)
      if (idsAfter === undefined || idsAfter <= after) throw error
      return this.#store(batch, idsAfter)
    }
  }
}

function appsOf(batch: readonly Pending[]): Set<string> {
  return new Set(batch.flatMap(({ delivery: { drafts } }) => drafts[0]?.conversation.appId ?? []))
}

/** What a batch that failed must be given to be run again; nothing when it failed for another reason. */
function restartOf(error: unknown): BatchRestart {
  return error instanceof ProcedureRestart ? (error.detail as BatchRestart) : {}
}

/** Turns away the sends of which nothing is left. */
function withoutRefused(
  batch: readonly Pending[],
  refused: readonly (readonly number[])[],
): readonly Pending[] {
  return batch.filter((pending, index) => {
    const isLeft = (_: unknown, place: number) => !refused[index]?.includes(place)
    const { delivery } = pending
    const drafts = delivery.drafts.filter(isLeft)
    pending.delivery = { ...delivery, drafts, groups: delivery.groups?.filter(isLeft) }
    if (drafts.length === 0) pending.reject(new AppError('user_deleted'))
    return drafts.length > 0
  })
}

function messagesOf(batch: readonly Pending[]): number {
  return batch.reduce((sum, pending) => sum + pending.delivery.drafts.length, 0)
}
