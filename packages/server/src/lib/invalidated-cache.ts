import { LRUCache } from 'lru-cache'

/** How exactly ages are told; reading the clock for every look-up costs more than the look-up. */
const clockStepMs = 50

/** What caches of the same facts, on this node and others, tell one another. */
export interface CacheInvalidation {
  /** A fact changed. A message may be lost. */
  publish(key: string): void
  /** Hears of the changes that others published, and maybe of its own. */
  subscribe(listener: (key: string) => void): void
}

/**
 * Facts that are asked for on every call. An entry is good for a short while and then read again, so a change on another node shows
 * after that time at the latest, and sooner by the channel; a change on this node forgets the entry at once. Absence is never remembered: what is missing may
 * be created the next moment.
 */
export class InvalidatedCache<T extends object> {
  readonly #entries: LRUCache<string, T>
  readonly #loading = new Map<string, Promise<T | null>>()

  readonly #channel: CacheInvalidation | undefined

  constructor(options: {
    readonly maxEntries: number
    readonly maxAgeMs: number
    readonly channel?: CacheInvalidation | undefined
  }) {
    this.#entries = new LRUCache({
      // By size, because a cache with a maximum takes the memory for it at once.
      maxSize: options.maxEntries,
      sizeCalculation: () => 1,
      ttl: options.maxAgeMs - clockStepMs,
      ttlResolution: clockStepMs,
    })
    this.#channel = options.channel
    this.#channel?.subscribe((key) => this.#drop(key))
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** The cached fact, else the loaded one; callers that ask at once share one load. */
  async load(key: string, read: () => Promise<T | null>): Promise<T | null> {
    const known = this.#entries.get(key)
    if (known) return known
    const underWay = this.#loading.get(key)
    if (underWay) return underWay
    // The fact may be as old as that, however long the read takes; on the clock of the cache.
    const start = performance.now()
    const loading: Promise<T | null> = read()
      .then((fact) => {
        // Not kept when somebody forgot the key meanwhile: the read may have been before the change.
        if (fact && this.#loading.get(key) === loading) this.#entries.set(key, fact, { start })
        return fact
      })
      .finally(() => {
        if (this.#loading.get(key) === loading) this.#loading.delete(key)
      })
    this.#loading.set(key, loading)
    return loading
  }

  /** Here at once, elsewhere as soon as the channel brings it; to be called when the change is committed. */
  forget(key: string): void {
    this.#drop(key)
    this.#channel?.publish(key)
  }

  #drop(key: string): void {
    this.#entries.delete(key)
    this.#loading.delete(key)
  }
}
