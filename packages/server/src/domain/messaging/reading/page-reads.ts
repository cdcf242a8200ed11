import { AppError } from '@hermod/protocol'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import { Slots } from '../../../lib/concurrency/slots.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { MessageSize } from '../model/message-model.js'

/** Bytes of changes and messages in an answer of sync, as JSON. */
export const maxSyncBytes = 262_144
/** Bytes of a message or change as JSON without its texts, roughly. */
export const messageFrameBytes = 400

/** Reads of small pages that run at once. */
const parallelReads = 64
/** A page with more bytes is large. */
const largePageBytes = 65_536
/** Reads of large pages that run at once. */
const parallelLargeReads = 4

/** The part of the cost of messages that reading their sizes has. */
const sizeShare = 0.5

/**
 * Bounds the reads of messages of all users, in one place for all services. Sizes are read first,
 * so the cost of a read is known.
 */
export class PageReads {
  readonly #reads = new EventLoopBudget({ maxRunning: parallelReads, perTurn: maxSyncBytes })
  readonly #largeReads = new Slots({
    parallel: parallelLargeReads,
    // Each waiting read is one of the bounded calls of its user.
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new AppError('unavailable'),
  })

  /** Reads sizes. On SQLite this takes a part of the time that the messages would take. */
  sizes(read: () => MaybePromise<MessageSize[]>): MaybePromise<MessageSize[]> {
    return this.#reads.run(
      read,
      (sizes) => sizeShare * sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    )
  }

  /** @param bytes what the read takes */
  run<T>(bytes: number, read: () => MaybePromise<T>): MaybePromise<T> {
    const bounded = () => this.#reads.run(read, () => bytes)
    return bytes > largePageBytes ? this.#largeReads.run(async () => bounded()) : bounded()
  }
}

/** The leading messages that fit in a page: at least one of any. */
export function fitting(
  sizes: readonly MessageSize[],
  maxBytes: number,
): { readonly count: number; readonly bytes: number } {
  let bytes = 0
  for (const [count, size] of sizes.entries()) {
    const next = bytes + size.bytes + messageFrameBytes
    if (next > maxBytes && count > 0) return { count, bytes }
    bytes = next
  }
  return { count: sizes.length, bytes }
}
