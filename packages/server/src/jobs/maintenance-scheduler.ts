import { randomUUID } from 'node:crypto'
import { Lease } from '../lib/concurrency/lease.js'
import type { LeaseStore } from './lease-store.js'

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
  readonly leases: Pick<LeaseStore, 'acquire' | 'release'>
  readonly observer: MaintenanceObserver
}

const shortestLeaseMs = 30_000

/**
 * Runs each task at its interval, on the one node that has its lease. The lease is longer than the
 * interval, so that a task stays on its node while that lives. Tasks do not wait for one another,
 * and a task that still runs is not started again.
 */
export class MaintenanceScheduler {
  readonly #owner = randomUUID()
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()
  readonly #timers: NodeJS.Timeout[] = []
  /** Leases by the name of their task. */
  readonly #leases = new Map<string, Lease>()

  constructor(private readonly options: MaintenanceSchedulerOptions) {}

  start(): void {
    for (const task of this.options.tasks)
      this.#timers.push(setInterval(() => this.#begin(task), task.intervalMs).unref())
  }

  /** Waits for the running tasks. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  /** Aborts the running tasks, waits for them, and leaves the tasks to other nodes. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const timer of this.#timers.splice(0)) clearInterval(timer)
    await this.idle()
    for (const lease of this.#leases.values()) await lease.release()
  }

  #begin(task: MaintenanceTask): void {
    if (this.#stopping.signal.aborted || this.#running.has(task.name)) return
    const running = this.#run(task).finally(() => this.#running.delete(task.name))
    this.#running.set(task.name, running)
  }

  async #run(task: MaintenanceTask): Promise<void> {
    const { observer } = this.options
    const lease = this.#leaseOf(task)
    const startedAt = performance.now()
    const finished = (outcome: 'done' | 'failed') =>
      observer.finished(task.name, outcome, (performance.now() - startedAt) / 1_000)
    try {
      if (!(await lease.take())) return
      await lease.keep((lost) => task.run(AbortSignal.any([this.#stopping.signal, lost])), {
        failed: (error) => observer.failed(task.name, error),
      })
      finished('done')
    } catch (error) {
      finished('failed')
      observer.failed(task.name, error)
    }
  }

  #leaseOf({ name: task, intervalMs }: MaintenanceTask): Lease {
    const known = this.#leases.get(task)
    if (known) return known
    const { leases } = this.options
    const name = `maintenance/${task}`
    const lease = new Lease({
      ttlMs: Math.max(2 * intervalMs, shortestLeaseMs),
      acquire: (ttlMs) => leases.acquire(name, this.#owner, ttlMs),
      release: () => leases.release(name, this.#owner),
    })
    this.#leases.set(task, lease)
    return lease
  }
}
