/** Work that is done now and then, a limited amount at a time. */
export interface Chore {
  readonly name: string
  run(): Promise<void>
}

/** Runs chores every so often, one after another. */
export class Housekeeping {
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(
    private readonly options: {
      readonly chores: readonly Chore[]
      readonly intervalMs: number
      onError(chore: string, error: unknown): void
    },
  ) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#runAll())
    }, this.options.intervalMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#timer)
    await this.#running
  }

  async #runAll(): Promise<void> {
    for (const chore of this.options.chores) {
      try {
        if (!this.#isStopped) await chore.run()
      } catch (error) {
        this.options.onError(chore.name, error)
      }
    }
  }
}
