import { pushDeliveryState } from '@hermod/protocol'
import type { ReceiptKind } from '../../../push/receipts/receipt.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import { type DeliveryStep, readSteps, withSteps } from '../deliveries/delivery-step.js'
import type { CountChange } from '../tasks/task-statements.js'

/** A report about a delivery after it was sent, from a gateway or the app. */
export interface Confirmation {
  readonly kind: ReceiptKind
  /** The reporter's code. */
  readonly code: string
  /** Name of the certificate of the reporting gateway; undefined: the app. */
  readonly certificate?: string
  /** Time of arrival, milliseconds since 1970. */
  readonly at: number
}

/** `received`: the first confirmation by the device. `noted`: another new fact. */
export type ConfirmationResult = 'received' | 'noted' | 'repeated'

/** Applies a confirmation to a delivery; a repeated one changes nothing. */
export function confirmed(
  delivery: Delivery,
  { kind, code, certificate, at }: Confirmation,
): { readonly delivery: Delivery; readonly result: ConfirmationResult } {
  const { channel, receivedAt, steps } = delivery
  const isFirst = receivedAt === null && (kind === 'delivered' || kind === 'clicked')
  const isKnown = readSteps(steps).some(
    (each) =>
      each.step === 'receipt' &&
      each.result === kind &&
      each.channel === channel &&
      each.certificate === certificate,
  )
  if (isKnown && !isFirst) return { delivery, result: 'repeated' }
  const step: DeliveryStep = {
    at,
    step: 'receipt',
    ...(channel !== '' && { channel }),
    ...(certificate !== undefined && { certificate }),
    result: kind,
    code,
  }
  const changed = { ...delivery, steps: withSteps(steps, step) }
  return isFirst
    ? { delivery: { ...changed, receivedAt: at }, result: 'received' }
    : { delivery: changed, result: 'noted' }
}

/**
 * Tests whether the device can have the push: an unsent one confirms nothing. One in transit
 * counts, since its answer may be slower.
 */
export function canBeConfirmed({ state, channel, steps }: Delivery): boolean {
  if (channel === '') return false
  if (state === pushDeliveryState.pending || state === pushDeliveryState.accepted) return true
  return readSteps(steps).some((each) => each.step === 'tried' && each.channel === channel)
}

/** Returns the count of the first confirmation of a delivery (rule G1). */
export function receivedOf({ appId, taskId, channel }: Delivery): CountChange {
  if (channel === '') throw new Error('what was not sent cannot be confirmed')
  return { appId, taskId, channel, target: 0, sent: 0, received: 1 }
}
