import { randomUUID } from 'node:crypto'
import type { LeaseStore } from './lease-store.js'

/** Upkeep that is done over and over, a limited amount at a time. */
export interface MaintenanceTask {
  readonly name: string
  readonly intervalMs: number
  /** @param signal aborted when the work is to end soon */
  run(signal: AbortSignal): Promise<void>
}

export interface MaintenanceObserver {
  finished(task: string, outcome: 'done' | 'failed', seconds: number): void
  failed(task: string, error: unknown): void
}

export interface MaintenanceSchedulerOptions {
  readonly tasks: readonly MaintenanceTask[]
  readonly leases: Pick<LeaseStore, 'acquire' | 'release'>
  readonly observer: MaintenanceObserver
}

const shortestLeaseMs = 30_000

/**
 * Runs each task every so often, on one node at a time: the node that has its lease, which is longer than the time between two runs, so
 * that a task stays on its node for as long as that lives. Tasks do not wait for one another, and a task that still runs is not begun
 * again.
 */
export class MaintenanceScheduler {
  readonly #owner = randomUUID()
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #timers: NodeJS.Timeout[] = []
  /** Names of leases. */
  readonly #leases = new Set<string>()

  constructor(private readonly options: MaintenanceSchedulerOptions) {}

  start(): void {
    for (const task of this.options.tasks)
      this.#timers.push(setInterval(() => this.#begin(task), task.intervalMs).unref())
  }

  /** Waits for what is running now. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  /** Waits for what is running, which is asked to end, and leaves the tasks to other nodes. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of this.#timers.splice(0)) clearInterval(timer)
    await this.idle()
    const { leases } = this.options
    // A lease that cannot be given back ends by itself.
    for (const lease of this.#leases) await leases.release(lease, this.#owner).catch(() => {})
  }

  #begin(task: MaintenanceTask): void {
    if (this.#stopping.signal.aborted || this.#running.has(task.name)) return
    const running = this.#run(task).finally(() => this.#running.delete(task.name))
    this.#running.set(task.name, running)
  }

  async #run(task: MaintenanceTask): Promise<void> {
    const { leases, observer } = this.options
    const lease = `maintenance/${task.name}`
    const ttlMs = Math.max(2 * task.intervalMs, shortestLeaseMs)
    const lost = new AbortController()
    const startedAt = performance.now()
    const renew = () =>
      leases.acquire(lease, this.#owner, ttlMs).then(
        (isOurs) => isOurs || lost.abort(new Error('the lease is lost')),
        (error: unknown) => observer.failed(task.name, error),
      )
    let renewal: NodeJS.Timeout | undefined
    const finished = (outcome: 'done' | 'failed') =>
      observer.finished(task.name, outcome, (performance.now() - startedAt) / 1_000)
    try {
      if (!(await leases.acquire(lease, this.#owner, ttlMs))) return
      this.#leases.add(lease)
      renewal = setInterval(renew, ttlMs / 3)
      await task.run(AbortSignal.any([this.#stopping.signal, lost.signal]))
      finished('done')
    } catch (error) {
      finished('failed')
      observer.failed(task.name, error)
    } finally {
      clearInterval(renewal)
    }
  }
}
