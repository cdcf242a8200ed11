/** Decides what each device of an audience gets; reads and writes nothing. Loaded by the writer's thread too. */
import type { Int64, PushChannel } from '@hermod/protocol'
import { pushDeliveryState, userStatus } from '@hermod/protocol/enums'
import { chunksOf } from '../../../lib/chunks.js'
import { groupBy } from '../../../lib/group-by.js'
import type { ConnectedDevice } from '../../../push/core-channel.js'
import type { DeviceCounts } from '../batches/batch-model.js'
import { type PushPreferences, preferencesAt } from '../preferences/push-window.js'
import type { Recipient, StoredPushTask, Suppression } from '../tasks/task-model.js'
import { type CountChange, targetsAdded } from '../tasks/task-statements.js'
import { type ChannelChoice, chooseChannel, type UsableCertificate } from './channel-choice.js'
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

/** What is the same for all devices of a task. */
interface Planning {
  readonly task: PlannedTask
  readonly now: number
  /** See {@link firstSteps}. */
  readonly steps: Map<string, string>
}

/** @returns a plan for each audience, in their order */
export function planDeliveries(
  audiences: readonly PlannedAudience[],
  facts: ReadonlyMap<Int64, RecipientFacts>,
  surroundings: PlanSurroundings,
): DeliveryPlan[] {
  const steps = new Map<string, string>()
  return audiences.map((audience) => {
    const { task } = audience
    const planning = { task, now: surroundings.now, steps }
    const decisions = decide(audience, facts, surroundings)
    return { task, deliveries: decisions.map((decision) => deliveryOf(decision, planning)) }
  })
}

/** The deliveries that {@link planDeliveries} would make. */
export function countDeliveries(
  audience: PlannedAudience,
  facts: ReadonlyMap<Int64, RecipientFacts>,
  surroundings: PlanSurroundings,
): DeviceCounts {
  const decisions = decide(audience, facts, surroundings)
  const targets = new Map<PushChannel, number>()
  for (const { suppressedBy, choice } of decisions) {
    if (suppressedBy !== null || choice.kind === 'none') continue
    const channel = choice.kind === 'core' ? 'core' : choice.certificate.gateway.channel
    targets.set(channel, (targets.get(channel) ?? 0) + 1)
  }
  return { devices: decisions.length, targets }
}

/** How many deliveries of plans are to be sent. */
export function countPending(plans: readonly DeliveryPlan[]): number {
  return plans.reduce((sum, { deliveries }) => sum + deliveries.filter(isPending).length, 0)
}

/**
 * What is stored of plans of one application.
 * @param batchIds what is to be sent is divided among them
 */
export function prepareDeliveries(
  appId: string,
  plans: readonly DeliveryPlan[],
  batchIds: readonly Int64[],
): PlannedDeliveries {
  const all = plans.flatMap(({ deliveries }) => deliveries)
  const pending = all.filter(isPending)
  const parts = chunksOf(pending, Math.ceil(pending.length / batchIds.length))
  return {
    appId,
    batches: [
      ...parts.map((deliveries, index) => ({ batchId: batchIds[index] ?? 0, deliveries })),
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
  }
}

function badgesOf({ task, deliveries }: DeliveryPlan): BadgeOfUser[] {
  const { badge: change } = task.content.notification
  if (change === null) return []
  const userIds = new Set(deliveries.filter(isPending).map(({ userId }) => userId))
  return [...userIds].map((userId) => ({ taskId: task.taskId, userId, change }))
}

function targetsOf({ task, deliveries }: DeliveryPlan): CountChange[] {
  const byChannel = groupBy(deliveries.filter(isPending), ({ channel }) => channel)
  const targets = [...byChannel].map(([channel, { length }]) => {
    if (channel === '') throw new Error('a pending delivery has a channel')
    return [channel, length] as const
  })
  return targetsAdded(task, new Map(targets))
}

function isPending({ state }: Pick<Delivery, 'state'>): boolean {
  return state === pushDeliveryState.pending
}

/** What is decided about one device. */
interface Decision {
  readonly recipient: Recipient
  readonly deviceSn: number
  /** null: it is told through the channel that was chosen */
  readonly suppressedBy: Suppression | null
  readonly choice: ChannelChoice
  readonly preferences: PushPreferences
}

/** For each device that is bound or connected. */
function decide(
  { task, recipients }: PlannedAudience,
  facts: ReadonlyMap<Int64, RecipientFacts>,
  { certificates, connected, timeZone, now }: PlanSurroundings,
): Decision[] {
  const byName = new Map(certificates.map((certificate) => [certificate.name, certificate]))
  const connectedOf = groupBy(connected, ({ userId }) => userId)
  const { audience, strategy, sequence } = task.content
  return recipients.flatMap((recipient) => {
    const user = facts.get(recipient.userId)
    if (!user) return []
    const preferences = preferencesAt(user.settings, now, timeZone)
    const online = new Set(connectedOf.get(recipient.userId)?.map(({ deviceSn }) => deviceSn))
    return [...new Set([...user.bindings.keys(), ...online])]
      .filter((deviceSn) => recipient.deviceSns?.includes(deviceSn) ?? true)
      .map((deviceSn) => {
        const isConnected = online.has(deviceSn)
        const bindings = user.bindings.get(deviceSn) ?? []
        const way = { strategy, sequence, isConnected, bindings, certificates: byName, now }
        const choice = chooseChannel(way)
        const suppressedBy: Suppression | null =
          recipient.suppressedBy ??
          (user.status === userStatus.disabled ? 'user_disabled' : null) ??
          // A connected device has the message already.
          (audience.kind === 'message' && isConnected ? 'connected' : null) ??
          preferences.suppressedBy ??
          (choice.kind === 'none' ? choice.reason : null)
        return { recipient, deviceSn, suppressedBy, choice, preferences }
      })
  })
}

function deliveryOf(
  { recipient, deviceSn, suppressedBy, choice, preferences }: Decision,
  planning: Planning,
): NewDelivery {
  const { appId, taskId } = planning.task
  const way = suppressedBy === null ? wayOf(choice) : noWay
  return {
    appId,
    taskId,
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
