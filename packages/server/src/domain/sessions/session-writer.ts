import { AppError } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import { type BatchObserver, BatchQueue } from '../../lib/concurrency/batch-queue.js'
import { Slots } from '../../lib/concurrency/slots.js'
import { keyText } from '../../lib/ids/key-text.js'
import { roundsOf } from '../../lib/rounds.js'
import type { DisplacedSession, SessionKey, SessionNode, SessionOpening } from './session-model.js'
import type { SessionStore } from './session-store.js'

interface SessionWriterOptions {
  readonly database: Database
  readonly store: Pick<SessionStore, 'close' | 'open'>
  readonly node: SessionNode
  readonly sessionsPerUser: number
  /** An opening that has not begun within this time is given up; default 2,000. */
  readonly waitMs?: number
  /** Sessions of other nodes were replaced. */
  displaced(sessions: readonly DisplacedSession[]): void
  /** Rows were written under a lease that is over by now. */
  leaseChanged(): void
  /** Closings could not be written. */
  failed(): void
  readonly observer: BatchObserver & {
    /** An opening was given up before it was written. */
    dropped(): void
  }
}

/** A session that waits for its row. */
interface WaitingOpening extends SessionOpening {
  /** True when the client has left, so that no row is needed. */
  isGone(): boolean
  isBegun: boolean
  isDropped: boolean
}

const maxBatchSize = 500
const batchesAtOnce = 2
const maxQueued = 20_000
/** Sessions that wait for their user at once: each one holds a connection to the database. */
const waitingAtOnce = 4
const defaultWaitMs = 2_000

/** Writes the sessions that open and close on this node, in batches. */
export class SessionWriter {
  readonly #openings: BatchQueue<WaitingOpening, number | null>
  readonly #closings: BatchQueue<SessionKey, void>
  readonly #alone = new Slots({
    parallel: waitingAtOnce,
    maxWaiting: maxQueued,
    full: tooMany,
  })

  constructor(private readonly options: SessionWriterOptions) {
    const common = {
      sizeOf: () => 1,
      maxBatchSize,
      maxBatches: batchesAtOnce,
      full: tooMany,
      isErrorOfOne: () => false,
    }
    this.#openings = new BatchQueue({
      ...common,
      maxQueuedSize: maxQueued,
      run: (items) => this.#open(items),
      observer: options.observer,
    })
    this.#closings = new BatchQueue({
      ...common,
      maxQueuedSize: Number.POSITIVE_INFINITY,
      run: (items) => this.#close(items),
      observer: { refused() {}, finished() {} },
    })
  }

  /** Sessions that wait for their row or are being written. */
  get queued(): number {
    return this.#openings.queuedSize
  }

  /**
   * Writes the row of a session and resolves when it is committed.
   * @returns the ID of the session
   * @throws AppError session_limit_reached; storage_failed when the database failed or was too slow
   */
  open(opening: SessionOpening, isGone: () => boolean): Promise<number> {
    const item: WaitingOpening = { ...opening, isGone, isBegun: false, isDropped: false }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (item.isBegun) return
        this.#drop(item)
        reject(tooMany())
      }, this.options.waitMs ?? defaultWaitMs)
      void this.#openings
        .add(item)
        .then((id) => id ?? this.#alone.run(() => this.#openAlone(item)))
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  }

  /** Writes that a session has closed. A failure is reported to `failed`. */
  close(session: SessionKey): void {
    this.#closings.add(session).catch(() => {})
  }

  /** Resolves when everything is written or has failed. */
  async idle(): Promise<void> {
    await Promise.all([this.#openings.idle(), this.#closings.idle()])
  }

  #drop(item: WaitingOpening): void {
    if (item.isDropped) return
    item.isDropped = true
    this.options.observer.dropped()
  }

  /** @returns null for a session whose user another transaction has locked */
  async #open(items: readonly WaitingOpening[]): Promise<(number | Error | null)[]> {
    const ids = new Map<WaitingOpening, number | Error | null>()
    for (const item of items) {
      if (item.isGone()) this.#drop(item)
      item.isBegun = !item.isDropped
    }
    const begun = items.filter(({ isBegun }) => isBegun)
    // One statement writes one session of a user, so that it counts them right.
    for (const round of roundsOf(begun, ({ appId, userId }) => keyText(appId, userId))) {
      const outcomes = await this.#openRound(round, { skipLocked: true })
      for (const [index, item] of round.entries()) ids.set(item, outcomes[index] ?? null)
    }
    const outcomes = items.map((item) => {
      const id = ids.get(item)
      return id === undefined ? tooMany() : id
    })
    // A batch of which nothing is stored counts as failed.
    if (ids.size > 0 && [...ids.values()].every(isDatabaseFailure)) throw outcomes[0]
    return outcomes
  }

  /** Waits for the transaction that has locked the user, beside the batches. */
  async #openAlone(item: WaitingOpening): Promise<number> {
    const [outcome] = await this.#openRound([item], { skipLocked: false })
    if (typeof outcome === 'number') return outcome
    throw outcome ?? tooMany()
  }

  /**
   * Rounds are transactions of their own, so the failure of one leaves the others alone.
   * @returns null for a session whose user was left out
   */
  async #openRound(
    items: readonly WaitingOpening[],
    { skipLocked }: { readonly skipLocked: boolean },
  ): Promise<(number | Error | null)[]> {
    const { database, store, sessionsPerUser } = this.options
    const node = { id: this.options.node.id, lease: this.options.node.lease }
    try {
      const { ids, displaced } = await database.transaction((tx) =>
        store.open(tx, node, items, { sessionsPerUser, skipLocked }),
      )
      // Others close the rows of a lease that is over.
      if (this.options.node.lease !== node.lease) this.options.leaseChanged()
      if (displaced.length > 0) this.options.displaced(displaced)
      const full = () => new AppError('session_limit_reached', `at most ${sessionsPerUser}`)
      return ids.map((id) => (id === 'limit' ? full() : id === 'locked' ? null : id))
    } catch (error) {
      return items.map(() => error as Error)
    }
  }

  async #close(sessions: readonly SessionKey[]): Promise<undefined[]> {
    const { database, store, node, failed } = this.options
    try {
      await database.transaction((tx) => store.close(tx, node, sessions))
    } catch (error) {
      failed()
      throw error
    }
    return sessions.map(() => undefined)
  }
}

function isDatabaseFailure(outcome: unknown): boolean {
  return outcome instanceof Error && (outcome as AppError).errorName !== 'session_limit_reached'
}

function tooMany(): AppError {
  return new AppError('storage_failed', 'the session was not stored in time', {
    retryAfterSeconds: 2,
  })
}
