import type { MetricRegistry } from './metric-registry.js'
import type { Counter, Gauge, Histogram } from './prom-client.js'

const taskBuckets = [0.01, 0.1, 1, 10, 60, 300]

/** Rows of the history that retention has removed. */
export interface RemovedHistory {
  readonly messages: number
  readonly recalled: number
  readonly changes: number
}

/** Consumers of the outbox, durable jobs and maintenance tasks. */
export class BackgroundMetrics {
  readonly #consumerLag: Gauge<'consumer'>
  readonly #consumersLeftBehind: Counter<'consumer'>
  readonly #jobs: Counter<'kind' | 'outcome'>
  readonly #jobSeconds: Histogram<'kind'>
  readonly #overdueJobs: Gauge<'kind'>
  readonly #maintenance: Counter<'task' | 'outcome'>
  readonly #maintenanceSeconds: Histogram<'task'>
  readonly #historyRemoved: Counter<'rows'>

  constructor(registry: MetricRegistry) {
    this.#consumerLag = registry.gauge(
      'hermod_outbox_consumer_lag_rows',
      'Rows of the outbox that a consumer has not handled yet; reported by the node that runs it.',
      ['consumer'],
    )
    this.#consumersLeftBehind = registry.counter(
      'hermod_outbox_consumers_left_behind_total',
      'Times that events were deleted before a consumer had handled them.',
      ['consumer'],
    )
    this.#jobs = registry.counter(
      'hermod_jobs_total',
      'Runs of durable jobs by kind and outcome: done, retried, failed, expired, interrupted or lost.',
      ['kind', 'outcome'],
    )
    this.#jobSeconds = registry.histogram(
      'hermod_job_duration_seconds',
      'Time of a run of durable jobs, by kind.',
      taskBuckets,
      ['kind'],
    )
    this.#overdueJobs = registry.gauge(
      'hermod_jobs_overdue_seconds',
      'Time since the oldest waiting durable job was due, by kind.',
      ['kind'],
    )
    this.#maintenance = registry.counter(
      'hermod_maintenance_runs_total',
      'Runs of maintenance tasks on this node by task and outcome: done or failed.',
      ['task', 'outcome'],
    )
    this.#maintenanceSeconds = registry.histogram(
      'hermod_maintenance_duration_seconds',
      'Time of a run of a maintenance task, by task.',
      taskBuckets,
      ['task'],
    )
    this.#historyRemoved = registry.counter(
      'hermod_history_removed_total',
      'Rows of the history that were removed because of their age: messages, recalled (tombstones of recalled messages) or changes.',
      ['rows'],
    )
  }

  consumerLags(consumer: string, rows: number): void {
    this.#consumerLag.set({ consumer }, rows)
  }

  consumerLeftBehind(consumer: string): void {
    this.#consumersLeftBehind.inc({ consumer })
  }

  jobFinished(kind: string, outcome: string, jobs: number, seconds: number): void {
    this.#jobs.inc({ kind, outcome }, jobs)
    this.#jobSeconds.observe({ kind }, seconds)
  }

  jobsOverdue(kind: string, ms: number): void {
    this.#overdueJobs.set({ kind }, ms / 1_000)
  }

  maintenanceFinished(task: string, outcome: string, seconds: number): void {
    this.#maintenance.inc({ task, outcome })
    this.#maintenanceSeconds.observe({ task }, seconds)
  }

  historyRemoved(removed: RemovedHistory): void {
    for (const [rows, count] of Object.entries(removed))
      if (count > 0) this.#historyRemoved.inc({ rows }, count)
  }
}
