import type { StallObserver } from './dialect/postgres/watch.js'

/** What is told of a database that could not do its work. */
export interface HealthObserver {
  /** @param cause what the engine said */
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
  /** Statements whose connection was given up because nothing was heard of them. */
  readonly statementsGivenUp: number
  /** Transactions that run or wait for their turn, now. */
  readonly writesUnderWay: number
  /** The latest use of the database that said something about it failed. */
  readonly isFailing: boolean
}

/** What became of the latest commits and of other uses of the database. Times are of `performance.now()`. */
export class DatabaseHealth implements StallObserver {
  readonly #observer: Partial<HealthObserver>
  readonly #failed = { read: 0, write: 0 }
  #statementsGivenUp = 0
  #writesUnderWay = 0
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
      writesUnderWay: this.#writesUnderWay,
      isFailing: this.#failingSince !== null,
    }
  }

  /**
   * What commits within the last `ms` say: a failure weighs more than a success beside it.
   * @returns null when there were none
   */
  writesWithin(ms: number): 'fail' | 'succeed' | null {
    const since = performance.now() - ms
    if (this.#failedAt > since) return 'fail'
    return this.#wroteAt > since ? 'succeed' : null
  }

  /** @param transaction resolves when it is committed */
  async write<T>(transaction: () => Promise<T>): Promise<T> {
    this.#writesUnderWay++
    try {
      const result = await transaction()
      this.#wrote()
      return result
    } finally {
      this.#writesUnderWay--
    }
  }

  #wrote(): void {
    this.#wroteAt = performance.now()
    if (this.#failingSince === null) return
    this.#observer.worksAgain?.(this.#wroteAt - this.#failingSince)
    this.#failingSince = null
  }

  /** The engine could not do its work. */
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
