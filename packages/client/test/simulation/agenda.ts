/** Virtual time: what is planned runs in its order, and nothing else moves the clock. */

interface Entry {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** More entries are a loop. */
const maxEntries = 200_000

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
    while (this.#runNext(end));
    this.now = end
  }

  /** Does the same for code with promises, which settle after each entry. */
  async runSettled(ms: number): Promise<void> {
    const end = this.now + ms
    do await new Promise(setImmediate)
    while (this.#runNext(end))
    this.now = end
  }

  #runNext(end: number): boolean {
    const next = this.#entries.at(-1)
    if (!next || next.at > end) return false
    this.#entries.pop()
    this.now = Math.max(this.now, next.at)
    this.count++
    if (this.count > maxEntries) throw new Error('the schedule does not come to an end')
    next.run()
    return true
  }
}
