import { type Int64, pushDeliveryState } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf, convert, type TableRow } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkSelect } from '../../../db/dialect/dialect.js'
import { pushDeliveriesTable } from '../../../db/schema.js'
import type { UserKey } from '../../users/user-model.js'
import type { TaskKey } from '../tasks/task-model.js'
import type { Delivery, DeliveryKey } from './delivery-model.js'
import {
  changeDeliveries,
  clearBadges,
  deliveryKeyColumns,
  deliveryKeyRow,
  deliveryProgressRow,
} from './delivery-statements.js'

type DeliveryRow = TableRow<typeof pushDeliveriesTable>

const columns = camelCase(pushDeliveriesTable)
const findDeliveries: BulkSelect = {
  table: 'push_deliveries',
  keys: deliveryKeyColumns,
  columns: camelCaseText(pushDeliveriesTable, 't'),
}
const lockDeliveries: BulkSelect = { ...findDeliveries, lock: 'for update' }

const findByToken: BulkSelect = {
  table: 'push_deliveries',
  keys: columnsOf(pushDeliveriesTable, 'app_id', 'batch_id', 'token_hash'),
  columns: camelCaseText(pushDeliveriesTable, 't'),
}
const deleteDeliveries: BulkDelete = {
  deleteFrom: 'push_deliveries',
  keys: deliveryKeyColumns,
}

/** Deliveries: the push of a task on each device. */
export class DeliveryStore {
  readonly #pending

  constructor(private readonly database: Database) {
    this.#pending = database.prepared<{ appId: string; batchId: Int64 }, DeliveryRow>((db, param) =>
      db
        .selectFrom('push_deliveries')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('batch_id', '=', param('batchId'))
        .where('state', '=', pushDeliveryState.pending),
    )
  }

  /** Those of a batch that have not come to an end. */
  async listPending(db: Queryable, appId: string, batchId: Int64): Promise<Delivery[]> {
    return (await this.#pending.all(db, { appId, batchId })).map(toDelivery)
  }

  /**
   * Lists the deliveries of a task that are pending or count in badges, by key, at most `limit`.
   * @param after users with IDs above it
   */
  async listOpenOf(
    db: Queryable,
    { appId, taskId }: TaskKey,
    after: Int64,
    limit: number,
  ): Promise<DeliveryKey[]> {
    return db
      .selectFrom('push_deliveries')
      .select(camelCase(['app_id', 'task_id', 'user_id', 'device_sn']))
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .where('user_id', '>', after)
      .where((eb) =>
        eb.or([eb('state', '=', pushDeliveryState.pending), eb('badge', 'is not', null)]),
      )
      .orderBy('user_id')
      .orderBy('device_sn')
      .limit(limit)
      .execute()
  }

  /** Those of a task on the devices of one user, by device. */
  async listOfUser(db: Queryable, { appId, taskId }: TaskKey, userId: Int64): Promise<Delivery[]> {
    const rows = await db
      .selectFrom('push_deliveries')
      .select(columns)
      .where('app_id', '=', appId)
      .where('task_id', '=', taskId)
      .where('user_id', '=', userId)
      .orderBy('device_sn')
      .execute()
    return rows.map(toDelivery)
  }

  /** Locks those that are there, in the order of their keys, and gives them as they are now. */
  async lock(tx: Tx, keys: readonly DeliveryKey[]): Promise<Delivery[]> {
    const rows = await this.database.bulk<DeliveryRow>(tx, lockDeliveries, keys.map(deliveryKeyRow))
    return rows.map(toDelivery)
  }

  /** Sets the progress of deliveries that are locked; their channels stay. */
  async change(tx: Tx, deliveries: readonly Delivery[]): Promise<void> {
    const rows = deliveries.map((delivery) => [
      ...deliveryProgressRow(delivery),
      ...deliveryKeyRow(delivery),
    ])
    await this.database.bulk(tx, changeDeliveries, rows)
  }

  /** Takes deliveries that are locked out of badges. */
  async clearBadges(tx: Tx, deliveries: readonly DeliveryKey[]): Promise<void> {
    const rows = deliveries.map((delivery) => [null, ...deliveryKeyRow(delivery)])
    await this.database.bulk(tx, clearBadges, rows)
  }

  /** Those of batches for the device tokens with these hashes, in no particular order. */
  async listByTokens(
    db: Queryable,
    appId: string,
    tokens: readonly Pick<Delivery, 'batchId' | 'tokenHash'>[],
  ): Promise<Delivery[]> {
    const rows = await this.database.bulk<DeliveryRow>(
      db,
      findByToken,
      tokens.map(({ batchId, tokenHash }) => [appId, batchId, tokenHash]),
    )
    return rows.map(toDelivery)
  }

  /**
   * The keys of deliveries of an application in their order.
   * @param after exclusive: a delivery, or a task of which and before which nothing is listed
   */
  async listKeys(
    db: Queryable,
    appId: string,
    after: DeliveryKey | Int64,
    limit: number,
  ): Promise<DeliveryKey[]> {
    return db
      .selectFrom('push_deliveries')
      .select(camelCase(['app_id', 'task_id', 'user_id', 'device_sn']))
      .where('app_id', '=', appId)
      .where((eb) =>
        typeof after === 'object'
          ? eb(
              eb.refTuple('task_id', 'user_id', 'device_sn'),
              '>',
              eb.tuple(after.taskId, after.userId, after.deviceSn),
            )
          : eb('task_id', '>', after),
      )
      .orderBy('task_id')
      .orderBy('user_id')
      .orderBy('device_sn')
      .limit(limit)
      .execute()
  }

  /** Ends the pending deliveries of all applications to connected devices. @returns them */
  async cancelCore(tx: Tx): Promise<TaskKey[]> {
    return tx
      .updateTable('push_deliveries')
      .set((eb) => ({ state: pushDeliveryState.cancelled, attempts: eb('attempts', '+', 1) }))
      .where('channel', '=', 'core')
      .where('state', '=', pushDeliveryState.pending)
      .returning(camelCase(['app_id', 'task_id']))
      .execute()
  }

  async delete(tx: Tx, keys: readonly DeliveryKey[]): Promise<void> {
    await this.database.bulk(tx, deleteDeliveries, keys.map(deliveryKeyRow))
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('push_deliveries')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

function toDelivery(row: DeliveryRow): Delivery {
  return convert(row, {
    channel: row.channel as Delivery['channel'],
    isSilent: row.isSilent === 1,
    hidesDetails: row.hidesDetails === 1,
  })
}
