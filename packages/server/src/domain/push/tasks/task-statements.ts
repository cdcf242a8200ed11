/** Bulk statements of tasks and their counts. Loaded by the writer's thread too. */
import type { Int64, PushChannel } from '@hermod/protocol'
import { pushTaskState } from '@hermod/protocol/enums'
import { camelCaseText, columnsOf, type TableRow } from '../../../db/columns.js'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import type { ProcedureContext } from '../../../db/procedure.js'
import { rowOf } from '../../../db/rows.js'
import { pushTaskCountsTable, pushTasksTable } from '../../../db/schema.js'
import { compare } from '../../../lib/compare.js'
import { groupBy } from '../../../lib/group-by.js'
import { stringifyJson } from '../../../lib/json.js'
import { firstBatchId } from './push-jobs.js'
import { endOfAudience, type NewPushTask, type TaskKey } from './task-model.js'

/** An addition to the counts of a task on one channel. */
export interface CountChange extends TaskKey {
  readonly channel: PushChannel
  readonly target: number
  readonly sent: number
  readonly received: number
}

export const taskKeyColumns = columnsOf(pushTasksTable, 'app_id', 'task_id')
const pageColumns = columnsOf(pushTasksTable, 'state', 'page', 'page_batch_id', 'position')
const deviceColumns = columnsOf(pushTasksTable, 'devices', 'finished')
const lockedColumns = { task_id: pushTasksTable.task_id, ...pageColumns, ...deviceColumns }

/** Reads and locks tasks by their keys; see {@link LockedTask}. */
export const lockTasks: BulkSelect = {
  table: 'push_tasks',
  keys: taskKeyColumns,
  columns: camelCaseText(lockedColumns, 't'),
  lock: 'for no key update',
}

/** A row of {@link lockTasks}. */
export type LockedTask = TableRow<typeof lockedColumns>

const { page: _page, devices: _devices, finished: _finished, ...newTaskColumns } = pushTasksTable

/**
 * Inserts tasks, except those whose request or message has a task already. Rows are made by
 * {@link taskRow}.
 */
export const insertTasks: BulkInsert = {
  table: 'push_tasks',
  columns: newTaskColumns,
  conflict: 'on conflict do nothing',
  returning: 'task_id',
}

/** A row that {@link insertTasks} returns. */
export interface InsertedTask {
  readonly task_id: Int64
}

const insertedRow = rowOf(newTaskColumns)

/** @param state one of pushTaskState; expanded: all deliveries follow in the same transaction */
export function taskRow(task: NewPushTask, state: number): unknown[] {
  return insertedRow({
    ...task,
    content: stringifyJson(task.content),
    state,
    pageBatchId: firstBatchId(task),
    position: state === pushTaskState.expanded ? endOfAudience : 0,
    updatedAt: task.createdAt,
  })
}

/** Rows: devices and finished, then app_id and task_id. */
export const setDevices: BulkUpdate = {
  table: 'push_tasks',
  set: deviceColumns,
  keys: taskKeyColumns,
}

const progressColumns = {
  ...pageColumns,
  ...deviceColumns,
  updated_at: pushTasksTable.updated_at,
}

/** Sets the progress of tasks; rows are made by {@link progressRow}. */
export const setProgress: BulkUpdate = {
  table: 'push_tasks',
  set: progressColumns,
  keys: taskKeyColumns,
}

/** A row of {@link setProgress}. */
export const progressRow = rowOf({ ...progressColumns, ...taskKeyColumns })

/** Adds to what tasks have counted on their channels; rows are made by {@link countRows}. */
export const addToCounts: BulkInsert = {
  table: 'push_task_counts',
  columns: pushTaskCountsTable,
  conflict: `on conflict (app_id, task_id, channel) do update set target = t.target + excluded.target,
    sent = t.sent + excluded.sent, received = t.received + excluded.received`,
}

const countRow = rowOf(pushTaskCountsTable)

/** An addition to the devices of a task. */
export interface DeviceChange extends TaskKey {
  readonly devices: number
  readonly finished: number
}

/** The additions of deliveries that have ended: one for each task. @param deliveries of one application */
export function finishedOf(deliveries: readonly TaskKey[]): DeviceChange[] {
  const byTask = groupBy(deliveries, ({ taskId }) => taskId)
  return [...byTask.values()].flatMap((ofTask) => {
    const [first] = ofTask
    if (!first) return []
    const { appId, taskId } = first
    return [{ appId, taskId, devices: 0, finished: ofTask.length }]
  })
}

/** Adds to the devices of tasks; see {@link devicesAdded}. */
export async function addDevices(
  context: ProcedureContext,
  changes: readonly DeviceChange[],
): Promise<void> {
  await context.change(setDevices, await devicesAdded(context, changes))
}

/**
 * Locks tasks, and makes the rows of {@link setDevices} that add to their devices and finished devices.
 * @param changes one for each task, of one application
 */
export async function devicesAdded(
  { run }: ProcedureContext,
  changes: readonly DeviceChange[],
): Promise<unknown[][]> {
  const sorted = changes
    .filter(({ devices, finished }) => devices > 0 || finished > 0)
    .sort((a, b) => compare(a.taskId, b.taskId))
  const keys = sorted.map(({ appId, taskId }) => [appId, taskId])
  const locked = await run<LockedTask>(lockTasks, keys)
  const tasks = new Map(locked.map((task) => [task.taskId, task]))
  return sorted.flatMap(({ appId, taskId, devices, finished }) => {
    const task = tasks.get(taskId)
    return task ? [[task.devices + devices, task.finished + finished, appId, taskId]] : []
  })
}

/** Rows of {@link addToCounts}, one for each task and channel, in the order in which they are locked. */
export function countRows(changes: readonly CountChange[]): unknown[][] {
  return [...addedUp(changes)]
    .sort((a, b) => compare(a.taskId, b.taskId) || compare(a.channel, b.channel))
    .map(countRow)
}

function addedUp(changes: readonly CountChange[]): Iterable<CountChange> {
  const sums = new Map<string, CountChange>()
  for (const change of changes) {
    const key = `${change.taskId} ${change.channel}`
    const sum = sums.get(key)
    sums.set(
      key,
      sum
        ? {
            ...sum,
            target: sum.target + change.target,
            sent: sum.sent + change.sent,
            received: sum.received + change.received,
          }
        : change,
    )
  }
  return sums.values()
}
