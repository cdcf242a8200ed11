export interface PaceOptions {
  /** How much work may be under way at once. */
  readonly maxRunning: number
  /** How many bytes it may bring in one turn of the event loop. */
  readonly maxBytesPerTurn: number
}

/**
 * Work that brings much into memory, bit by bit: what would bring more than one turn of the event loop may wait for the next one, in the order
 * in which it came, so that what was brought can leave, and other calls have their turn.
 */
export class Paced {
  readonly #waiting: (() => void)[] = []
  #running = 0
  #bytes = 0

  constructor(private readonly options: PaceOptions) {}

  /** @param bytesOf how much memory a result takes */
  async run<T>(work: () => Promise<T>, bytesOf: (result: T) => number): Promise<T> {
    if (this.#waiting.length > 0 || !this.#mayRun())
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      const result = await work()
      this.#brought(bytesOf(result))
      return result
    } finally {
      this.#running--
      this.#admit()
    }
  }

  #mayRun(): boolean {
    const { maxRunning, maxBytesPerTurn } = this.options
    return this.#running < maxRunning && this.#bytes < maxBytesPerTurn
  }

  #brought(bytes: number): void {
    const isFirst = this.#bytes === 0 && bytes > 0
    this.#bytes += bytes
    if (isFirst)
      setImmediate(() => {
        this.#bytes = 0
        this.#admit()
      })
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#mayRun()) {
      this.#running++
      this.#waiting.shift()?.()
    }
  }
}
