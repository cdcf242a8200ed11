import type { Failure } from '../../errors.js'
import type { UnsentRecord } from '../../model/records.js'
import type { CoreContext } from '../core-context.js'
import { waitMsOf } from '../outcomes.js'

/** The unsent messages of one conversation. */
export interface SendQueue {
  readonly key: string
  /** Transaction IDs of its entries, in the order of sending; those that cannot be sent now are skipped. */
  readonly ids: Set<number>
  /** The transaction ID that is being sent or searched; 0: none. */
  current: number
  isPaused: boolean
  /** Failures since the last outcome. */
  failures: number
}

/** Functions of Unsent that the queues call. */
export interface SendQueuesOptions {
  /** Returns an entry that can be sent now. */
  readonly sendable: (transactionId: number) => UnsentRecord | undefined
  /** Begins the turn of an entry, which `release` ends. */
  readonly begin: (queue: SendQueue, entry: UnsentRecord) => void
}

/** Queues with a turn at once; other calls of the connection go between. */
const maxBusy = 6

/**
 * A queue for each conversation: its messages are sent in order, one at a time, and the queues take
 * turns.
 */
export class SendQueues {
  readonly #context: CoreContext
  readonly #options: SendQueuesOptions
  /** In the order of their turns. */
  readonly #queues = new Map<string, SendQueue>()
  #busy = 0

  constructor(context: CoreContext, options: SendQueuesOptions) {
    this.#context = context
    this.#options = options
  }

  /** Puts an entry at the end of its queue. */
  add(entry: UnsentRecord): void {
    const { ids } = this.#queueOf(entry)
    ids.delete(entry.transactionId)
    ids.add(entry.transactionId)
  }

  /** Takes an entry out, and ends its turn. */
  remove(entry: UnsentRecord): void {
    const queue = this.#queueOf(entry)
    queue.ids.delete(entry.transactionId)
    if (queue.ids.size === 0) this.#queues.delete(queue.key)
    this.release(queue, entry.transactionId)
  }

  /** Tests for an entry that is being sent or searched. */
  hasTurn(entry: UnsentRecord): boolean {
    return this.#queueOf(entry).current === entry.transactionId
  }

  /** Begins turns while there are entries and places. */
  drain(): void {
    for (const queue of this.#queues.values()) {
      if (!this.#context.isOpen || this.#busy >= maxBusy) return
      const entry = this.#next(queue)
      if (!entry) continue
      // Its next turn is behind the other queues.
      this.#queues.delete(queue.key)
      this.#queues.set(queue.key, queue)
      queue.current = entry.transactionId
      this.#busy++
      this.#options.begin(queue, entry)
    }
  }

  /** Keeps a queue from its next turn for the time after a failure. */
  pause(queue: SendQueue, failure: Failure | undefined): void {
    queue.isPaused = true
    const ms = waitMsOf(this.#context, failure, queue.failures++)
    this.#context.after(`unsent ${queue.key}`, ms, () => {
      queue.isPaused = false
      this.drain()
    })
  }

  /** Ends the turn of an entry. */
  release(queue: SendQueue, transactionId: number): void {
    if (queue.current !== transactionId) return
    queue.current = 0
    if (!queue.isPaused) queue.failures = 0
    this.#busy--
    this.drain()
  }

  #next({ current, isPaused, ids }: SendQueue): UnsentRecord | undefined {
    if (current !== 0 || isPaused) return undefined
    for (const id of ids) {
      const entry = this.#options.sendable(id)
      if (entry) return entry
    }
    return undefined
  }

  #queueOf({ conversationId, isGroup }: UnsentRecord): SendQueue {
    const key = `${isGroup ? 'g' : 'd'}${conversationId}`
    const known = this.#queues.get(key)
    if (known) return known
    const queue = { key, ids: new Set<number>(), current: 0, isPaused: false, failures: 0 }
    this.#queues.set(key, queue)
    return queue
  }
}
