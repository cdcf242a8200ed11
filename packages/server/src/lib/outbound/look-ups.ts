import { LRUCache } from 'lru-cache'

/** The look-ups of one application, a few at once. */
export interface LookUpShare {
  readonly running: number
  run<T>(work: () => Promise<T>): Promise<T>
}

export interface LookUpsOptions {
  readonly newShare: () => LookUpShare
  /** Returns all addresses of a name. */
  readonly resolve: (name: string) => Promise<readonly string[]>
  /** Time in ms, from any start. */
  readonly now: () => number
}

/** A name that failed is not looked up for so long. */
const failedMs = 30_000
/** Failed names in memory. */
const maxFailed = 1_000

/**
 * Look-ups of names. Each share, such as an application, has a few at once, so that names that do not
 * resolve delay no other share.
 */
export class LookUps {
  readonly #shares = new Map<string, LookUpShare>()
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
      this.#inShare(share, () => this.#lookUp(name)).finally(() => this.#running.delete(id))
    this.#running.set(id, running)
    return running
  }

  async #inShare<T>(share: string, work: () => Promise<T>): Promise<T> {
    const lookUps = this.#shares.get(share) ?? this.options.newShare()
    this.#shares.set(share, lookUps)
    try {
      return await lookUps.run(work)
    } finally {
      if (lookUps.running === 0) this.#shares.delete(share)
    }
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
