export interface SlotsOptions {
  /** Works that may run at once. */
  readonly parallel: number
  readonly maxWaiting: number
  /** The error for work that finds too much waiting. */
  full(): Error
}

/** Bounds the works that run at once. Further work waits in order, up to a bound. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(private readonly options: SlotsOptions) {}

  get running(): number {
    return this.#running
  }

  /** True when the next work would be refused. */
  get isFull(): boolean {
    const { parallel, maxWaiting } = this.options
    return this.#running >= parallel && this.#waiting.length >= maxWaiting
  }

  /** Runs work when a slot is free. @throws the error of a full queue */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.enter()
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  /** Waits for a free slot; {@link leave} must follow. @throws the error of a full queue */
  async enter(): Promise<void> {
    if (this.isFull) throw this.options.full()
    if (this.#running < this.options.parallel) this.#running++
    else await new Promise<void>((enter) => this.#waiting.push(enter))
  }

  /** Passes the slot to the work that has waited longest. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running--
  }
}

/** {@link Slots} for each key, such as an application. A key without work takes no memory. */
export class KeyedSlots {
  readonly #slots = new Map<string, Slots>()

  constructor(private readonly options: SlotsOptions) {}

  /** Runs work when a slot of the key is free. @throws the error of a full queue */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#slots.get(key) ?? new Slots(this.options)
    this.#slots.set(key, slots)
    await slots.enter()
    try {
      return await work()
    } finally {
      slots.leave()
      if (slots.running === 0) this.#slots.delete(key)
    }
  }
}
