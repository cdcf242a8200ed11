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
const progressColumns = {
  state: 'smallint',
  message_id: 'text',
  attempts: 'integer',
  failures: 'smallint',
  waits: 'integer',
  next_at: 'bigint',
  received_at: 'bigint',
  steps: 'text',
} as const
/** Columns of an index, so they are set only when they change. */
const channelColumns = {
  channel: 'text',
  certificate_id: 'bigint',
  token_hash: 'text',
} as const
const insertedColumns = {
  ...deliveryKeyColumns,
  state: 'smallint',
  channel: 'text',
  certificate_id: 'bigint',
  token_hash: 'text',
  next_at: 'bigint',
  steps: 'text',
  batch_id: 'bigint',
  badge: 'integer',
  is_silent: 'smallint',
  hides_details: 'smallint',
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

/** The progress of a delivery as columns of {@link changeDeliveries}. */
export const deliveryProgressRow = rowOf(progressColumns, (delivery: Delivery) => ({
  state: delivery.state,
  message_id: delivery.messageId,
  attempts: delivery.attempts,
  failures: delivery.failures,
  waits: delivery.waits,
  next_at: delivery.nextAt,
  received_at: delivery.receivedAt,
  steps: delivery.steps,
}))

export const insertDeliveries: BulkInsert = {
  table: 'push_deliveries',
  columns: insertedColumns,
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
    next_at: delivery.nextAt,
    steps: delivery.steps,
    batch_id: batchId,
    badge,
    is_silent: Number(delivery.isSilent),
    hides_details: Number(delivery.hidesDetails),
  }),
)

/** Reads and locks the progress of deliveries; see {@link LockedProgress}. */
export const lockProgress: BulkSelect = {
  table: 'push_deliveries',
  keys: deliveryKeyColumns,
  columns: 't.task_id, t.user_id, t.device_sn, t.state, t.attempts, t.received_at, t.steps',
  lock: 'for update',
}

/** A row of {@link lockProgress}. */
export interface LockedProgress {
  readonly task_id: Int64
  readonly user_id: Int64
  readonly device_sn: number
  readonly state: number
  readonly attempts: number
  readonly received_at: number | null
  readonly steps: string
}

/** Sets the progress of deliveries. Rows: {@link deliveryProgressRow}, then {@link deliveryKeyRow}. */
export const changeDeliveries: BulkUpdate = {
  table: 'push_deliveries',
  set: progressColumns,
  keys: deliveryKeyColumns,
}

/** Takes deliveries out of badges. Rows: null, then {@link deliveryKeyRow}. */
export const clearBadges: BulkUpdate = { ...changeDeliveries, set: { badge: 'integer' } }

/** The channel of a delivery as columns of {@link changeChannels}. */
export const deliveryChannelRow = rowOf(
  channelColumns,
  ({ channel, certificateId, tokenHash }: Delivery) => ({
    channel,
    certificate_id: certificateId,
    token_hash: tokenHash,
  }),
)

/** Sets the channels of deliveries. Rows: {@link deliveryChannelRow}, then {@link deliveryKeyRow}. */
export const changeChannels: BulkUpdate = { ...changeDeliveries, set: channelColumns }
