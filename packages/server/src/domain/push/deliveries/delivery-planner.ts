import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { insertJobs } from '../../../jobs/job-statements.js'
import type { Clock } from '../../../lib/clock.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import type { AppService } from '../../apps/app-service.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import { type SendJob, sendBatch } from '../tasks/push-jobs.js'
import { addDevices } from '../tasks/task-statements.js'
import {
  countPending,
  type DeliveryPlan,
  type PlannedAudience,
  type PlanSurroundings,
  planDeliveries,
  prepareDeliveries,
} from './plan-deliveries.js'
import type { RecipientStore } from './recipient-store.js'
import { storeDeliveries } from './store-deliveries.js'

export interface DeliveryPlannerOptions {
  readonly database: Database
  readonly recipients: RecipientStore
  readonly apps: AppService
  readonly certificates: KnownCertificates
  readonly core: Pick<CoreChannel, 'connected'>
  readonly jobs: JobQueue
  readonly ids: { takeReserved(count: number): number[] }
  readonly clock: Clock
}

/** A batch that deliveries may be put into, and the job that sends it. */
export interface NewBatch {
  readonly batchId: Int64
  /** A row of insertJobs. */
  readonly job: readonly unknown[]
}

/** So many deliveries are sent together. */
const deliveriesPerBatch = 250

/** Gives every device of a user its delivery: through which channel, with what badge, or why not. */
export class DeliveryPlanner {
  constructor(private readonly options: DeliveryPlannerOptions) {}

  /** Reads and decides, for tasks of one application; a plan for each in their order. */
  async planAll(audiences: readonly PlannedAudience[]): Promise<DeliveryPlan[]> {
    const { database, recipients } = this.options
    const [first] = audiences
    if (!first) return []
    const { appId } = first.task
    const userIds = [
      ...new Set(audiences.flatMap(({ recipients }) => recipients.map(({ userId }) => userId))),
    ]
    const [facts, surroundings] = await Promise.all([
      database.read((db) => recipients.facts(db, appId, userIds)),
      this.surroundings(appId, userIds),
    ])
    return planDeliveries(audiences, facts, surroundings)
  }

  /** What decides beside what the users have stored. */
  async surroundings(appId: string, userIds: readonly Int64[]): Promise<PlanSurroundings> {
    const { apps, certificates, core, clock } = this.options
    const [entries, connected, app] = await Promise.all([
      certificates.of(appId),
      core.connected(appId, userIds),
      apps.get(appId),
    ])
    return {
      certificates: entries.map(({ certificateId, name, gateway: { channel } }) => ({
        certificateId,
        name,
        gateway: { channel },
      })),
      connected,
      timeZone: app.settings.time_zone,
      now: clock.now(),
    }
  }

  /** Stores plans of one application: deliveries, badges, counts and the jobs that send. */
  async store(tx: Tx, plans: readonly DeliveryPlan[]): Promise<void> {
    const { database, jobs } = this.options
    const [first] = plans
    if (!first) return
    const { appId } = first.task
    const count = Math.ceil(countPending(plans) / deliveriesPerBatch)
    const batches = this.newBatches(appId, count, sendBatch)
    const planned = prepareDeliveries(
      appId,
      plans,
      batches.map(({ batchId }) => batchId),
    )
    const context = database.contextOf(tx)
    await Promise.all([
      storeDeliveries(context, planned),
      context.run(
        insertJobs,
        batches.map(({ job }) => job),
      ),
    ])
    await addDevices(context, planned.devices)
    if (count > 0) tx.afterCommit(() => jobs.announce(sendBatch))
  }

  /** @throws IdsRunOut */
  newBatches(appId: string, count: number, kind: SendJob): NewBatch[] {
    const batchIds = this.options.ids.takeReserved(count)
    const rows = this.options.jobs.rows(
      kind,
      appId,
      batchIds.map((batchId) => ({ batchId })),
    )
    return rows.map((job, index) => ({ batchId: batchIds[index] ?? 0, job }))
  }
}
