import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete } from '../../../db/dialect/dialect.js'
import type { Selectable } from '../../../db/kysely.js'
import type { PushBatchesTable } from '../../../db/schema.js'
import type { TaskKey } from '../tasks/task-model.js'
import type { Batch, BatchKey, BatchProgress } from './batch-model.js'
import {
  batchProgressRow,
  expectedOf,
  type LockedBatch,
  lockBatches,
  setBatches,
} from './batch-statements.js'

const deleteOfTasks: BulkDelete = {
  module: import.meta.url,
  deleteFrom: 'push_batches',
  keys: { app_id: 'text', task_id: 'bigint' },
}

/** The parts of the audiences of tasks. */
export class BatchStore {
  readonly #find

  constructor(private readonly database: Database) {
    this.#find = database.prepared<BatchKey, Selectable<PushBatchesTable>>((db, param) =>
      db
        .selectFrom('push_batches')
        .selectAll()
        .where('app_id', '=', param('appId'))
        .where('batch_id', '=', param('batchId')),
    )
  }

  async find(db: Queryable, key: BatchKey): Promise<Batch | null> {
    const row = await this.#find.first(db, key)
    return row ? toBatch(row) : null
  }

  /** The batch of a task that a user is in, or comes before; null: the user comes after all that there are. */
  async findOfUser(
    db: Queryable,
    { appId, taskId }: TaskKey,
    userId: Int64,
  ): Promise<Batch | null> {
    const row = await db
      .selectFrom('push_batches')
      .selectAll()
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .where('up_to', '>=', userId)
      .orderBy('up_to')
      .limit(1)
      .executeTakeFirst()
    return row ? toBatch(row) : null
  }

  /** Keeps a batch as it is until the transaction ends. */
  async lock(tx: Tx, { appId, batchId }: BatchKey): Promise<BatchProgress | null> {
    const [row] = await this.database.bulk<LockedBatch>(tx, lockBatches, [[appId, batchId]])
    return row ? { appId, batchId, openedTo: row.opened_to, expected: expectedOf(row) } : null
  }

  /** Sets how far a batch is that is locked. */
  async setProgress(tx: Tx, batch: BatchProgress): Promise<void> {
    await this.database.bulk(tx, setBatches, [batchProgressRow(batch)])
  }

  async deleteOfTasks(tx: Tx, tasks: readonly TaskKey[]): Promise<void> {
    await this.database.bulk(
      tx,
      deleteOfTasks,
      tasks.map(({ appId, taskId }) => [appId, taskId]),
    )
  }
}

function toBatch(row: Selectable<PushBatchesTable>): Batch {
  return {
    appId: row.app_id,
    batchId: row.batch_id,
    taskId: row.task_id,
    openedTo: row.opened_to,
    upTo: row.up_to,
    expected: expectedOf(row),
  }
}
