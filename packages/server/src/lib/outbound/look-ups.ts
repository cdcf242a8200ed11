import { LRUCache } from 'lru-cache'

/** Runs a few look-ups of each share, such as an application, at once. */
export interface LookUpShares {
  run<T>(share: string, work: () => Promise<T>): Promise<T>
}

interface LookUpsOptions {
  readonly shares: LookUpShares
  /** Returns all addresses of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>
  /** Time in ms, from any start. */
  readonly now: () => number
}

/** A name that failed is not looked up for so long. */
const failedMs = 30_000
/** Failed names in memory. */
const maxFailed = 1_000

/** Look-ups of names. Names that do not resolve delay no other share. */
export class LookUps {
  /** In progress, by share and name. */
  readonly #running = new Map<string, Promise<readonly string[]>>()
  readonly #failed = new LRUCache<string, { readonly error: unknown; readonly until: number }>({
    max: maxFailed,
  })

  constructor(private readonly options: LookUpsOptions) {}

  /**
   * Returns the addresses of a name, at least one. Calls for the same name share a look-up.
   * @throws Error when it has none
   */
  addressesOf(name: string, share: string): Promise<readonly string[]> {
    const id = `${share} ${name}`
    const running =
      this.#running.get(id) ??
      this.options.shares
        .run(share, () => this.#lookUp(name))
        .finally(() => this.#running.delete(id))
    this.#running.set(id, running)
    return running
  }

  async #lookUp(name: string): Promise<readonly string[]> {
    const { resolve, now } = this.options
    const failed = this.#failed.get(name)
    if (failed && now() < failed.until) throw failed.error
    try {
      const found = await resolve(name)
      if (found.length === 0) throw new Error(`${name} has no address`)
      return found
    } catch (error) {
      this.#failed.set(name, { error, until: now() + failedMs })
      throw error
    }
  }
}
