/**
 * Decides what each device of an audience gets; reads and writes nothing. Loaded by the writer's
 * thread too.
 */
import type { Int64 } from '@hermod/protocol'
import { pushDeliveryState, userStatus } from '@hermod/protocol/enums'
import { groupBy } from '../../../lib/group-by.js'
import type { ConnectedDevice, ProbedDevice } from '../../../push/core-channel.js'
import type { Recipient, Suppression } from '../audience/recipient.js'
import { isMessageTask, type TaskContent, tokenTypeOf } from '../content/task-content.js'
import { type PushPreferences, preferencesAt } from '../preferences/push-window.js'
import type { StoredPushTask } from '../tasks/task-model.js'
import type { CountChange } from '../tasks/task-statements.js'
import { type ChannelChoice, chooseChannel, type UsableCertificate } from './channel-choice.js'
import { type Delivery, type NewDelivery, tokenHash } from './delivery-model.js'
import { type DeliveryStep, withSteps } from './delivery-step.js'
import type { RecipientInputs } from './recipient-inputs.js'
import type { BadgeOfUser, PlannedDeliveries } from './planned-deliveries.js'

/** The fields of a task that decide about its deliveries. */
export type PlannedTask = Pick<StoredPushTask, 'appId' | 'taskId' | 'content'>

/** A task and some of its recipients. */
export interface PlannedAudience {
  readonly task: PlannedTask
  readonly recipients: readonly Recipient[]
}

/** Deliveries of a task that are not stored yet, and in no batch. */
export interface DeliveryPlan {
  readonly task: PlannedTask
  readonly deliveries: readonly NewDelivery[]
}

/** The data of an application by which its pushes are decided; plain data. */
export interface PlanInputs {
  readonly certificates: readonly UsableCertificate[]
  /** The devices that were pinged for a message. */
  readonly connected: readonly (ConnectedDevice | ProbedDevice)[]
  readonly timeZone: string
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The time that a connected device has to answer before a message is pushed to it. */
export const answerTimeMs = 15_000

/** The values that all devices of a task share. */
interface Planning {
  readonly task: PlannedTask
  readonly now: number
  /** See {@link firstSteps}. */
  readonly steps: Map<string, string>
}

/** @returns a plan for each audience, in their order */
export function planDeliveries(
  audiences: readonly PlannedAudience[],
  users: ReadonlyMap<Int64, RecipientInputs>,
  inputs: PlanInputs,
): DeliveryPlan[] {
  const steps = new Map<string, string>()
  return audiences.map((audience) => {
    const { task } = audience
    const planning = { task, now: inputs.now, steps }
    const decisions = decide(audience, users, inputs)
    return { task, deliveries: decisions.map((decision) => deliveryOf(decision, planning)) }
  })
}

/**
 * Prepares plans of one application for storing.
 * @param batchId the batch of the pending deliveries
 */
export function prepareDeliveries(
  appId: string,
  plans: readonly DeliveryPlan[],
  batchId: Int64,
): PlannedDeliveries {
  const all = plans.flatMap(({ deliveries }) => deliveries)
  return {
    appId,
    batchId,
    pending: all.filter(isPending),
    suppressed: all.filter((delivery) => !isPending(delivery)),
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
  const { appId, taskId } = task
  return [...byChannel].map(([channel, { length }]) => {
    if (channel === '') throw new Error('a pending delivery has a channel')
    return { appId, taskId, channel, target: length, sent: 0, received: 0 }
  })
}

function isPending({ state }: Pick<Delivery, 'state'>): boolean {
  return state === pushDeliveryState.pending
}

/** The decision about one device. */
interface Decision {
  readonly recipient: Recipient
  readonly deviceSn: number
  /** null: the push goes through the chosen channel */
  readonly suppressedBy: Suppression | null
  readonly choice: ChannelChoice
  /** The device that may answer first; null: it is not connected, or the push is none of a message. */
  readonly waitsFor: ProbedDevice | null
  readonly preferences: PushPreferences
}

/** Decides about each device that is bound or connected. */
function decide(
  { task, recipients }: PlannedAudience,
  users: ReadonlyMap<Int64, RecipientInputs>,
  { certificates, connected, timeZone, now }: PlanInputs,
): Decision[] {
  const byName = new Map(certificates.map((certificate) => [certificate.name, certificate]))
  const connectedOf = groupBy(connected, ({ userId }) => userId)
  const { strategy, sequence } = task.content
  const tokenType = tokenTypeOf(task.content)
  return recipients.flatMap((recipient) => {
    const user = users.get(recipient.userId)
    if (!user) return []
    const preferences = preferencesAt(user.settings, now, timeZone)
    const online = new Map(connectedOf.get(recipient.userId)?.map((each) => [each.deviceSn, each]))
    return [...new Set([...user.bindings.keys(), ...online.keys()])]
      .filter((deviceSn) => recipient.deviceSns?.includes(deviceSn) ?? true)
      .map((deviceSn) => {
        const device = online.get(deviceSn)
        const isConnected = device !== undefined
        const waitsFor =
          isMessageTask(task.content) && device && 'sessionId' in device ? device : null
        const bindings = user.bindings.get(deviceSn) ?? []
        const way = {
          strategy,
          sequence,
          tokenType,
          isConnected,
          bindings,
          certificates: byName,
          now,
        }
        const choice = chooseChannel(way)
        const suppressedBy: Suppression | null =
          recipient.suppressedBy ??
          (user.status === userStatus.disabled ? 'user_disabled' : null) ??
          (user.isBot ? 'bot' : null) ??
          // Without a channel of a vendor there is nothing to wait for: the device has the message.
          (choice.kind === 'none' && waitsFor ? 'connected' : null) ??
          preferences.suppressedBy ??
          (preferences.hidesDetails && isNewState(task.content) ? 'details_hidden' : null) ??
          (choice.kind === 'none' ? choice.reason : null)
        return { recipient, deviceSn, suppressedBy, choice, waitsFor, preferences }
      })
  })
}

/** Tests for a new state of a live activity, which the locked screen shows. */
function isNewState({ notification: { ios } }: TaskContent): boolean {
  return ios.liveActivity !== undefined && ios.liveActivity.event !== 'end'
}

function deliveryOf(
  { recipient, deviceSn, suppressedBy, choice, waitsFor, preferences }: Decision,
  planning: Planning,
): NewDelivery {
  const { appId, taskId } = planning.task
  const probed = suppressedBy === null ? waitsFor : null
  const way = suppressedBy === null ? wayOf(choice) : noWay
  const steps = firstSteps(suppressedBy, way, planning)
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
    nextAt: probed === null ? 0 : planning.now + answerTimeMs,
    steps: probed === null ? steps : withSteps(steps, waitingStep(probed, planning.now)),
  }
}

/** The push of a message to a connected device waits for an answer to the ping. */
function waitingStep({ sessionId, probedAt }: ProbedDevice, at: number): DeliveryStep {
  return { at, step: 'waiting', nextAt: at + answerTimeMs, sessionId, probedAt }
}

/** The first steps of a delivery. Devices with the same decision share one text. */
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

/** The fields of a delivery for a chosen channel. */
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
