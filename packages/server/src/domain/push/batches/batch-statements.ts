/** Bulk statements of batches. Loaded by the writer's thread too. */
import type { Int64, PushChannel } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { Batch, BatchProgress, DeviceCounts } from './batch-model.js'

const keyColumns = { app_id: 'text', batch_id: 'bigint' } as const
const batchColumns = {
  ...keyColumns,
  task_id: 'bigint',
  opened_to: 'bigint',
  up_to: 'bigint',
  devices: 'integer',
  targets: 'text',
} as const

export const insertBatches: BulkInsert = {
  module: import.meta.url,
  table: 'push_batches',
  columns: batchColumns,
}

/** A row of {@link insertBatches}. */
export const batchRow = rowOf(batchColumns, (batch: Batch) => ({
  app_id: batch.appId,
  batch_id: batch.batchId,
  task_id: batch.taskId,
  opened_to: batch.openedTo,
  up_to: batch.upTo,
  devices: batch.expected.devices,
  targets: targetsText(batch.expected),
}))

/** Reads and locks batches by their keys; see {@link LockedBatch}. */
export const lockBatches: BulkSelect = {
  table: 'push_batches',
  keys: keyColumns,
  columns: 't.opened_to, t.devices, t.targets',
  lock: 'for update',
}

/** A row of {@link lockBatches}. */
export interface LockedBatch {
  readonly opened_to: Int64
  readonly devices: number
  readonly targets: string
}

const progressColumns = { opened_to: 'bigint', devices: 'integer', targets: 'text' } as const

/** Rows: what {@link batchProgressRow} makes. */
export const setBatches: BulkUpdate = {
  module: import.meta.url,
  table: 'push_batches',
  set: progressColumns,
  keys: keyColumns,
}

const progressRow = rowOf(progressColumns, (openedTo: Int64, expected: DeviceCounts) => ({
  opened_to: openedTo,
  devices: expected.devices,
  targets: targetsText(expected),
}))

/** How far a batch is, and its key. */
export function batchProgressRow({ appId, batchId, openedTo, expected }: BatchProgress): unknown[] {
  return [...progressRow(openedTo, expected), appId, batchId]
}

function targetsText({ targets }: DeviceCounts): string {
  return JSON.stringify(Object.fromEntries(targets))
}

/** What a row says about the devices that are expected. */
export function expectedOf({
  devices,
  targets,
}: Pick<LockedBatch, 'devices' | 'targets'>): DeviceCounts {
  const byChannel = Object.entries(JSON.parse(targets) as Record<PushChannel, number>)
  return { devices, targets: new Map(byChannel as [PushChannel, number][]) }
}
