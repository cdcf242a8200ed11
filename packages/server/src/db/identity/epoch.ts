import type { Database } from '../database.js'
import type { Histories } from './histories.js'
import type { IdentityStore } from './identity-store.js'
import type { StoredServiceState } from './service-state.js'

interface EpochOptions {
  readonly database: Database
  readonly store: Pick<IdentityStore, 'current' | 'histories'>
  /** Takes the state of the service, which is read with the epoch. */
  readonly stateFound: (state: StoredServiceState) => void
}

/** Told when the database has another history than this process; may close what serves the old one. */
type EpochListener = (epoch: string) => void | Promise<void>

const pollMs = 1_000

/**
 * The epoch of the database, which is that of the start for the whole life of the process: caches,
 * positions and sessions are of one history. When the database has another one, the process ends.
 *
 * The guard of connections compares it on each new connection, before anything else runs there, and
 * it is read once a second, since another node may find out first that history was lost. The
 * embedded database cannot be replaced while the process runs.
 */
export class Epoch {
  readonly #listeners = new Set<EpochListener>()
  /** Resolves when the database has another history and all listeners are done. */
  readonly ended: Promise<void>
  #end: () => void = () => {}
  #replacedBy: string | null = null
  #timer: NodeJS.Timeout | undefined

  private constructor(
    private readonly options: EpochOptions,
    /** Those of the start. An app that another node has created since is in none of them. */
    readonly histories: Histories,
  ) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  static async open(options: EpochOptions): Promise<Epoch> {
    const { database, store, stateFound } = options
    const histories = await database.read((db) => store.histories(db))
    stateFound((await database.read((db) => store.current(db))).service)
    return new Epoch(options, histories)
  }

  /** The epoch of this process. */
  get current(): string {
    return this.histories.current
  }

  /** The epoch of the history that the database has now; null while it is that of this process. */
  get replacedBy(): string | null {
    return this.#replacedBy
  }

  /** Calls the listener when the database has another history. @returns a function that ends it */
  subscribe(listener: EpochListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Begins to read the epoch of a shared database. */
  start(): void {
    if (!this.options.database.dialect.guard) return
    this.#timer = setInterval(() => void this.#poll(), pollMs)
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** The database has this epoch now. */
  found(epoch: string): void {
    if (epoch === this.current || this.#replacedBy !== null) return
    this.#replacedBy = epoch
    this.stop()
    const told = [...this.#listeners].map(async (listener) => listener(epoch))
    void Promise.allSettled(told).then(() => this.#end())
  }

  async #poll(): Promise<void> {
    const { database, store, stateFound } = this.options
    try {
      const { epoch, service } = await database.read((db) => store.current(db))
      stateFound(service)
      this.found(epoch)
    } catch {
      // The guard compares it on the next connection.
    }
  }
}
