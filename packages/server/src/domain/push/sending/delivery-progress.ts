/** The progress of a delivery after a try; reads and writes nothing. */
import { pushDeliveryState } from '@hermod/protocol'
import { definedOnly } from '../../../lib/defined-only.js'
import {
  devicePauseEnd,
  isStillHeldBack,
  nextTryAt,
  noTries,
  triesAfter,
} from '../../../push/rules/retry.js'
import type { PushOutcome } from '../../../push/outcomes.js'
import type { PushCertificateEntry } from '../certificates/certificate-model.js'
import { tokenTypeOf } from '../content/task-content.js'
import {
  compareWays,
  type DeviceBinding,
  type VendorWay,
  vendorWays,
} from '../deliveries/channel-choice.js'
import { type Delivery, deviceName, tokenHash } from '../deliveries/delivery-model.js'
import type { DeliveryStep } from '../deliveries/delivery-step.js'
import { wayOf } from '../deliveries/plan-deliveries.js'
import type { StoredPushTask } from '../tasks/task-model.js'

/** The result of one delivery. */
export type Result = { readonly delivery: Delivery } & (
  | Tried
  /** Its time was over, or it was cancelled. */
  | { readonly kind: 'ended'; readonly state: number }
  /** The device no longer has the token. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'handed_over' | 'disconnected' }
  /** The device was connected and has the message itself. */
  | { readonly kind: 'connected' }
)

interface Tried {
  readonly kind: 'tried'
  readonly token: string
  readonly certificate: PushCertificateEntry
  /** Milliseconds since 1970. */
  readonly sentAt: number
  readonly outcome: PushOutcome
}

/** A delivery that was sent to a gateway. */
export type TriedDelivery = Tried & { readonly delivery: Delivery }

/** The inputs of {@link progressOf} besides the result. */
export interface ResultInputs {
  readonly tasks: ReadonlyMap<unknown, StoredPushTask>
  /** By {@link deviceName}. */
  readonly bindings: ReadonlyMap<string, readonly DeviceBinding[]>
  readonly certificates: ReadonlyMap<unknown, PushCertificateEntry>
}

/** The time and the chance by which a next try is chosen. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly now: number
  /** From 0 up to 1. */
  readonly random: number
}

/** The next state of a delivery, and what is counted for it. */
export interface DeliveryProgress {
  /** Its steps are those that were read. */
  readonly delivery: Delivery
  /** The steps to add. */
  readonly steps: readonly DeliveryStep[]
  /** The gateway accepted it, or the device has it. */
  readonly isSent: boolean
  /** It goes through another channel now; not set for another token of the same channel. */
  readonly isRedirected: boolean
}

/** The change of a device's token that a result asks for. */
export type TokenChange =
  /** Ends the token, unless it was bound later. Milliseconds since 1970. */
  | { readonly kind: 'clear'; readonly boundBefore: number }
  /** Leaves the device alone until then, milliseconds since 1970. */
  | { readonly kind: 'pause'; readonly until: number }

/**
 * When to try again a delivery that is still held back, milliseconds since 1970; null: its result
 * is recorded. A trace says once that its push is held back.
 */
export function heldUntil(result: Result, inputs: ResultInputs, moment: Moment): number | null {
  if (result.kind !== 'tried' || !isStillHeldBack(result.delivery, result.outcome)) return null
  return nextTry(result, inputs.tasks.get(result.delivery.taskId), moment)
}

/** Returns the new state of a delivery after a result, with the steps for its trace. */
export function progressOf(result: Result, inputs: ResultInputs, moment: Moment): DeliveryProgress {
  const { delivery } = result
  const { now } = moment
  switch (result.kind) {
    case 'ended': {
      const step = result.state === pushDeliveryState.expired ? 'expired' : 'cancelled'
      return ended(delivery, result.state, [{ at: now, step }])
    }
    case 'gone': {
      const reason = 'the device has another token by now, or none'
      const words = { result: 'invalid_token', code: 'token_replaced', reason } as const
      const step = triedStep(delivery, now, words)
      return redirected(delivery, [step], otherWay(delivery, inputs, now, 'same'))
    }
    case 'connected':
      return ended(delivery, pushDeliveryState.suppressed, [
        { at: now, step: 'suppressed', result: 'connected' },
      ])
    case 'handed_over': {
      const step = triedStep(delivery, now, { result: 'handed_over' })
      return { ...ended(delivery, pushDeliveryState.accepted, [step]), isSent: true }
    }
    case 'disconnected': {
      const step = triedStep(delivery, now, { result: 'disconnected' })
      return redirected(delivery, [step], otherWay(delivery, inputs, now, 'any'))
    }
    case 'tried':
      return triedProgress(result, inputs, moment)
  }
}

/** The change of the token that a result asks for; null: none. */
export function tokenChange(result: Result, now: number): TokenChange | null {
  if (result.kind !== 'tried') return null
  const { outcome, sentAt } = result
  if (outcome.kind === 'invalid_token') {
    // A wrong topic is a fault of the certificate, which an operator can repair.
    if (outcome.isOfRequest) return null
    return { kind: 'clear', boundBefore: outcome.since ?? sentAt }
  }
  const until = devicePauseEnd(outcome, now)
  return until === null ? null : { kind: 'pause', until }
}

function triedProgress(
  tried: TriedDelivery,
  inputs: ResultInputs,
  moment: Moment,
): DeliveryProgress {
  const { delivery, certificate, outcome } = tried
  const { now } = moment
  const step: DeliveryStep = {
    ...triedStep(delivery, now, { result: outcome.kind, ...wordsOf(outcome) }),
    certificate: certificate.name,
  }
  if (outcome.kind === 'accepted') {
    const accepted = { ...delivery, messageId: outcome.messageId }
    return { ...ended(accepted, pushDeliveryState.accepted, [step]), isSent: true }
  }
  if (outcome.kind === 'invalid_token')
    return redirected(delivery, [step], otherWay(delivery, inputs, now, 'later'))
  const nextAt = nextTry(tried, inputs.tasks.get(delivery.taskId), moment)
  if (nextAt === null) return ended(delivery, pushDeliveryState.refused, [step])
  const tries = triesAfter(delivery, outcome)
  return {
    delivery: { ...delivery, ...tries, attempts: delivery.attempts + 1, nextAt },
    steps: [{ ...step, nextAt }],
    isSent: false,
    isRedirected: false,
  }
}

function wordsOf(outcome: PushOutcome): Pick<DeliveryStep, 'code' | 'reason' | 'changes'> {
  if (outcome.kind !== 'accepted') return { code: outcome.code, reason: outcome.reason }
  const changes = definedOnly({ changes: outcome.changes?.join(', ') })
  if (outcome.alarm === undefined) return changes
  const reason = 'without receipts, since the gateway refuses their address'
  return { ...changes, code: outcome.alarm.code, reason }
}

function nextTry(
  { delivery, certificate, outcome }: TriedDelivery,
  task: StoredPushTask | undefined,
  { now, random }: Moment,
): number | null {
  return nextTryAt(outcome, {
    channel: certificate.gateway.channel,
    tries: triesAfter(delivery, outcome),
    now,
    expiresAt: task?.expiresAt ?? 0,
    random,
  })
}

/**
 * Another way to the device.
 * @param which `later`: behind the present one in the sequence; `same`: the present one too, with
 * another token; `any`: the first one
 */
function otherWay(
  delivery: Delivery,
  { tasks, bindings, certificates }: ResultInputs,
  now: number,
  which: 'later' | 'same' | 'any',
): VendorWay | null {
  const task = tasks.get(delivery.taskId)
  if (!task || task.content.strategy === 'corepush_only') return null
  const { sequence } = task.content
  const present = certificates.get(delivery.certificateId)
  const ways = vendorWays({
    sequence,
    tokenType: tokenTypeOf(task.content),
    bindings: bindings.get(deviceName(delivery)) ?? [],
    certificates: new Map([...certificates.values()].map((entry) => [entry.name, entry])),
    now,
  })
  const isBehind = ({ certificate, binding }: VendorWay) => {
    if (which === 'any' || !present) return true
    const order = compareWays(sequence, certificate, present)
    if (order !== 0) return order > 0
    return which === 'same' && tokenHash(binding.deviceToken) !== delivery.tokenHash
  }
  return ways.find(isBehind) ?? null
}

function triedStep(
  { channel }: Delivery,
  at: number,
  words: Pick<DeliveryStep, 'result' | 'code' | 'reason' | 'changes'>,
): DeliveryStep {
  return { at, step: 'tried', ...(channel !== '' && { channel }), ...words }
}

function ended(
  delivery: Delivery,
  state: number,
  steps: readonly DeliveryStep[],
): DeliveryProgress {
  return {
    delivery: { ...delivery, state, attempts: delivery.attempts + 1 },
    steps,
    isSent: false,
    isRedirected: false,
  }
}

/** @param way null: there is none, and the delivery ends */
function redirected(
  delivery: Delivery,
  steps: readonly DeliveryStep[],
  way: VendorWay | null,
): DeliveryProgress {
  if (way === null) return ended(delivery, pushDeliveryState.refused, steps)
  const { step, ...chosen } = wayOf({ kind: 'vendor', ...way })
  const [{ at }] = steps as [DeliveryStep]
  const isRedirected = chosen.channel !== delivery.channel
  const tries = isRedirected ? noTries : {}
  return {
    delivery: { ...delivery, ...chosen, ...tries, attempts: delivery.attempts + 1, nextAt: at },
    steps: [...steps, { at, step: 'channel_chosen', ...step }],
    isSent: false,
    isRedirected,
  }
}
