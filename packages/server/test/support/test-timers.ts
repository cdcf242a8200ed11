/** A clock and its timers, which a test moves. */
export class TestTimers {
  now: number
  readonly #timers: { readonly at: number; readonly run: () => void }[] = []

  constructor(now = 0) {
    this.now = now
  }

  /** The number of timers that have not run. */
  get waiting(): number {
    return this.#timers.length
  }

  /** Calls back after some milliseconds. */
  after(ms: number, run: () => void): void {
    this.#timers.push({ at: this.now + ms, run })
  }

  /** Lets time pass; runs what is due, in its order. */
  pass(ms: number): void {
    for (const end = this.now + ms; ; ) {
      const next = this.#timers.sort((a, b) => a.at - b.at)[0]
      if (!next || next.at > end) {
        this.now = end
        return
      }
      this.#timers.shift()
      this.now = next.at
      next.run()
    }
  }
}
