import type { Bus } from '../../bus/bus.js'
import type { Database } from '../../db/database.js'
import { jobPurge } from '../../jobs/job-purge.js'
import { JobWorker } from '../../jobs/job-worker.js'
import { MaintenanceScheduler } from '../../jobs/maintenance-scheduler.js'
import { type Clock, minuteMs } from '../../lib/clock.js'
import { Lifecycle } from '../../lib/lifecycle.js'
import type { RunningShares } from '../../nodes/shares.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { SeenPositions } from '../../outbox/seen-positions.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Domain } from '../domain.js'
import type { Stores } from '../stores.js'
import { endJobLeases } from './job-leases.js'
import { createRelay, outboxObserver } from './outbox.js'

interface WorkersOptions {
  readonly database: Database
  readonly bus: Bus
  readonly stores: Pick<Stores, 'jobs' | 'outbox' | 'storedMessages'>
  readonly shares: RunningShares
  /** The lag of a consumer after which events are removed although it has not seen them. */
  readonly maxLagMs: number
  readonly domains: readonly Domain[]
  readonly metrics: Metrics
  /** null where history cannot be lost while the process runs */
  readonly seen: SeenPositions | null
  readonly log: Logger
  readonly clock: Clock
}

/** The background work of the service: outbox relay, jobs and maintenance tasks. */
export interface Workers {
  start(): Promise<void>
  /** Takes no more jobs, and waits for those that run. */
  finishJobs(): Promise<void>
  stop(): Promise<void>
}

/** Joins the background work of all domains. */
export function createWorkers({
  database,
  bus,
  stores,
  shares,
  maxLagMs,
  domains,
  metrics,
  seen,
  log,
  clock,
}: WorkersOptions): Workers {
  const { relay, purge } = createRelay({
    database,
    bus,
    stores,
    shares,
    clock,
    maxLagMs,
    consumers: domains.flatMap(({ consumers = [] }) => consumers),
    holders: domains.flatMap(({ logHolders = [] }) => logHolders),
    observer: outboxObserver(log, metrics, seen),
  })
  const jobs = new JobWorker({
    database,
    store: stores.jobs,
    handlers: domains.flatMap(({ jobHandlers = [] }) => jobHandlers),
    observer: {
      finished: metrics.background.jobFinished.bind(metrics.background),
      failed(kind, error) {
        if (!isDatabaseFailure(error)) log.warn({ kind, err: error }, 'job failed')
      },
      overdue: metrics.background.jobsOverdue.bind(metrics.background),
    },
    clock,
  })
  const maintenance = new MaintenanceScheduler({
    tasks: [
      ...domains.flatMap(({ maintenanceTasks = [] }) => maintenanceTasks),
      { name: 'old events', intervalMs: minuteMs, run: (signal) => purge.run(signal) },
      {
        name: 'finished jobs',
        intervalMs: 10 * minuteMs,
        run: jobPurge({ database, store: stores.jobs, clock }),
      },
    ],
    shares,
    observer: {
      finished: metrics.background.maintenanceFinished.bind(metrics.background),
      failed(task, error) {
        if (!isDatabaseFailure(error)) log.warn({ task, err: error }, 'maintenance failed')
      },
    },
  })
  const followers = domains.flatMap(({ followers: some = [] }) => some)
  const parts = new Lifecycle()
  return {
    async start() {
      parts.add(shares, (each) => each.stop())
      // Added before they start, so that a part that fails to start is stopped too.
      parts.addTogether([jobs, maintenance, relay])
      await endJobLeases({ database, stores, log, clock })
      await shares.start()
      jobs.start()
      const wake = bus.subscribe('jobs.enqueued', ({ kind }) => jobs.wake(kind))
      parts.add(wake, (unsubscribe) => unsubscribe())
      maintenance.start()
      await relay.start()
      for (const follower of followers) {
        parts.add(follower, (each) => each.stop())
        const woken = bus.subscribe('outbox.appended', ({ appId }) => follower.wake(appId))
        parts.add(woken, (unsubscribe) => unsubscribe())
        await follower.start()
      }
    },
    finishJobs: () => jobs.finish(),
    stop: () => parts.stop(),
  }
}
