import type { Database } from '../database.js'
import type { IdentityStore } from './identity-store.js'

interface EpochOptions {
  readonly database: Database
  readonly store: Pick<IdentityStore, 'epoch'>
  /** The database has another history than at the start of the node. */
  changed(epoch: string): void
}

/**
 * The epoch of the database as this node knows it. It is read at the start and after each new
 * connection to PostgreSQL, since a database can only be replaced while its connections are lost.
 */
export class Epoch {
  readonly #listeners = new Set<(epoch: string) => void>()
  #current = ''
  #reading: Promise<void> | null = null
  #isStale = false

  private constructor(private readonly options: EpochOptions) {}

  static async open(options: EpochOptions): Promise<Epoch> {
    const epoch = new Epoch(options)
    const { database, store } = options
    epoch.#current = await database.read((db) => store.epoch(db))
    database.dialect.onConnection?.(() => void epoch.compare())
    return epoch
  }

  get current(): string {
    return this.#current
  }

  /** Calls the listener with each new epoch. @returns a function that ends it */
  subscribe(listener: (epoch: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Reads the epoch again. Requests during a read make one more read. A failed read is left to the
   * next connection.
   */
  compare(): Promise<void> {
    this.#isStale = true
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const { database, store, changed } = this.options
    try {
      while (this.#isStale) {
        this.#isStale = false
        const epoch = await database.read((db) => store.epoch(db))
        if (epoch === this.#current) continue
        this.#current = epoch
        changed(epoch)
        for (const listener of this.#listeners) listener(epoch)
      }
    } catch {
      this.#isStale = false
    }
  }
}
