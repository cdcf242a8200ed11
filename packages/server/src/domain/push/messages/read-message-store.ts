import { type Int64, pushDeliveryState } from '@hermod/protocol'
import { camelCase } from '../../../db/columns.js'
import type { Database, Param, PreparedPage, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
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

/** The condition of the partial index, word by word, so that the index is used. */
const isOpen: RawBuilder<boolean> = sql`(d.state = ${sql.lit(pushDeliveryState.pending)} or d.badge is not null)`

/** Finds pushes of messages that were read. */
export class ReadMessageStore {
  readonly #open: PreparedPage<ReadUpTo, DeliveryKey>
  readonly #allOpen: PreparedPage<ReadAll, DeliveryKey>

  constructor(database: Database) {
    this.#open = database.preparedPage((db, param, limit) =>
      openPushes(db, param)
        // No join, which might begin with all messages of the log.
        .where(
          sql<boolean>`exists (select 1 from messages m where m.app_id = t.app_id
            and m.low_id = ${param('lowId')} and m.high_id = ${param('highId')} and m.msg_id = t.msg_id)`,
        )
        .where('t.msg_id', '<=', param('upToId'))
        .limit(limit),
    )
    this.#allOpen = database.preparedPage((db, param, limit) =>
      openPushes(db, param).where('t.expires_at', '<', param('expiresBefore')).limit(limit),
    )
  }

  /** Lists open pushes of messages of a log, at most `limit`; those of one message follow each other. */
  async listOpen(db: Queryable, read: ReadUpTo, limit: number): Promise<DeliveryKey[]> {
    return this.#open.all(db, { ...read, limit })
  }

  /** Lists open pushes of all messages, as {@link listOpen} does. */
  async listAllOpen(db: Queryable, read: ReadAll, limit: number): Promise<DeliveryKey[]> {
    return this.#allOpen.all(db, { ...read, limit })
  }
}

/** Selects the pushes of messages to the devices of a user that are pending or count in a badge. */
function openPushes(db: Queryable, param: Param<UserKey>) {
  return db
    .selectFrom('push_deliveries as d')
    .innerJoin('push_tasks as t', (join) =>
      join.onRef('t.app_id', '=', 'd.app_id').onRef('t.task_id', '=', 'd.task_id'),
    )
    .select(camelCase(['app_id', 'task_id', 'user_id', 'device_sn'], 'd'))
    .where('d.app_id', '=', param('appId'))
    .where('d.user_id', '=', param('userId'))
    .where(isOpen)
    .where('t.msg_id', '<>', 0)
    .orderBy('d.task_id')
}
