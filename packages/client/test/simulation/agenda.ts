/** Virtual time: what is planned runs in its order, and nothing else moves the clock. */

interface Entry {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export class Agenda {
  /** Milliseconds since the beginning. */
  now = 0
  /** Entries that have run. */
  count = 0
  #order = 0
  /** Sorted, the next one last. */
  readonly #entries: Entry[] = []

  /** @returns cancels it */
  after(ms: number, run: () => void): () => void {
    const entry = { at: this.now + Math.max(0, ms), order: this.#order++, run }
    let index = this.#entries.length
    while (index > 0 && (this.#entries[index - 1] as Entry).at <= entry.at) index--
    this.#entries.splice(index, 0, entry)
    return () => {
      const found = this.#entries.indexOf(entry)
      if (found >= 0) this.#entries.splice(found, 1)
    }
  }

  /** Runs what is planned for the next milliseconds. */
  run(ms: number): void {
    const end = this.now + ms
    for (let next = this.#entries.at(-1); next && next.at <= end; next = this.#entries.at(-1)) {
      this.#entries.pop()
      this.now = Math.max(this.now, next.at)
      this.count++
      if (this.count > 200_000) throw new Error('the schedule does not come to an end')
      next.run()
    }
    this.now = end
  }

  /** Moves the clock without running anything, as a machine does that sleeps. */
  jump(ms: number): void {
    this.now += ms
  }
}
