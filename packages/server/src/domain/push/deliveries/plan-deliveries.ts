/** Decides what each device of an audience gets; reads and writes nothing. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { pushDeliveryState, userStatus } from '@hermod/protocol/enums'
import { chunksOf } from '../../../lib/chunks.js'
import { groupBy } from '../../../lib/group-by.js'
import type { ConnectedDevice } from '../../../push/core-channel.js'
import { type PushPreferences, preferencesAt } from '../preferences/push-window.js'
import type { Recipient, StoredPushTask, Suppression } from '../tasks/task-model.js'
import type { CountChange } from '../tasks/task-statements.js'
import {
  type ChannelChoice,
  chooseChannel,
  type DeviceBinding,
  type UsableCertificate,
} from './channel-choice.js'
import { type Delivery, type NewDelivery, tokenHash } from './delivery-model.js'
import { type DeliveryStep, withSteps } from './delivery-step.js'
import type { RecipientFacts } from './recipient-facts.js'
import type { BadgeOfUser, PlannedDeliveries } from './store-deliveries.js'

/** What of a task the planning of its deliveries needs. */
export type PlannedTask = Pick<StoredPushTask, 'appId' | 'taskId' | 'content'>

/** A task and whom it is for. */
export interface PlannedAudience {
  readonly task: PlannedTask
  readonly recipients: readonly Recipient[]
}

/** The deliveries of a task to some of its users; nothing of them is stored yet, and they are in no batch. */
export interface DeliveryPlan {
  readonly task: PlannedTask
  readonly deliveries: readonly NewDelivery[]
}

/** What an application has that decides about its pushes, in plain data. */
export interface PlanSurroundings {
  readonly certificates: readonly UsableCertificate[]
  readonly connected: readonly ConnectedDevice[]
  readonly timeZone: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** A batch that deliveries may be put into, and the job that sends it. */
export interface NewBatch {
  readonly batchId: Int64
  /** A row of insertJobs. */
  readonly job: readonly unknown[]
}

/** What is the same for all devices of a task. */
interface Planning {
  readonly task: PlannedTask
  /** By name. */
  readonly certificates: ReadonlyMap<string, UsableCertificate>
  readonly timeZone: string
  readonly now: number
  /** See {@link firstSteps}. */
  readonly steps: Map<string, string>
}

/** @returns a plan for each audience, in their order */
export function planDeliveries(
  audiences: readonly PlannedAudience[],
  facts: ReadonlyMap<Int64, RecipientFacts>,
  { certificates, connected, timeZone, now }: PlanSurroundings,
): DeliveryPlan[] {
  const shared = {
    certificates: new Map(certificates.map((certificate) => [certificate.name, certificate])),
    timeZone,
    now,
    steps: new Map<string, string>(),
  }
  const connectedOf = groupBy(connected, ({ userId }) => userId)
  return audiences.map(({ task, recipients }) => {
    const planning = { ...shared, task }
    const deliveries = recipients.flatMap((recipient) => {
      const user = facts.get(recipient.userId)
      const online = connectedOf.get(recipient.userId) ?? []
      return user ? deliveriesTo(recipient, user, online, planning) : []
    })
    return { task, deliveries }
  })
}

/** How many deliveries of plans are to be sent. */
export function countPending(plans: readonly DeliveryPlan[]): number {
  return plans.reduce((sum, { deliveries }) => sum + deliveries.filter(isPending).length, 0)
}

/**
 * What is stored of plans of one application.
 * @param batches what is to be sent is divided among them; those that get nothing are left out
 */
export function prepareDeliveries(
  appId: string,
  plans: readonly DeliveryPlan[],
  batches: readonly NewBatch[],
): PlannedDeliveries {
  const all = plans.flatMap(({ deliveries }) => deliveries)
  const pending = all.filter(isPending)
  const parts = chunksOf(pending, Math.ceil(pending.length / batches.length))
  return {
    appId,
    batches: [
      ...parts.map((deliveries, index) => ({
        batchId: batches[index]?.batchId ?? 0,
        deliveries,
      })),
      { batchId: 0, deliveries: all.filter((delivery) => !isPending(delivery)) },
    ],
    badges: plans.flatMap(badgesOf),
    devices: plans.map(({ task: { taskId }, deliveries }) => ({
      appId,
      taskId,
      devices: deliveries.length,
      finished: deliveries.filter((delivery) => !isPending(delivery)).length,
    })),
    counts: plans.flatMap(targetsOf),
    jobs: batches.slice(0, parts.length).map(({ job }) => job),
  }
}

function badgesOf({ task, deliveries }: DeliveryPlan): BadgeOfUser[] {
  const { badge: change } = task.content.notification
  if (change === null) return []
  const userIds = new Set(deliveries.filter(isPending).map(({ userId }) => userId))
  return [...userIds].map((userId) => ({ taskId: task.taskId, userId, change }))
}

function targetsOf({ task: { appId, taskId }, deliveries }: DeliveryPlan): CountChange[] {
  const byChannel = groupBy(deliveries.filter(isPending), ({ channel }) => channel)
  return [...byChannel].map(([channel, { length }]) => {
    if (channel === '') throw new Error('a pending delivery has a channel')
    return { appId, taskId, channel, target: length, sent: 0, received: 0 }
  })
}

function isPending({ state }: Pick<Delivery, 'state'>): boolean {
  return state === pushDeliveryState.pending
}

/** One for each device that is bound or connected. */
function deliveriesTo(
  recipient: Recipient,
  user: RecipientFacts,
  online: readonly ConnectedDevice[],
  planning: Planning,
): NewDelivery[] {
  const preferences = preferencesAt(user.settings, planning.now, planning.timeZone)
  const connected = online.map(({ deviceSn }) => deviceSn)
  const devices = new Set([...user.bindings.keys(), ...connected])
  return [...devices]
    .filter((deviceSn) => recipient.deviceSns?.includes(deviceSn) ?? true)
    .map((deviceSn) => {
      const bindings = user.bindings.get(deviceSn) ?? []
      const device = { deviceSn, bindings, isConnected: connected.includes(deviceSn) }
      return deliveryTo(recipient, device, { status: user.status, preferences }, planning)
    })
}

interface PlannedDevice {
  readonly deviceSn: number
  readonly bindings: readonly DeviceBinding[]
  readonly isConnected: boolean
}

function deliveryTo(
  recipient: Recipient,
  { deviceSn, bindings, isConnected }: PlannedDevice,
  { status, preferences }: { readonly status: number; readonly preferences: PushPreferences },
  planning: Planning,
): NewDelivery {
  const { task, certificates, now } = planning
  const { audience, strategy, sequence } = task.content
  const choice = chooseChannel({ strategy, sequence, isConnected, bindings, certificates, now })
  const suppressedBy: Suppression | null =
    recipient.suppressedBy ??
    (status === userStatus.disabled ? 'user_disabled' : null) ??
    // A connected device has the message already.
    (audience.kind === 'message' && isConnected ? 'connected' : null) ??
    preferences.suppressedBy ??
    (choice.kind === 'none' ? choice.reason : null)
  const way = suppressedBy === null ? wayOf(choice) : noWay
  return {
    appId: task.appId,
    taskId: task.taskId,
    userId: recipient.userId,
    deviceSn,
    state: suppressedBy === null ? pushDeliveryState.pending : pushDeliveryState.suppressed,
    channel: way.channel,
    certificateId: way.certificateId,
    tokenHash: way.tokenHash,
    isSilent: recipient.isSilent || preferences.isSilent,
    hidesDetails: preferences.hidesDetails,
    steps: firstSteps(suppressedBy, way, planning),
  }
}

/** The same text for all devices to which the same happens. */
function firstSteps(suppressedBy: Suppression | null, { step }: Way, { steps, now }: Planning) {
  const key = suppressedBy ?? `${step.channel} ${step.certificate}`
  const known = steps.get(key)
  if (known !== undefined) return known
  const second: DeliveryStep =
    suppressedBy === null
      ? { at: now, step: 'channel_chosen', ...step }
      : { at: now, step: 'suppressed', result: suppressedBy }
  const text = withSteps('', { at: now, step: 'matched' }, second)
  steps.set(key, text)
  return text
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
