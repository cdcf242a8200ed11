import { type Int64, pushTaskState } from '@hermod/protocol'
import { camelCase, camelCaseText, convert, type TableRow } from '../../../db/columns.js'
import type { Database, Queryable, StatementTx, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { lockForUpdate } from '../../../db/locking.js'
import { pushTaskCountsTable, pushTasksTable } from '../../../db/schema.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { parseOwnJson, stringifyJson } from '../../../lib/json.js'
import type { TaskContent } from '../content/task-content.js'
import type { NewPushTask, StoredPushTask, TaskKey, TaskTimes } from './task-model.js'
import {
  addDevices,
  addToCounts,
  type CountChange,
  countRows,
  type DeviceChange,
  type InsertedTask,
  insertTasks,
  taskKeyColumns,
  taskRow,
} from './task-statements.js'

/** The counts of a task on one channel. */
export type ChannelCounts = CountChange

type TaskRow = TableRow<typeof pushTasksTable>

const columns = camelCase(pushTasksTable)
const findTasks: BulkSelect = {
  table: 'push_tasks',
  keys: taskKeyColumns,
  columns: camelCaseText(pushTasksTable, 't'),
}

// The conditions of the partial indexes, word by word, so that the indexes are used.
const hasRequest = sql<boolean>`request_id <> ''`
const hasMessage = sql<boolean>`msg_id <> 0`

const isUnfinished = sql<boolean>`(state in (${pushTaskState.waiting}, ${pushTaskState.expanding})
  or (state = ${pushTaskState.expanded} and finished < devices))`

/** Push tasks and their counts. */
export class TaskStore {
  readonly #find

  constructor(private readonly database: Database) {
    this.#find = database.prepared<{ appId: string; taskId: Int64 }, TaskRow>((db, param) =>
      db
        .selectFrom('push_tasks')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('task_id', '=', param('taskId')),
    )
  }

  /**
   * Stores a task that waits for its first page.
   * @returns false when its request or message has a task already
   */
  async insert(tx: Tx, task: NewPushTask): Promise<boolean> {
    const rows = [taskRow(task, pushTaskState.waiting)]
    return (await this.database.bulk<InsertedTask>(tx, insertTasks, rows)).length > 0
  }

  async find(db: Queryable, { appId, taskId }: TaskKey): Promise<StoredPushTask | null> {
    const row = await this.#find.first(db, { appId, taskId })
    return row ? toTask(row) : null
  }

  /** Those that there are, in no particular order. */
  async list(db: Queryable, keys: readonly TaskKey[]): Promise<StoredPushTask[]> {
    const rows = keys.map(({ appId, taskId }) => [appId, taskId])
    const found = await this.database.bulk<TaskRow>(db, findTasks, rows)
    return found.map(toTask)
  }

  /** The task that was made for a request. */
  async findByRequest(db: Queryable, appId: string, requestId: string): Promise<Int64 | null> {
    const row = await db
      .selectFrom('push_tasks')
      .select('task_id')
      .where('app_id', '=', appId)
      .where('request_id', '=', requestId)
      .where(hasRequest)
      .executeTakeFirst()
    return row?.task_id ?? null
  }

  /** The tasks of messages, in no particular order. */
  async listOfMessages(
    db: Queryable,
    appId: string,
    messageIds: readonly Int64[],
  ): Promise<TaskKey[]> {
    const rows = await db
      .selectFrom('push_tasks')
      .select('task_id as taskId')
      .where('app_id', '=', appId)
      .where('msg_id', 'in', paddedForPlanCache(messageIds))
      .where(hasMessage)
      .execute()
    return rows.map(({ taskId }) => ({ appId, taskId }))
  }

  async setContent(tx: Tx, { appId, taskId }: TaskKey, content: TaskContent): Promise<void> {
    await tx
      .updateTable('push_tasks')
      .set({ content: stringifyJson(content) })
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .execute()
  }

  /** Ends a task: nothing more is written or sent. */
  async cancel(tx: Tx, { appId, taskId }: TaskKey, at: number): Promise<void> {
    await tx
      .updateTable('push_tasks')
      .set({ state: pushTaskState.cancelled, updated_at: at })
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .execute()
  }

  /**
   * Ends the tasks of all applications that are pushes of messages from before a time, or are for
   * connected devices alone.
   * @returns the tasks that have not come to an end by themselves
   */
  async cancelStale(
    tx: Tx,
    { messagesBefore, at }: { readonly messagesBefore: number; readonly at: number },
  ): Promise<{ readonly messages: number; readonly core: number }> {
    const rows = await tx
      .updateTable('push_tasks')
      .set({ state: pushTaskState.cancelled, updated_at: at })
      .where(isUnfinished)
      .where((is) =>
        is.or([
          is.and([is('msg_id', '<>', 0), is('created_at', '<', messagesBefore)]),
          is('content', 'like', '%"strategy":"corepush_only"%'),
        ]),
      )
      .returning('msg_id')
      .execute()
    const messages = rows.filter(({ msg_id }) => msg_id !== 0).length
    return { messages, core: rows.length - messages }
  }

  /** Counts the tasks of all applications that have not come to an end. */
  async countUnfinished(
    db: Queryable,
  ): Promise<{ readonly count: number; readonly oldestAt: number }> {
    const { count, oldestAt } = await db
      .selectFrom('push_tasks')
      .select(({ fn }) => [fn.countAll().as('count'), fn.min('created_at').as('oldestAt')])
      .where(isUnfinished)
      .executeTakeFirstOrThrow()
    return { count: Number(count), oldestAt: oldestAt ?? 0 }
  }

  /** Ends the pages of a task whose time is over; its position stays. */
  async endPages(tx: StatementTx, { appId, taskId }: TaskKey, at: number): Promise<void> {
    await tx
      .updateTable('push_tasks')
      .set({ state: pushTaskState.expanded, updated_at: at })
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .where('state', 'in', [pushTaskState.waiting, pushTaskState.expanding])
      .execute()
  }

  /** Sets the estimated number of users. */
  async setEstimate(tx: StatementTx, { appId, taskId }: TaskKey, users: number): Promise<void> {
    await tx
      .updateTable('push_tasks')
      .set({ estimated_users: users })
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .execute()
  }

  /** Locks the task. */
  async lock(tx: Tx, { appId, taskId }: TaskKey): Promise<StoredPushTask | null> {
    const found = tx
      .selectFrom('push_tasks')
      .select(columns)
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row ? toTask(row) : null
  }

  /** See {@link addDevices}. */
  async addDevices(tx: Tx, changes: readonly DeviceChange[]): Promise<void> {
    await addDevices(this.database.contextOf(tx), changes)
  }

  /** Several changes of one task and channel are added up. */
  async addCounts(tx: Tx, changes: readonly CountChange[]): Promise<void> {
    await this.database.bulk(tx, addToCounts, countRows(changes))
  }

  /** The counts of tasks on the channels that they have used. */
  async listCounts(
    db: Queryable,
    appId: string,
    taskIds: readonly Int64[],
  ): Promise<ChannelCounts[]> {
    const keys = taskIds.map((taskId) => [appId, taskId])
    return this.database.bulk<ChannelCounts>(db, findCounts, keys)
  }

  /** The task that pushes a message. */
  async findByMessage(db: Queryable, appId: string, msgId: Int64): Promise<StoredPushTask | null> {
    const row = await db
      .selectFrom('push_tasks')
      .select(columns)
      .where('app_id', '=', appId)
      .where('msg_id', '=', msgId)
      .where(hasMessage)
      .executeTakeFirst()
    return row ? toTask(row) : null
  }

  /** By ID, the greatest first. @param before exclusive; undefined: from the newest */
  async listNewest(
    db: Queryable,
    appId: string,
    { before, limit }: { readonly before?: Int64 | undefined; readonly limit: number },
  ): Promise<StoredPushTask[]> {
    const rows = await db
      .selectFrom('push_tasks')
      .select(columns)
      .where('app_id', '=', appId)
      .$if(before !== undefined, (all) => all.where('task_id', '<', before as Int64))
      .orderBy('task_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toTask)
  }

  /** Those that there are, in no particular order. */
  async listTimes(db: Queryable, keys: readonly TaskKey[]): Promise<TaskTimes[]> {
    const rows = keys.map(({ appId, taskId }) => [appId, taskId])
    return this.database.bulk<TaskTimes>(db, findTimes, rows)
  }

  /**
   * Tasks of all applications that were made before, and have expired before, some point in time;
   * the oldest first.
   */
  async listOld(
    db: Queryable,
    {
      madeBefore,
      ofMessagesBefore,
      expiredBefore,
    }: {
      readonly madeBefore: number
      /** Those of messages go sooner, since they contain the text. */
      readonly ofMessagesBefore: number
      readonly expiredBefore: number
    },
    limit: number,
  ): Promise<TaskKey[]> {
    return db
      .selectFrom('push_tasks')
      .select(camelCase(['app_id', 'task_id']))
      .where('created_at', '<', Math.max(madeBefore, ofMessagesBefore))
      .where((eb) => eb.or([eb('created_at', '<', madeBefore), eb('msg_id', '<>', 0)]))
      .where('expires_at', '<', expiredBefore)
      .orderBy('created_at')
      .limit(limit)
      .execute()
  }

  /** Deletes tasks with their counts. */
  async delete(tx: Tx, tasks: readonly TaskKey[]): Promise<void> {
    const rows = tasks.map(({ appId, taskId }) => [appId, taskId])
    await this.database.bulk(tx, deleteCounts, rows)
    await this.database.bulk(tx, deleteTasks, rows)
  }
}

const findTimes: BulkSelect = {
  ...findTasks,
  columns: camelCaseText(
    ['task_id', 'created_at', 'begins_at', 'expires_at', 'devices', 'finished'],
    't',
  ),
}
const deleteTasks: BulkDelete = {
  deleteFrom: 'push_tasks',
  keys: taskKeyColumns,
}
const deleteCounts: BulkDelete = { ...deleteTasks, deleteFrom: 'push_task_counts' }
const findCounts: BulkSelect = {
  table: 'push_task_counts',
  keys: taskKeyColumns,
  columns: camelCaseText(pushTaskCountsTable, 't'),
}

function toTask(row: TaskRow): StoredPushTask {
  return convert(row, { content: parseOwnJson(row.content) as StoredPushTask['content'] })
}
