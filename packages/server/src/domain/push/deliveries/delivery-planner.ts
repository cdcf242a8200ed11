import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { insertJobs, jobRow } from '../../../jobs/job-statements.js'
import type { Clock } from '../../../lib/clock.js'
import { definedOnly } from '../../../lib/defined-only.js'
import type { CoreChannel } from '../../../push/core-channel.js'
import type { AppService } from '../../apps/app-service.js'
import type { KnownCertificates } from '../certificates/certificate-model.js'
import { isOfMessage } from '../content/task-content.js'
import { sendBatch } from '../tasks/push-jobs.js'
import { addDevices } from '../tasks/task-statements.js'
import {
  countPending,
  type DeliveryPlan,
  type PlanInputs,
  type PlannedAudience,
  planDeliveries,
  prepareDeliveries,
} from './plan-deliveries.js'
import type { RecipientStore } from './recipient-inputs.js'
import { storeDeliveries } from './store-deliveries.js'

interface DeliveryPlannerOptions {
  readonly database: Database
  readonly recipients: RecipientStore
  readonly apps: AppService
  readonly certificates: KnownCertificates
  readonly core: Pick<CoreChannel, 'connected' | 'probe'>
  readonly jobs: JobQueue
  readonly ids: { takeReserved(count: number): number[] }
  readonly clock: Clock
}

/** The size of the batches of small audiences. */
const deliveriesPerBatch = 250

/**
 * Plans and stores deliveries: one for each device, with its channel and badge or the reason why it
 * gets none.
 */
export class DeliveryPlanner {
  constructor(private readonly options: DeliveryPlannerOptions) {}

  /** Plans the deliveries of tasks of one application. @returns a plan for each, in their order */
  async planAll(audiences: readonly PlannedAudience[]): Promise<DeliveryPlan[]> {
    const { database, recipients } = this.options
    const [first] = audiences
    if (!first) return []
    const { appId } = first.task
    const userIds = [
      ...new Set(audiences.flatMap(({ recipients }) => recipients.map(({ userId }) => userId))),
    ]
    const [users, inputs] = await Promise.all([
      database.read((db) => recipients.inputs(db, appId, userIds)),
      this.inputs(
        appId,
        userIds,
        audiences.some(({ task }) => isOfMessage(task.content)),
      ),
    ])
    return planDeliveries(audiences, users, inputs)
  }

  /**
   * The inputs of a plan that are not stored with the users.
   * @param probes true for messages: connected devices are pinged
   */
  async inputs(appId: string, userIds: readonly Int64[], probes: boolean): Promise<PlanInputs> {
    const { apps, certificates, core, clock } = this.options
    const [entries, connected, app] = await Promise.all([
      certificates.of(appId),
      probes ? core.probe(appId, userIds) : core.connected(appId, userIds),
      apps.get(appId),
    ])
    return {
      certificates: entries.map(({ certificateId, name, gateway: { channel, pushType } }) => ({
        certificateId,
        name,
        gateway: definedOnly({ channel, pushType }),
      })),
      connected,
      timeZone: app.settings.time_zone,
      now: clock.now(),
    }
  }

  /** Stores plans of one application: deliveries, badges, counts and the jobs that send. @throws IdsRunOut */
  async store(tx: Tx, plans: readonly DeliveryPlan[]): Promise<void> {
    const { database, ids, jobs } = this.options
    const [first] = plans
    if (!first) return
    const { appId } = first.task
    const count = Math.ceil(countPending(plans) / deliveriesPerBatch)
    const batchIds = ids.takeReserved(count)
    const planned = prepareDeliveries(appId, plans, batchIds)
    const newJobs = planned.batches.flatMap(({ batchId, runAt }) =>
      batchId === 0 ? [] : [{ appId, payload: { batchId }, ...(runAt > 0 && { runAt }) }],
    )
    const context = database.contextOf(tx)
    await Promise.all([
      storeDeliveries(context, planned),
      context.run(
        insertJobs,
        jobs.values(sendBatch, newJobs).map((job) => jobRow(job)),
      ),
    ])
    await addDevices(context, planned.devices)
    if (count > 0) tx.afterCommit(() => jobs.announce(sendBatch))
  }
}
