/** Bulk statements of deliveries. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import { camelCaseText, columnsOf, type TableRow } from '../../../db/columns.js'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import { pushDeliveriesTable } from '../../../db/schema.js'
import type { NewDelivery } from './delivery-model.js'

const table = pushDeliveriesTable
export const deliveryKeyColumns = columnsOf(table, 'app_id', 'task_id', 'user_id', 'device_sn')
const progressColumns = {
  ...columnsOf(table, 'state', 'message_id', 'attempts', 'failures', 'waits'),
  ...columnsOf(table, 'next_at', 'received_at', 'steps'),
}
/** Columns of an index, so they are set only when they change. */
const channelColumns = columnsOf(table, 'channel', 'certificate_id', 'token_hash')
const plannedColumns = {
  ...deliveryKeyColumns,
  ...channelColumns,
  ...columnsOf(table, 'state', 'next_at', 'steps'),
}
const addedColumns = columnsOf(table, 'batch_id', 'badge', 'is_silent', 'hides_details')
const lockedColumns = {
  ...columnsOf(table, 'task_id', 'user_id', 'device_sn'),
  ...columnsOf(table, 'state', 'attempts', 'received_at', 'steps'),
}

/** The key of a delivery as a row of a bulk statement; also the last columns of its changes. */
export const deliveryKeyRow = rowOf(deliveryKeyColumns)

/** The progress of a delivery as columns of {@link changeDeliveries}. */
export const deliveryProgressRow = rowOf(progressColumns)

export const insertDeliveries: BulkInsert = {
  table: 'push_deliveries',
  columns: { ...plannedColumns, ...addedColumns },
}

/** A row of {@link insertDeliveries}: nothing was tried yet. @param badge what it shows */
export function deliveryRow(
  delivery: NewDelivery,
  batchId: Int64,
  badge: number | null,
): unknown[] {
  const isSilent = Number(delivery.isSilent)
  const hidesDetails = Number(delivery.hidesDetails)
  return [...plannedRow(delivery), ...addedRow({ batchId, badge, isSilent, hidesDetails })]
}

const plannedRow = rowOf(plannedColumns)
const addedRow = rowOf(addedColumns)

/** Reads and locks the progress of deliveries; see {@link LockedProgress}. */
export const lockProgress: BulkSelect = {
  table: 'push_deliveries',
  keys: deliveryKeyColumns,
  columns: camelCaseText(lockedColumns, 't'),
  lock: 'for update',
}

/** A row of {@link lockProgress}. */
export type LockedProgress = TableRow<typeof lockedColumns>

/** Sets the progress of deliveries. Rows: {@link deliveryProgressRow}, then {@link deliveryKeyRow}. */
export const changeDeliveries: BulkUpdate = {
  table: 'push_deliveries',
  set: progressColumns,
  keys: deliveryKeyColumns,
}

/** Takes deliveries out of badges. Rows: null, then {@link deliveryKeyRow}. */
export const clearBadges: BulkUpdate = {
  ...changeDeliveries,
  set: columnsOf(pushDeliveriesTable, 'badge'),
}

/** The channel of a delivery as columns of {@link changeChannels}. */
export const deliveryChannelRow = rowOf(channelColumns)

/** Sets the channels of deliveries. Rows: {@link deliveryChannelRow}, then {@link deliveryKeyRow}. */
export const changeChannels: BulkUpdate = { ...changeDeliveries, set: channelColumns }
