import type { StallObserver } from './dialect/postgres/watch.js'

/** Reports of a failing database. */
export interface HealthObserver {
  /** @param cause the engine's error */
  failed(kind: 'read' | 'write', cause: unknown): void
  /** The first commit after failures. @param ms since the first of them */
  worksAgain(ms: number): void
  /** PostgreSQL answers on no connection. */
  stalled(): void
}

/** For metrics, since the start. */
export interface HealthFigures {
  readonly failedReads: number
  readonly failedWrites: number
  /** Statements given up with their connections because no answer came. */
  readonly statementsGivenUp: number
  /** Transactions that run or wait now. */
  readonly writesInProgress: number
  /** The latest conclusive use of the database failed. */
  readonly isFailing: boolean
}

/** The outcomes of the latest uses of the database. Times are of `performance.now()`. */
export class DatabaseHealth implements StallObserver {
  readonly #observer: Partial<HealthObserver>
  readonly #failed = { read: 0, write: 0 }
  #statementsGivenUp = 0
  #writesInProgress = 0
  #wroteAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #failingSince: number | null = null

  constructor(observer: Partial<HealthObserver> = {}) {
    this.#observer = observer
  }

  get figures(): HealthFigures {
    return {
      failedReads: this.#failed.read,
      failedWrites: this.#failed.write,
      statementsGivenUp: this.#statementsGivenUp,
      writesInProgress: this.#writesInProgress,
      isFailing: this.#failingSince !== null,
    }
  }

  /**
   * The outcome of the commits within the last `ms`; one failure outweighs all successes.
   * @returns null when there were none
   */
  writesWithin(ms: number): 'fail' | 'succeed' | null {
    const since = performance.now() - ms
    if (this.#failedAt > since) return 'fail'
    return this.#wroteAt > since ? 'succeed' : null
  }

  /** @param transaction resolves when it is committed */
  async write<T>(transaction: () => Promise<T>): Promise<T> {
    this.#writesInProgress++
    try {
      const result = await transaction()
      this.#wrote()
      return result
    } finally {
      this.#writesInProgress--
    }
  }

  #wrote(): void {
    this.#wroteAt = performance.now()
    if (this.#failingSince === null) return
    this.#observer.worksAgain?.(this.#wroteAt - this.#failingSince)
    this.#failingSince = null
  }

  /** The engine failed. */
  failed(kind: 'read' | 'write', cause: unknown): void {
    const now = performance.now()
    this.#failed[kind]++
    if (kind === 'write') this.#failedAt = now
    this.#failingSince ??= now
    this.#observer.failed?.(kind, cause)
  }

  gaveUp(): void {
    this.#statementsGivenUp++
  }

  stalled(): void {
    this.#failingSince ??= performance.now()
    this.#observer.stalled?.()
  }
}
