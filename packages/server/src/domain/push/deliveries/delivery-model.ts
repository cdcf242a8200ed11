import { hash } from 'node:crypto'
import type { Int64, PushChannel } from '@hermod/protocol'
import { compare } from '../../../lib/compare.js'
import type { Tries } from '../../../push/rules/retry.js'
import type { TaskKey } from '../tasks/task-model.js'

/** Names what a task is on one device. */
export interface DeliveryKey extends TaskKey {
  readonly userId: Int64
  readonly deviceSn: number
}

/** A push on one device, as far as it is. */
export interface Delivery extends DeliveryKey, Tries {
  readonly batchId: Int64
  /** One of pushDeliveryState. */
  readonly state: number
  /** '' = none was chosen */
  readonly channel: PushChannel | ''
  /** 0 = of no gateway */
  readonly certificateId: Int64
  /** See {@link tokenHash}; '' = of no gateway. */
  readonly tokenHash: string
  /** The gateway's own ID; '' = it has none yet. */
  readonly messageId: string
  /** Results so far, whatever they were: the version of the row. */
  readonly attempts: number
  /** Milliseconds since 1970: when to try again. */
  readonly nextAt: number
  /** The badge that the device shows; null: it stays. */
  readonly badge: number | null
  readonly isSilent: boolean
  readonly hidesDetails: boolean
  /** Milliseconds since 1970: when the device confirmed it first; null: it has not. */
  readonly receivedAt: number | null
  /** See delivery-step.ts. */
  readonly steps: string
}

/** A delivery that has not been tried; what its badge shows is not counted yet, and it is in no batch. */
export type NewDelivery = Omit<
  Delivery,
  'batchId' | 'messageId' | 'attempts' | keyof Tries | 'badge' | 'receivedAt'
>

/** Tells device tokens apart without keeping them: 22 characters. */
export function tokenHash(token: string): string {
  return hash('sha256', token, 'base64url').slice(0, 22)
}

/** Names a delivery within its application. */
export function deliveryName({ taskId, userId, deviceSn }: Omit<DeliveryKey, 'appId'>): string {
  return `${taskId} ${userId} ${deviceSn}`
}

/** Names a device within its application: `<user ID> <serial number>`. */
export function deviceName({ userId, deviceSn }: Pick<DeliveryKey, 'userId' | 'deviceSn'>): string {
  return `${userId} ${deviceSn}`
}

/** Names deliveries towards gateways, which give it back in their receipts. */
export function receiptTag({ taskId, batchId }: Pick<Delivery, 'taskId' | 'batchId'>): string {
  return `${taskId}.${batchId}`
}

/** Reads what {@link receiptTag} made; null: it is none. */
export function readReceiptTag(tag: string): Pick<Delivery, 'taskId' | 'batchId'> | null {
  if (!/^[1-9]\d{0,15}\.[1-9]\d{0,15}$/.test(tag)) return null
  const [taskId = 0, batchId = 0] = tag.split('.').map(Number)
  return Number.isSafeInteger(taskId) && Number.isSafeInteger(batchId) ? { taskId, batchId } : null
}

/** The order in which deliveries are locked. */
export function compareDeliveries(a: DeliveryKey, b: DeliveryKey): number {
  return (
    compare(a.taskId, b.taskId) || compare(a.userId, b.userId) || compare(a.deviceSn, b.deviceSn)
  )
}
