/** Bulk statements of deliveries. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { Delivery, DeliveryKey, NewDelivery } from './delivery-model.js'

export const deliveryKeyColumns = {
  app_id: 'text',
  task_id: 'bigint',
  user_id: 'bigint',
  device_sn: 'integer',
} as const
export const deliveryProgressColumns = {
  state: 'smallint',
  channel: 'text',
  certificate_id: 'bigint',
  token_hash: 'text',
  message_id: 'text',
  attempts: 'integer',
  failures: 'smallint',
  waits: 'integer',
  next_at: 'bigint',
  received_at: 'bigint',
  steps: 'text',
} as const
const insertedColumns = {
  ...deliveryKeyColumns,
  state: 'smallint',
  channel: 'text',
  certificate_id: 'bigint',
  token_hash: 'text',
  steps: 'text',
  batch_id: 'bigint',
  badge: 'integer',
  is_silent: 'smallint',
  hides_details: 'smallint',
} as const
/** The same for all devices of a batch that get the push in the same way. */
const sharedColumns: readonly (keyof typeof insertedColumns)[] = [
  'app_id',
  'state',
  'channel',
  'certificate_id',
  'steps',
  'batch_id',
  'is_silent',
  'hides_details',
]
const acceptedColumns = {
  state: 'smallint',
  message_id: 'text',
  attempts: 'integer',
  steps: 'text',
} as const

/** The key of a delivery as a row of a bulk statement; also the last columns of its changes. */
export const deliveryKeyRow = rowOf(
  deliveryKeyColumns,
  ({ appId, taskId, userId, deviceSn }: DeliveryKey) => ({
    app_id: appId,
    task_id: taskId,
    user_id: userId,
    device_sn: deviceSn,
  }),
)

export const deliveryProgressRow = rowOf(deliveryProgressColumns, (delivery: Delivery) => ({
  state: delivery.state,
  channel: delivery.channel,
  certificate_id: delivery.certificateId,
  token_hash: delivery.tokenHash,
  message_id: delivery.messageId,
  attempts: delivery.attempts,
  failures: delivery.failures,
  waits: delivery.waits,
  next_at: delivery.nextAt,
  received_at: delivery.receivedAt,
  steps: delivery.steps,
}))

export const insertDeliveries: BulkInsert = {
  module: import.meta.url,
  table: 'push_deliveries',
  columns: insertedColumns,
  shared: sharedColumns,
}

/** A row of {@link insertDeliveries}: nothing was tried yet. @param badge what it shows */
export const deliveryRow = rowOf(
  insertedColumns,
  (delivery: NewDelivery, batchId: Int64, badge: number | null) => ({
    app_id: delivery.appId,
    task_id: delivery.taskId,
    user_id: delivery.userId,
    device_sn: delivery.deviceSn,
    state: delivery.state,
    channel: delivery.channel,
    certificate_id: delivery.certificateId,
    token_hash: delivery.tokenHash,
    steps: delivery.steps,
    batch_id: batchId,
    badge,
    is_silent: Number(delivery.isSilent),
    hides_details: Number(delivery.hidesDetails),
  }),
)

/** How far deliveries are. */
export const lockProgress: BulkSelect = {
  table: 'push_deliveries',
  keys: deliveryKeyColumns,
  columns: 't.task_id, t.user_id, t.device_sn, t.state, t.attempts, t.steps',
  lock: 'for update',
}

/** A row of {@link lockProgress}. */
export interface LockedProgress {
  readonly task_id: Int64
  readonly user_id: Int64
  readonly device_sn: number
  readonly state: number
  readonly attempts: number
  readonly steps: string
}

/** Deliveries that a gateway has taken. */
export const acceptDeliveries: BulkUpdate = {
  module: import.meta.url,
  table: 'push_deliveries',
  set: acceptedColumns,
  keys: deliveryKeyColumns,
}

/** What {@link acceptDeliveries} sets; the key of the delivery follows it. */
export const acceptedRow = rowOf(
  acceptedColumns,
  (delivery: {
    readonly state: number
    readonly messageId: string
    readonly attempts: number
    readonly steps: string
  }) => ({
    state: delivery.state,
    message_id: delivery.messageId,
    attempts: delivery.attempts,
    steps: delivery.steps,
  }),
)
