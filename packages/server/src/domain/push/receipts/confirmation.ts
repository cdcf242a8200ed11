import { pushDeliveryState } from '@hermod/protocol'
import type { ReceiptKind } from '../../../push/receipts/receipt.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import { type DeliveryStep, readSteps, withSteps } from '../deliveries/delivery-step.js'
import type { CountChange } from '../tasks/task-statements.js'

/** What a gateway or the app itself tells of a delivery after it was sent. */
export interface Confirmation {
  readonly kind: ReceiptKind
  /** The word that was used for it. */
  readonly code: string
  /** Name of the certificate whose gateway tells it; undefined: the app does. */
  readonly certificate?: string
  /** When it came, milliseconds since 1970. */
  readonly at: number
}

/** `received`: the device has it, which was not known before. `noted`: something else that is new. */
export type ConfirmationResult = 'received' | 'noted' | 'repeated'

/** What a confirmation makes of a delivery; of a repeated one it stays as it is. */
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

/** Whether a device can have it: what was never sent confirms nothing. One that is on its way counts, as its answer may be slower. */
export function canBeConfirmed({ state, channel, steps }: Delivery): boolean {
  if (channel === '') return false
  if (state === pushDeliveryState.pending || state === pushDeliveryState.accepted) return true
  return readSteps(steps).some((each) => each.step === 'tried' && each.channel === channel)
}

/** What is counted when the device of a delivery confirms it first (rule G1). */
export function receivedOf({ appId, taskId, channel }: Delivery): CountChange {
  if (channel === '') throw new Error('what was not sent cannot be confirmed')
  return { appId, taskId, channel, target: 0, sent: 0, received: 1 }
}
