interface LeaseOptions {
  readonly ttlMs: number
  /** Takes the lease, or prolongs it, for `ttlMs`. @returns false when another owner has it */
  acquire(ttlMs: number): Promise<boolean>
  /** Gives the lease back. */
  release?(): Promise<void>
  /** Milliseconds that only grow; by default the process's own. */
  readonly now?: () => number
}

/**
 * The right to do something on one node at a time. A holder that does not renew it loses it after
 * `ttlMs`.
 */
export class Lease {
  #renewFrom = Number.NEGATIVE_INFINITY
  #heldUntil = Number.NEGATIVE_INFINITY
  readonly #now: () => number

  constructor(private readonly options: LeaseOptions) {
    this.#now = options.now ?? (() => performance.now())
  }

  /** Tells whether this node believes that it holds the lease. */
  get isHeld(): boolean {
    return this.#now() < this.#heldUntil
  }

  /** Takes the lease, and renews one of which a third is over. @returns whether it is held */
  async take(): Promise<boolean> {
    return this.#now() < this.#renewFrom || this.#acquire()
  }

  /**
   * Renews the lease three times in its life while work runs.
   * @param work its signal is aborted when another owner has the lease
   * @param options.failed a renewal failed; the next one may succeed in time
   * @param options.ending ends the renewal, so that another owner can have the lease of work that hangs
   */
  async keep<T>(
    work: (lost: AbortSignal) => Promise<T>,
    {
      failed,
      ending,
    }: { readonly failed: (error: unknown) => void; readonly ending?: AbortSignal },
  ): Promise<T> {
    const lost = new AbortController()
    const renewal = setInterval(() => {
      this.#acquire()
        .then((isHeld) => isHeld || lost.abort(new Error('the lease is lost')))
        .catch(failed)
    }, this.options.ttlMs / 3)
    ending?.addEventListener('abort', () => clearInterval(renewal))
    try {
      return await work(lost.signal)
    } finally {
      clearInterval(renewal)
    }
  }

  /** Gives back a lease that is held, so that others need not wait for its end. */
  async release(): Promise<void> {
    const wasHeld = this.isHeld
    this.#forget()
    // A lease that cannot be given back expires.
    if (wasHeld) await this.options.release?.().catch(() => {})
  }

  async #acquire(): Promise<boolean> {
    const startedAt = this.#now()
    const { ttlMs, acquire } = this.options
    if (await acquire(ttlMs)) {
      this.#renewFrom = startedAt + ttlMs / 3
      this.#heldUntil = startedAt + ttlMs
    } else this.#forget()
    return this.isHeld
  }

  #forget(): void {
    this.#renewFrom = Number.NEGATIVE_INFINITY
    this.#heldUntil = Number.NEGATIVE_INFINITY
  }
}
