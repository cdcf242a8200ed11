/**
 * Exclusion between asynchronous callers of one process: one exclusive holder, or any number of
 * shared holders. Both kinds are served in order and alternate: a shared caller waits for at most
 * one exclusive holder, and an exclusive caller for the shared holders before it.
 */
export class Mutex {
  #isLocked = false
  #sharing = 0
  readonly #alone: (() => void)[] = []
  readonly #toShare: (() => void)[] = []

  /** Runs work as the exclusive holder. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.lock()
    try {
      return await work()
    } finally {
      this.unlock()
    }
  }

  async lock(): Promise<void> {
    if (this.#isLocked || this.#sharing > 0) return wait(this.#alone)
    this.#isLocked = true
  }

  unlock(): void {
    this.#isLocked = false
    this.#admitSharing()
    this.#admitAlone()
  }

  async lockShared(): Promise<void> {
    if (this.#isLocked || this.#alone.length > 0) return wait(this.#toShare)
    this.#sharing++
  }

  unlockShared(): void {
    this.#sharing--
    this.#admitAlone()
  }

  #admitSharing(): void {
    const waiting = this.#toShare.splice(0)
    this.#sharing += waiting.length
    for (const enter of waiting) enter()
  }

  #admitAlone(): void {
    if (this.#isLocked || this.#sharing > 0) return
    const next = this.#alone.shift()
    if (!next) return
    this.#isLocked = true
    next()
  }
}

function wait(queue: (() => void)[]): Promise<void> {
  return new Promise((enter) => queue.push(enter))
}
