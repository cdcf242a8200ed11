import { LRUCache } from 'lru-cache'
import type { MaybePromise } from './maybe-promise.js'

/** How exactly ages are told; reading the clock for every look-up costs more than the look-up. */
const clockStepMs = 50

/** What caches of the same data, on this node and others, tell one another. */
export interface CacheInvalidation {
  /** A value changed. A message may be lost. */
  publish(key: string): void
  /** Hears of the changes that others published, and maybe of its own. */
  subscribe(listener: (key: string) => void): void
}

/** A transaction as a cache sees it. */
export interface CommitScope {
  /** @param cache the name of the cache that `run` invalidates */
  afterCommit(run: () => void, cache: string): void
}

/** What somebody who writes what a cache is made of needs of the cache. */
export interface Invalidates<Key> {
  /**
   * Has the value read again once the transaction is committed: here at once, elsewhere as soon as the channel brings it. Belongs beside
   * the statement that changes the value.
   */
  forget(tx: CommitScope, key: Key): void
}

/** A table that a cache is made of: which statements on it change a value. */
export interface CachedTable<Column extends string = string> {
  /** Setting one of these changes a value. */
  readonly columns: readonly Column[]
  /** A new row that sets one of the columns changes a value too: the cache knows of rows that are missing. */
  readonly inserts?: true
  /** false: a row may go without any value being changed. */
  readonly deletes?: false
}

/** @typeParam Value what is remembered for a key */
export interface CacheDefinition<Key, Value extends object> {
  /** Caches of the same name on all nodes share their invalidations. */
  readonly name: string
  readonly maxEntries: number
  readonly maxAgeMs: number
  /** Everything that the values are read from, by table. */
  readonly tables: Readonly<Record<string, CachedTable>>
  keyOf(key: Key): string
  /** For types only. */
  readonly value?: Value
}

/**
 * Values that are asked for on every call. An entry is good for a short while and then read again, so a change on another node shows
 * after that time at the latest, and sooner by the channel; a change on this node forgets the entry as soon as it is committed. Absence
 * is never remembered: what is missing may be created the next moment.
 */
export class InvalidatedCache<Key, Value extends object> implements Invalidates<Key> {
  readonly #entries: LRUCache<string, Value>
  readonly #loading = new Map<string, Promise<Value | null>>()
  readonly #definition: CacheDefinition<Key, Value>
  readonly #channel: CacheInvalidation | undefined

  constructor(definition: CacheDefinition<Key, Value>, channel?: CacheInvalidation) {
    this.#definition = definition
    this.#entries = new LRUCache({
      // By size, because a cache with a maximum takes the memory for it at once.
      maxSize: definition.maxEntries,
      sizeCalculation: () => 1,
      ttl: definition.maxAgeMs - clockStepMs,
      ttlResolution: clockStepMs,
    })
    this.#channel = channel
    this.#channel?.subscribe((key) => this.#dropKey(key))
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(this.#definition.keyOf(key))
  }

  /** The cached value, else the loaded one; callers that ask at once share one load. */
  async load(of: Key, read: () => MaybePromise<Value | null>): Promise<Value | null> {
    const key = this.#definition.keyOf(of)
    const known = this.#entries.get(key)
    if (known) return known
    const underWay = this.#loading.get(key)
    if (underWay) return underWay
    // The value may be as old as that, however long the read takes; on the clock of the cache.
    const start = performance.now()
    const found = read()
    if (!(found instanceof Promise)) {
      if (found) this.#entries.set(key, found, { start })
      return found
    }
    const loading: Promise<Value | null> = found
      .then((value) => {
        // Not kept when somebody forgot the key meanwhile: the read may have been before the change.
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

  /** Has the value read again on this node, also where a read is under way. */
  drop(of: Key): void {
    this.#dropKey(this.#definition.keyOf(of))
  }

  #dropKey(key: string): void {
    this.#entries.delete(key)
    this.#loading.delete(key)
  }
}
