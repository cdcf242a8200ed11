export interface SlotsOptions {
  /** How many works may be under way at once. */
  readonly parallel: number
  readonly maxWaiting: number
  /** The error for work that finds too much waiting. */
  full(): Error
}

/** Work of which only so much may be under way at once; the rest waits in order, and not without bound. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(private readonly options: SlotsOptions) {}

  /** Resolves when the work may begin; {@link leave} must follow. @throws the error of a full queue */
  async enter(): Promise<void> {
    const { parallel, maxWaiting, full } = this.options
    if (this.#running < parallel) this.#running++
    else if (this.#waiting.length >= maxWaiting) throw full()
    else await new Promise<void>((enter) => this.#waiting.push(enter))
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running--
  }
}
