import { AppError } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { type BatchObserver, BatchQueue } from '../../../lib/concurrency/batch-queue.js'
import { type Append, appendChunks } from './append-chunks.js'
import type { Appended, AppendLimits } from './stream-model.js'

export interface ChunkWriterOptions {
  readonly database: Database
  readonly clock: Clock
  readonly limits: AppendLimits
  readonly maxBatchChunks: number
  readonly maxQueuedChunks: number
  readonly observer: BatchObserver
}

/** Stores the chunks of all callers in batches (rule E19). An append resolves when it is durable. */
export class ChunkWriter {
  readonly #queue: BatchQueue<Append, Appended | null>

  constructor(private readonly options: ChunkWriterOptions) {
    const { database, clock, limits, maxBatchChunks, maxQueuedChunks, observer } = options
    this.#queue = new BatchQueue<Append, Appended | null>({
      sizeOf: () => 1,
      maxBatchSize: maxBatchChunks,
      maxQueuedSize: maxQueuedChunks,
      // Batches of a stream follow each other, so that its chunks are stored in their order.
      maxBatches: 1,
      run: (appends) =>
        database.procedure(appendChunks, { appends, now: clock.now(), limits }, null) as Promise<
          (Appended | Error)[]
        >,
      full: () => new AppError('unavailable', 'too many appends are waiting'),
      isErrorOfOne: (error) => !(error instanceof AppError),
      observer,
    })
  }

  /**
   * Stores a chunk.
   * @returns the outcome; null when there is no such stream of the sender
   * @throws AppError unavailable when too many chunks wait, storage_failed
   */
  append(append: Append): Promise<Appended | null> {
    return this.#queue.add(append)
  }

  get limits(): AppendLimits {
    return this.options.limits
  }

  get queuedChunks(): number {
    return this.#queue.queuedSize
  }

  /** Resolves when all appended chunks are durable. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }
}
