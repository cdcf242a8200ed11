import type { Database } from '../db/database.js'
import type { Epoch } from '../db/identity/epoch.js'
import type { NodeDelivery } from '../delivery/node-delivery.js'
import type { ServiceState } from '../domain/service-state/service-state.js'
import type { SessionAdmission } from '../domain/sessions/session-admission.js'
import type { JobQueue } from '../jobs/job-queue.js'
import type { Clock } from '../lib/clock.js'
import type { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import type { IdGenerator } from '../lib/ids/ids.js'
import type { ThisNode } from '../nodes/node.js'
import type { Shares } from '../nodes/shares.js'
import type { Logger } from '../observability/log.js'
import type { Metrics } from '../observability/metrics.js'
import type { Outbox } from '../outbox/outbox.js'
import type { SessionDirectory } from '../sessions/directory.js'
import type { SeenPositions } from '../outbox/seen-positions.js'
import type { SessionRegistry } from '../sessions/registry.js'
import type { Caches } from './caches.js'
import type { Stores } from './stores.js'

/** The parts that every domain is built on. */
export interface Infrastructure {
  readonly database: Database
  readonly caches: Caches
  readonly stores: Stores
  readonly outbox: Outbox
  readonly epoch: Epoch
  readonly state: ServiceState
  readonly node: ThisNode
  readonly shares: Shares
  readonly jobs: JobQueue
  /** Those of this node. */
  readonly sessions: SessionRegistry
  /** null where history cannot be lost while the process runs */
  readonly seen: SeenPositions | null
  /** The connected devices of all nodes. */
  readonly directory: SessionDirectory
  readonly admission: SessionAdmission
  /** Takes new messages over in memory after their commit, and sends events that are not stored. */
  readonly delivery: NodeDelivery
  readonly ids: IdGenerator
  readonly clock: Clock
  readonly budget: EventLoopBudget
  readonly metrics: Metrics
  readonly log: Logger
}
