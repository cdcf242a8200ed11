import { type Int64, pushDeliveryState, userStatus } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import type { ConnectedDevice, CoreChannel } from '../../../push/core-channel.js'
import type { AppService } from '../../apps/app-service.js'
import type { KnownCertificates, PushCertificateEntry } from '../certificates/certificate-model.js'
import { preferencesAt } from '../preferences/push-window.js'
import { sendBatch } from '../tasks/push-jobs.js'
import type { Recipient, StoredPushTask, Suppression } from '../tasks/task-model.js'
import type { CountChange } from '../tasks/task-statements.js'
import type { NewPushTask } from '../tasks/task-store.js'
import { type ChannelChoice, chooseChannel } from './channel-choice.js'
import { type Delivery, tokenHash } from './delivery-model.js'
import { type DeliveryStep, withSteps } from './delivery-step.js'
import { deviceName, type RecipientFacts, type RecipientStore } from './recipient-store.js'
import { type BadgeOfUser, type PlannedDeliveries, storeDeliveries } from './store-deliveries.js'

/** What of a task the planning of its deliveries needs. */
export type PlannedTask = Pick<StoredPushTask | NewPushTask, 'appId' | 'taskId' | 'content'>

/** The deliveries of a task to some of its users; nothing of them is stored yet. */
export interface DeliveryPlan {
  readonly task: PlannedTask
  readonly deliveries: readonly PlannedDelivery[]
}

/** A task and whom it is for. */
export interface PlannedAudience {
  readonly task: PlannedTask
  readonly recipients: readonly Recipient[]
}

type PlannedDelivery = Omit<Delivery, 'batchId' | 'badge'>

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

/** So many deliveries are sent together. */
const deliveriesPerBatch = 250

interface PlanningFacts {
  readonly task: PlannedTask
  readonly facts: ReadonlyMap<Int64, RecipientFacts>
  readonly certificates: ReadonlyMap<string, PushCertificateEntry>
  /** Named by {@link deviceName}. */
  readonly connected: ReadonlySet<string>
  readonly timeZone: string
  readonly now: number
}

/** Gives every device of a user its delivery: through which channel, with what badge, or why not. */
export class DeliveryPlanner {
  constructor(private readonly options: DeliveryPlannerOptions) {}

  /** Reads and decides. */
  async plan(task: PlannedTask, recipients: readonly Recipient[]): Promise<DeliveryPlan> {
    const [plan] = await this.planAll([{ task, recipients }])
    return plan ?? { task, deliveries: [] }
  }

  /** As {@link plan}, for tasks of one application; a plan for each in their order. */
  async planAll(audiences: readonly PlannedAudience[]): Promise<DeliveryPlan[]> {
    const { database, recipients: store, apps, certificates, core, clock } = this.options
    const [first] = audiences
    if (!first) return []
    const { appId } = first.task
    const userIds = [
      ...new Set(audiences.flatMap(({ recipients }) => recipients.map(({ userId }) => userId))),
    ]
    const [facts, entries, connected, app] = await Promise.all([
      database.read((db) => store.facts(db, appId, userIds)),
      certificates.of(appId),
      core.connected(appId, userIds),
      apps.get(appId),
    ])
    const surroundings = {
      facts,
      certificates: new Map(entries.map((entry) => [entry.name, entry])),
      connected: new Set(connected.map(deviceName)),
      timeZone: app.settings.time_zone,
      now: clock.now(),
    }
    const connectedOf = groupBy(connected, ({ userId }) => userId)
    return audiences.map(({ task, recipients }) => ({
      task,
      deliveries: recipients.flatMap((recipient) =>
        deliveriesTo(recipient, connectedOf.get(recipient.userId) ?? [], { ...surroundings, task }),
      ),
    }))
  }

  /** Stores plans of one application: deliveries, badges, counts and the jobs that send. */
  async store(tx: Tx, plans: readonly DeliveryPlan[]): Promise<void> {
    const planned = this.prepare(plans)
    if (!planned) return
    await storeDeliveries(this.options.database.contextOf(tx), planned)
    tx.afterCommit(() => this.announce(planned))
  }

  /** What is stored of plans of one application; null for none. */
  prepare(plans: readonly DeliveryPlan[]): PlannedDeliveries | null {
    const { ids, jobs } = this.options
    const [first] = plans
    if (!first) return null
    const { appId } = first.task
    const all = plans.flatMap(({ deliveries }) => deliveries)
    const pending = all.filter(isPending)
    const batches = chunksOf(pending, deliveriesPerBatch)
    const batchIds = ids.takeReserved(batches.length)
    return {
      appId,
      deliveries: [
        ...batches.flatMap((batch, index) =>
          batch.map((delivery) => ({ ...delivery, badge: null, batchId: batchIds[index] ?? 0 })),
        ),
        ...all
          .filter((delivery) => !isPending(delivery))
          .map((delivery) => ({ ...delivery, badge: null, batchId: 0 })),
      ],
      badges: plans.flatMap(badgesOf),
      devices: plans.map(({ task: { taskId }, deliveries }) => ({
        appId,
        taskId,
        devices: deliveries.length,
        finished: deliveries.filter((delivery) => !isPending(delivery)).length,
      })),
      counts: pending.map(targetOf),
      jobs: jobs.rows(
        sendBatch,
        appId,
        batchIds.map((batchId) => ({ batchId })),
      ),
    }
  }

  /** What was prepared is committed. */
  announce({ jobs }: PlannedDeliveries): void {
    if (jobs.length > 0) this.options.jobs.announce(sendBatch)
  }
}

function badgesOf({ task, deliveries }: DeliveryPlan): BadgeOfUser[] {
  const { badge: change } = task.content.notification
  if (change === null) return []
  const userIds = new Set(deliveries.filter(isPending).map(({ userId }) => userId))
  return [...userIds].map((userId) => ({ taskId: task.taskId, userId, change }))
}

function isPending({ state }: Pick<Delivery, 'state'>): boolean {
  return state === pushDeliveryState.pending
}

function targetOf({ appId, taskId, channel }: PlannedDelivery): CountChange {
  if (channel === '') throw new Error('a pending delivery has a channel')
  return { appId, taskId, channel, target: 1, sent: 0, received: 0 }
}

/** One for each device that is bound or connected. */
function deliveriesTo(
  recipient: Recipient,
  online: readonly ConnectedDevice[],
  surroundings: PlanningFacts,
): PlannedDelivery[] {
  const user = surroundings.facts.get(recipient.userId)
  if (!user) return []
  const devices = new Set([...user.bindings.keys(), ...online.map(({ deviceSn }) => deviceSn)])
  return [...devices]
    .filter((deviceSn) => recipient.deviceSns?.includes(deviceSn) ?? true)
    .map((deviceSn) => deliveryTo(recipient, deviceSn, user, surroundings))
}

function deliveryTo(
  recipient: Recipient,
  deviceSn: number,
  user: RecipientFacts,
  { task, certificates, connected, timeZone, now }: PlanningFacts,
): PlannedDelivery {
  const { appId, taskId, content } = task
  const { userId } = recipient
  const preferences = preferencesAt(user.settings, now, timeZone)
  const isConnected = connected.has(deviceName({ userId, deviceSn }))
  const choice = chooseChannel({
    ...content,
    isConnected,
    bindings: user.bindings.get(deviceSn) ?? [],
    certificates,
    now,
  })
  const suppressedBy: Suppression | null =
    recipient.suppressedBy ??
    (user.status === userStatus.disabled ? 'user_disabled' : null) ??
    // A connected device has the message already.
    (content.audience.kind === 'message' && isConnected ? 'connected' : null) ??
    preferences.suppressedBy ??
    (choice.kind === 'none' ? choice.reason : null)
  const way = suppressedBy === null ? wayOf(choice) : noWay
  const steps: DeliveryStep[] = [{ at: now, step: 'matched' }]
  if (suppressedBy !== null) steps.push({ at: now, step: 'suppressed', result: suppressedBy })
  else steps.push({ at: now, step: 'channel_chosen', ...way.step })
  return {
    appId,
    taskId,
    userId,
    deviceSn,
    state: suppressedBy === null ? pushDeliveryState.pending : pushDeliveryState.suppressed,
    channel: way.channel,
    certificateId: way.certificateId,
    tokenHash: way.tokenHash,
    messageId: '',
    attempts: 0,
    nextAt: 0,
    isSilent: recipient.isSilent || preferences.isSilent,
    hidesDetails: preferences.hidesDetails,
    receivedAt: null,
    steps: withSteps('', ...steps),
  }
}

type Way = Pick<Delivery, 'channel' | 'certificateId' | 'tokenHash'> & {
  readonly step: Pick<DeliveryStep, 'channel' | 'certificate'>
}

const noWay: Way = { channel: '', certificateId: 0, tokenHash: '', step: {} }

/** A chosen channel as a delivery remembers it. */
export function wayOf(choice: ChannelChoice): Way {
  if (choice.kind === 'none') return noWay
  if (choice.kind === 'core') return { ...noWay, channel: 'core', step: { channel: 'core' } }
  const { certificate, binding } = choice
  const { channel } = certificate.gateway
  return {
    channel,
    certificateId: certificate.certificateId,
    tokenHash: tokenHash(binding.deviceToken),
    step: { channel, certificate: certificate.name },
  }
}
