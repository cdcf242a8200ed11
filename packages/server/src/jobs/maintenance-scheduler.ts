/** Work that is done now and then, a limited amount at a time. */
export interface Chore {
  readonly name: string
  /** @param signal aborted when the work is to end soon */
  run(signal: AbortSignal): Promise<void>
}

/** Runs chores every so often, one after another. */
export class Housekeeping {
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(
    private readonly options: {
      readonly chores: readonly Chore[]
      readonly intervalMs: number
      onError(chore: string, error: unknown): void
    },
  ) {}

  start(): void {
    this.#timer = setInterval(() => {
      for (const chore of this.options.chores) this.wake(chore)
    }, this.options.intervalMs)
    this.#timer.unref()
  }

  /** Runs a chore as soon as those before it are done. */
  wake(chore: Chore): void {
    this.#running = this.#running.then(() => this.#run(chore))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(chore: Chore): Promise<void> {
    const { signal } = this.#stopping
    try {
      if (!signal.aborted) await chore.run(signal)
    } catch (error) {
      this.options.onError(chore.name, error)
    }
  }
}
