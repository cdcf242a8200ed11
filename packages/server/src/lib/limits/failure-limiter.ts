import { boundedCache } from './bounded-cache.js'

export interface FailureLimiterOptions {
  /** Milliseconds since 1970. */
  readonly clock: { now(): number }
  /** Failures in a row after which attempts have to wait. */
  readonly limit: number
  /** The waits double from one second up to this. */
  readonly maxWaitMs: number
  /** Failures are forgotten after this time without another. */
  readonly forgetMs: number
  /** Failures also expire one by one: a shared key is never without a failure for long. */
  readonly isShared?: boolean
  /** The form in which keys are kept and told; default: unchanged. */
  readonly keyOf?: (key: string) => string
}

/** Failures of a key in one process, and the time of the last one. */
export interface Failures {
  readonly count: number
  readonly at: number
}

/** Changes of failures in this process that others are to hear of, by key. */
export interface FailureChanges {
  readonly failed: ReadonlyMap<string, Failures>
  readonly cleared: readonly string[]
}

const maxKeys = 50_000
const firstWaitMs = 1000
/** Keys are told from this part of the limit on. */
const toldPart = 1 / 2

/**
 * Slows down failing attempts by key. The counts are bounded and live in this process; it can tell
 * them to other processes with the same limit, and adds theirs.
 */
export class FailureLimiter {
  readonly #failures = boundedCache<string, Failures>(maxKeys)
  /** Failures in other processes. */
  readonly #others = boundedCache<string, Failures>(maxKeys)
  readonly #changed = new Set<string>()
  readonly #told = new Set<string>()
  readonly #cleared = new Set<string>()
  #tell: (() => void) | null = null

  constructor(private readonly options: FailureLimiterOptions) {}

  failed(name: string): void {
    const { clock, limit } = this.options
    const key = this.#keyOf(name)
    const count = this.#countOf(this.#failures.get(key)) + 1
    this.#failures.set(key, { count, at: clock.now() })
    if (this.#tell === null || this.#count(key) < limit * toldPart) return
    this.#changed.add(key)
    this.#tell()
  }

  clear(name: string): void {
    const key = this.#keyOf(name)
    this.#failures.delete(key)
    this.#changed.delete(key)
    const isKnown = this.#told.delete(key)
    if (!this.#others.delete(key) && !isKnown) return
    this.#cleared.add(key)
    this.#tell?.()
  }

  /** The failures that still count. */
  count(name: string): number {
    return this.#count(this.#keyOf(name))
  }

  #count(key: string): number {
    return this.#countOf(this.#failures.get(key)) + this.#countOf(this.#others.get(key))
  }

  /** Attempts that may run at once. */
  free(name: string): number {
    return Math.max(1, this.options.limit - this.count(name))
  }

  /** Milliseconds that attempts have to wait. */
  waitMs(name: string): number {
    const { clock, limit, maxWaitMs } = this.options
    const failures = this.#total(this.#keyOf(name))
    if (!failures) return 0
    const excess = Math.round(failures.count) - limit
    if (excess < 0) return 0
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** excess)
    // Bounded, for a clock that was set back.
    return Math.max(0, Math.min(waitMs, failures.at + waitMs - clock.now()))
  }

  /** @param tell called after a change that {@link takeChanges} returns */
  share(tell: () => void): void {
    this.#tell = tell
  }

  /** Takes the changes since the last call, at most so many of each kind. */
  takeChanges(most: number): FailureChanges {
    const keys = taken(this.#changed, most)
    const failed = new Map<string, Failures>()
    for (const key of keys) {
      const failures = this.#failures.get(key)
      if (!failures) continue
      failed.set(key, failures)
      this.#told.add(key)
    }
    return { failed, cleared: taken(this.#cleared, most) }
  }

  /** Takes all that is told: the failures of other processes, and the keys of this one. */
  receive(others: ReadonlyMap<string, Failures>, own: ReadonlySet<string>): void {
    this.#others.clear()
    for (const [key, failures] of others) this.#others.set(key, failures)
    for (const key of this.#told) {
      if (own.has(key) || this.#changed.has(key)) continue
      // Another process has cleared the key.
      this.#told.delete(key)
      this.#failures.delete(key)
    }
  }

  #keyOf(name: string): string {
    return this.options.keyOf?.(name) ?? name
  }

  /** The failures of all processes at the time of the last one. */
  #total(key: string): Failures | null {
    const known = [this.#failures.get(key), this.#others.get(key)].filter(
      (each) => each !== undefined,
    )
    if (known.length < 2) return known[0] ?? null
    const at = Math.max(...known.map((each) => each.at))
    return { at, count: known.reduce((sum, each) => sum + this.#countOf(each, at), 0) }
  }

  #countOf(failures: Failures | undefined, now = this.options.clock.now()): number {
    if (!failures) return 0
    const { forgetMs, limit, isShared } = this.options
    const quietMs = Math.max(0, now - failures.at)
    if (quietMs >= forgetMs) return 0
    return isShared ? Math.max(0, failures.count - (quietMs / forgetMs) * limit) : failures.count
  }
}

/** Removes the first entries of a set. */
function taken(keys: Set<string>, most: number): readonly string[] {
  const first = [...keys].slice(0, most)
  for (const key of first) keys.delete(key)
  return first
}
