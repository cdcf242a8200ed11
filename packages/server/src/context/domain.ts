import type { LongJobHandler } from '../domain/long-jobs/long-job-model.js'
import type { JobHandler } from '../jobs/job-worker.js'
import type { MaintenanceTask } from '../jobs/maintenance-scheduler.js'
import type { Consumer } from '../outbox/consumer.js'
import type { LogHolder } from '../outbox/outbox-purge.js'

/** Work that follows the outbox with its own positions. */
export interface BackgroundFollower {
  start(): Promise<void>
  /** Something was appended for the app, on this node or another one. */
  wake(appId: string): void
  stop(): Promise<void>
}

/** The background work of a domain. */
export interface BackgroundWork {
  readonly followers?: readonly BackgroundFollower[]
  /** Positions of the outbox up to which rows may be deleted; see OutboxPurge. */
  readonly logHolders?: readonly LogHolder[]
  readonly consumers?: readonly Consumer[]
  readonly jobHandlers?: readonly JobHandler[]
  readonly longJobHandlers?: readonly LongJobHandler[]
  readonly maintenanceTasks?: readonly MaintenanceTask[]
}

/** A domain as its create function returns it. */
export interface Domain extends BackgroundWork {
  readonly services: object
}
