interface SlotsOptions {
  /** Works that may run at once, at least 1. A function is called whenever work begins or ends. */
  readonly parallel: number | (() => number)
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

  get waiting(): number {
    return this.#waiting.length
  }

  /** True when the next work would be refused. */
  get isFull(): boolean {
    return !this.#hasSlot && this.#waiting.length >= this.options.maxWaiting
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
    if (this.#hasSlot) this.#running++
    else await new Promise<void>((enter) => this.#waiting.push(enter))
  }

  /** Passes the slot to the work that has waited longest. */
  leave(): void {
    this.#running--
    while (this.#waiting.length > 0 && this.#hasSlot) {
      this.#running++
      this.#waiting.shift()?.()
    }
  }

  get #hasSlot(): boolean {
    const { parallel } = this.options
    return this.#running < (typeof parallel === 'number' ? parallel : parallel())
  }
}

/** {@link Slots} for each key, such as an application. A key without work takes no memory. */
export class KeyedSlots {
  readonly #slots = new Map<string, Slots>()

  constructor(private readonly optionsOf: (key: string) => SlotsOptions) {}

  /** Runs work when a slot of the key is free. @throws the error of a full queue */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const slots = this.#slots.get(key) ?? new Slots(this.optionsOf(key))
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
