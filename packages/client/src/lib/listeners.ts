/**
 * A set of listeners. One that throws stops no other; one that is added or removed by a call is not
 * called with it.
 */
export class Listeners<T> {
  readonly #onError: (error: unknown) => void
  readonly #entries = new Set<{ readonly run: (value: T) => void }>()

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  get size(): number {
    return this.#entries.size
  }

  /**
   * Adds a listener; the same function may be added twice.
   * @returns removes it; false: it was removed before
   */
  add(run: (value: T) => void): () => boolean {
    const entry = { run }
    this.#entries.add(entry)
    return () => this.#entries.delete(entry)
  }

  notify(value: T): void {
    for (const entry of [...this.#entries]) {
      if (!this.#entries.has(entry)) continue
      try {
        entry.run(value)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
