import { LRUCache } from 'lru-cache'
import type { MaybePromise } from './maybe-promise.js'

/** The age of values that only this process changes; it bounds how long a missed invalidation matters. */
const ownMaxAgeMs = 60_000
/** The precision of ages. Reading the clock for every look-up costs more than the look-up. */
const clockStepMs = 50

/** Changes that caches of the same data exchange, on this node and others. */
export interface CacheInvalidation {
  /** A value changed. A message may be lost. */
  publish(key: string): void
  /** Subscribes to the changes that others published, and maybe to those of this cache. */
  subscribe(listener: (key: string) => void): void
  /** Calls the listener after messages may have been lost. */
  onLoss(listener: () => void): void
}

/** A transaction as a cache sees it. */
export interface CommitScope {
  /** @param cache the name of the cache that `run` invalidates */
  afterCommit(run: () => void, cache: string): void
}

/** Invalidation interface for the writers of cached data. */
export interface Invalidates<Key> {
  /**
   * Invalidates the value once the transaction is committed: on this node at once, on others when
   * the channel brings it. Call it next to the statement that changes the value.
   */
  forget(tx: CommitScope, key: Key): void
}

/** A source table of a cache, with the statements on it that change a value. */
export interface CachedTable<Column extends string = string> {
  /** Setting one of these changes a value. */
  readonly columns: readonly Column[]
  /** A new row that sets one of the columns changes a value too: the cache knows of rows that are missing. */
  readonly inserts?: true
  /** false when deleting a row changes no value. */
  readonly deletes?: false
}

/**
 * The age of the value that a decision may use: `cached` is at most as old as the cache allows,
 * `current` is as stored at a moment after the question.
 */
export type Freshness = 'cached' | 'current'

/**
 * Decides by cached values, and before it refuses by current ones: a right that another node has
 * just given holds on this node too.
 */
export async function confirmRefusal<Decision>(
  decide: (freshness: Freshness) => Promise<Decision>,
  isRefusal: (decision: Decision) => boolean,
): Promise<Decision> {
  const decision = await decide('cached')
  return isRefusal(decision) ? decide('current') : decision
}

/** @typeParam Value the cached value of a key */
export interface CacheDefinition<Key, Value extends object> {
  /** Caches of the same name on all nodes share their invalidations. */
  readonly name: string
  readonly maxEntries: number
  /** For values that other processes change too. */
  readonly maxAgeMs: number
  /** All tables that the values are read from. */
  readonly tables: Readonly<Record<string, CachedTable>>
  keyOf(key: Key): string
  /** Used by the compiler only. */
  readonly value?: Value
}

/**
 * A cache of values that every call reads. A change on this node drops the entry with the commit. An
 * entry that other processes change too expires after a short time: a change on another node shows
 * after that time at the latest, or as soon as the channel brings it. Absence is never cached, since
 * a missing value may be created at any moment. Calls are not refused by an older value: see
 * {@link confirmRefusal}.
 */
export class InvalidatedCache<Key, Value extends object> implements Invalidates<Key> {
  readonly #entries: LRUCache<string, Value>
  readonly #loading = new Map<string, Promise<Value | null>>()
  /** Reads that begin when the present one of their key ends. */
  readonly #next = new Map<string, Promise<Value | null>>()
  readonly #definition: CacheDefinition<Key, Value>
  readonly #channel: CacheInvalidation | undefined
  readonly #isShared: boolean

  /** @param options.isShared other processes change the values too */
  constructor(
    definition: CacheDefinition<Key, Value>,
    channel?: CacheInvalidation,
    { isShared = false }: { readonly isShared?: boolean } = {},
  ) {
    this.#definition = definition
    this.#isShared = isShared
    this.#entries = new LRUCache({
      // By size, because a cache with a maximum allocates all entries at once.
      maxSize: definition.maxEntries,
      sizeCalculation: () => 1,
      ttl: (isShared ? definition.maxAgeMs : ownMaxAgeMs) - clockStepMs,
      ttlResolution: clockStepMs,
    })
    this.#channel = channel
    this.#channel?.subscribe((key) => this.#dropKey(key))
    this.#channel?.onLoss(() => this.#dropAll())
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(this.#definition.keyOf(key))
  }

  /**
   * The cached value, else the loaded one; simultaneous callers share one load. A value that only
   * this process changes is always current, others are read again for `current`.
   */
  async load(
    of: Key,
    read: () => MaybePromise<Value | null>,
    freshness: Freshness = 'cached',
  ): Promise<Value | null> {
    const key = this.#definition.keyOf(of)
    if (this.#isShared && freshness === 'current') return this.#readAgain(key, read)
    const known = this.#entries.get(key)
    if (known) return known
    const pending = this.#loading.get(key)
    if (!pending) return this.#begin(key, read)
    const found = await pending
    // The read may have been before the value was created on another node.
    return found === null && this.#isShared ? this.#readAgain(key, read) : found
  }

  /**
   * Reads a value past the cache. Calls that come during a read share the next one, so that a key has
   * at most one read at a time, however many calls it refuses.
   */
  #readAgain(key: string, read: () => MaybePromise<Value | null>): MaybePromise<Value | null> {
    const pending = this.#loading.get(key)
    if (!pending) return this.#begin(key, read)
    const waiting = this.#next.get(key)
    if (waiting) return waiting
    const begin = () => {
      this.#next.delete(key)
      return this.#begin(key, read)
    }
    const next = pending.then(begin, begin)
    this.#next.set(key, next)
    return next
  }

  #begin(key: string, read: () => MaybePromise<Value | null>): MaybePromise<Value | null> {
    // The age counts from here, since the read may take long; on the clock of the cache.
    const start = performance.now()
    const found = read()
    if (!(found instanceof Promise)) {
      if (found) this.#entries.set(key, found, { start })
      return found
    }
    const loading: Promise<Value | null> = found
      .then((value) => {
        // A key that was invalidated in the meantime is not stored: the read may have been before
        // the change.
        if (value && this.#loading.get(key) === loading) this.#entries.set(key, value, { start })
        return value
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key)
      })
    this.#loading.set(key, loading)
    return loading
  }

  forget(tx: CommitScope, of: Key): void {
    const { name, keyOf } = this.#definition
    const key = keyOf(of)
    tx.afterCommit(() => {
      this.#dropKey(key)
      this.#channel?.publish(key)
    }, name)
  }

  /** Invalidates the value on this node, and any read of it that is in progress. */
  drop(of: Key): void {
    this.#dropKey(this.#definition.keyOf(of))
  }

  #dropAll(): void {
    this.#entries.clear()
    this.#loading.clear()
  }

  #dropKey(key: string): void {
    this.#entries.delete(key)
    this.#loading.delete(key)
  }
}
