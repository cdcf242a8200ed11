/** Work that is done now and then, a limited amount at a time. */
export interface MaintenanceTask {
  readonly name: string
  /** @param signal aborted when the work is to end soon */
  run(signal: AbortSignal): Promise<void>
}

/** Runs tasks every so often, one after another. */
export class MaintenanceScheduler {
  readonly #stopping = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(
    private readonly options: {
      readonly tasks: readonly MaintenanceTask[]
      readonly intervalMs: number
      onError(task: string, error: unknown): void
    },
  ) {}

  start(): void {
    this.#timer = setInterval(() => {
      for (const task of this.options.tasks) this.wake(task)
    }, this.options.intervalMs)
    this.#timer.unref()
  }

  /** Runs a task as soon as those before it are done. */
  wake(task: MaintenanceTask): void {
    this.#running = this.#running.then(() => this.#run(task))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(task: MaintenanceTask): Promise<void> {
    const { signal } = this.#stopping
    try {
      if (!signal.aborted) await task.run(signal)
    } catch (error) {
      this.options.onError(task.name, error)
    }
  }
}
