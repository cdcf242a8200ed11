import type { JobHandler } from '../jobs/job-worker.js'
import type { MaintenanceTask } from '../jobs/maintenance-scheduler.js'
import type { Consumer } from '../outbox/consumer.js'

/** The background work of a domain. */
export interface BackgroundWork {
  readonly consumers?: readonly Consumer[]
  readonly jobHandlers?: readonly JobHandler[]
  readonly maintenanceTasks?: readonly MaintenanceTask[]
}

/** A domain as its create function returns it. */
export interface Domain<Services> extends BackgroundWork {
  readonly services: Services
}
