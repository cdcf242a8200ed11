import type { Tx } from '../../../db/database.js'
import type { PushReceipt } from '../../../push/receipts/receipt.js'
import { pauseAfterReceipt } from '../../../push/rules/retry.js'
import type { DeviceBindings } from '../../devices/device-bindings.js'
import type { DeviceKey, PushBinding } from '../../devices/device-model.js'
import type { Delivery } from '../deliveries/delivery-model.js'
import { type DeliveryStep, lastSentAt } from '../deliveries/delivery-step.js'

interface ReceiptTokensOptions {
  readonly devices: {
    /** @returns false when the device does not exist */
    lockForUpdate(tx: Tx, device: DeviceKey): Promise<boolean>
  }
  readonly bindings: DeviceBindings
}

/** Applies reports of receipts about tokens. */
export class ReceiptTokens {
  constructor(private readonly options: ReceiptTokensOptions) {}

  /**
   * @param delivery locked, to the token of the receipt
   * @param now milliseconds since 1970
   * @returns the effect on the token; null for none
   */
  async follow(
    tx: Tx,
    delivery: Delivery,
    { receipt, certificate, now }: { receipt: PushReceipt; certificate: string; now: number },
  ): Promise<DeliveryStep | null> {
    const { bindings } = this.options
    const binding = { notifierName: certificate, deviceToken: receipt.token }
    // By the gateway's clock, but never in the future, and not before it was asked to deliver.
    const saidAt = Math.min(now, Math.max(receipt.at ?? 0, lastSentAt(delivery) ?? 0))
    if (receipt.kind === 'invalid_token')
      return this.#replace(tx, delivery, { binding, saidAt, now, newToken: receipt.newToken })
    const until = pauseAfterReceipt(receipt.kind, saidAt)
    if (until !== null && until > now) await bindings.pause(tx, delivery, binding, until)
    return null
  }

  async #replace(
    tx: Tx,
    delivery: Delivery,
    {
      binding,
      saidAt,
      now,
      newToken = '',
    }: { binding: PushBinding; saidAt: number; now: number; newToken: string | undefined },
  ): Promise<DeliveryStep | null> {
    const { devices, bindings } = this.options
    // Devices are locked before their bindings.
    const mayBind = newToken !== '' && (await devices.lockForUpdate(tx, delivery))
    if (!(await bindings.clear(tx, delivery, binding, saidAt))) return null
    const step: DeliveryStep = {
      at: now,
      step: 'token_cleared',
      certificate: binding.notifierName,
    }
    // Another device has bound the token since and keeps it.
    if (!mayBind || (await bindings.isBound(tx, delivery.appId, newToken))) return step
    await bindings.bind(tx, delivery, { ...binding, deviceToken: newToken }, now)
    return { ...step, reason: 'the gateway has named the new token of the device' }
  }
}
