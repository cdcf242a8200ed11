import type { Share, Shares } from '../nodes/shares.js'

/** Recurring upkeep; a run does a limited amount. */
export interface MaintenanceTask {
  readonly name: string
  readonly intervalMs: number
  /** @param signal aborted when the run must end soon */
  run(signal: AbortSignal): Promise<void>
}

interface MaintenanceObserver {
  finished(task: string, outcome: 'done' | 'failed', seconds: number): void
  failed(task: string, error: unknown): void
}

interface MaintenanceSchedulerOptions {
  readonly tasks: readonly MaintenanceTask[]
  readonly shares: Shares
  readonly observer: MaintenanceObserver
}

/** A task on this node. */
interface Work {
  readonly task: MaintenanceTask
  readonly share: Share
  /** Aborts the present run. */
  ending: AbortController
  running: Promise<void> | null
}

/**
 * Runs each task at its interval, on the one node that has its share. Tasks do not wait for one
 * another, and a task that still runs is not started again.
 */
export class MaintenanceScheduler {
  readonly #works: readonly Work[]
  readonly #timers: NodeJS.Timeout[] = []
  #isStopped = false

  constructor(private readonly options: MaintenanceSchedulerOptions) {
    this.#works = options.tasks.map((task) => {
      const work: Work = {
        task,
        share: options.shares.add('maintenance', task.name, () => end(work)),
        ending: new AbortController(),
        running: null,
      }
      return work
    })
  }

  start(): void {
    for (const work of this.#works)
      this.#timers.push(setInterval(() => this.#begin(work), work.task.intervalMs).unref())
  }

  /** Waits for the running tasks. */
  async idle(): Promise<void> {
    await Promise.all(this.#works.map(({ running }) => running))
  }

  /** Aborts the running tasks and waits for them. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const timer of this.#timers.splice(0)) clearInterval(timer)
    await Promise.all(this.#works.map(end))
  }

  #begin(work: Work): void {
    if (this.#isStopped || work.running || !work.share.isHeld) return
    work.running = this.#run(work).finally(() => {
      work.running = null
    })
  }

  async #run({ task, ending }: Work): Promise<void> {
    const { observer } = this.options
    const startedAt = performance.now()
    const finished = (outcome: 'done' | 'failed') =>
      observer.finished(task.name, outcome, (performance.now() - startedAt) / 1_000)
    try {
      await task.run(ending.signal)
      finished('done')
    } catch (error) {
      finished('failed')
      observer.failed(task.name, error)
    }
  }
}

/** Aborts the run of a task and waits for it. */
async function end(work: Work): Promise<void> {
  work.ending.abort()
  work.ending = new AbortController()
  await work.running
}
