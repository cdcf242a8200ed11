import { type Int64, pushDeliveryState } from '@hermod/protocol'
import type { Database, Prepared, PreparedPage, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import type { DeliveryKey } from '../deliveries/delivery-model.js'

/** The read position of a user in a conversation, or in the broadcasts of a sender. */
export interface ReadUpTo {
  readonly appId: string
  readonly userId: Int64
  readonly lowId: Int64
  readonly highId: Int64
  /** This message and those before it. */
  readonly upToId: Int64
}

/** A user who has read everything. */
export interface ReadAll {
  readonly appId: string
  readonly userId: Int64
  /** Tasks that expire earlier. */
  readonly expiresBefore: number
}

/** Looked for are the last messages only: of older ones the device has had a newer push. */
const maxMessages = 20

/** Finds pushes of messages that were read. */
export class ReadMessageStore {
  readonly #pending: Prepared<ReadUpTo, DeliveryKey>
  readonly #allPending: PreparedPage<ReadAll, DeliveryKey>

  constructor(database: Database) {
    this.#pending = database.prepared((db, param) =>
      db
        .selectFrom(
          db
            .selectFrom('messages')
            .select(['app_id', 'msg_id'])
            .where('app_id', '=', param('appId'))
            .where('low_id', '=', param('lowId'))
            .where('high_id', '=', param('highId'))
            .where('msg_id', '<=', param('upToId') as number)
            .orderBy('msg_id', 'desc')
            .limit(sql.lit(maxMessages))
            .as('m'),
        )
        .innerJoin('push_tasks as t', (join) =>
          join
            .onRef('t.app_id', '=', 'm.app_id')
            .onRef('t.msg_id', '=', 'm.msg_id')
            // The condition of the partial index, word by word, so that the index is used.
            .on(sql<boolean>`t.msg_id <> 0`),
        )
        .innerJoin('push_deliveries as d', (join) =>
          join.onRef('d.app_id', '=', 't.app_id').onRef('d.task_id', '=', 't.task_id'),
        )
        .select(['d.app_id as appId', 'd.task_id as taskId', 'd.user_id as userId'])
        .select('d.device_sn as deviceSn')
        .where('d.user_id', '=', param('userId'))
        .where('d.state', '=', sql.lit(pushDeliveryState.pending)),
    )
    this.#allPending = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_deliveries as d')
        .innerJoin('push_tasks as t', (join) =>
          join.onRef('t.app_id', '=', 'd.app_id').onRef('t.task_id', '=', 'd.task_id'),
        )
        .select(['d.app_id as appId', 'd.task_id as taskId', 'd.user_id as userId'])
        .select('d.device_sn as deviceSn')
        .where('d.app_id', '=', param('appId'))
        .where('d.user_id', '=', param('userId'))
        .where('d.state', '=', sql.lit(pushDeliveryState.pending))
        .where('t.msg_id', '<>', 0)
        .where('t.expires_at', '<', param('expiresBefore'))
        .limit(limit),
    )
  }

  /** Pushes to the user that have not come to an end. */
  async listPending(db: Queryable, read: ReadUpTo): Promise<DeliveryKey[]> {
    return this.#pending.all(db, { ...read })
  }

  /** Pushes of messages to the user that have not come to an end, at most `limit`, in no particular order. */
  async listAllPending(db: Queryable, read: ReadAll, limit: number): Promise<DeliveryKey[]> {
    return this.#allPending.all(db, { ...read, limit })
  }
}
