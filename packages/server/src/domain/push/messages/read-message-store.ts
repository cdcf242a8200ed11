import { type Int64, pushDeliveryState } from '@hermod/protocol'
import { camelCase } from '../../../db/columns.js'
import type { Database, Prepared, PreparedPage, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
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

/** A push to a device that is pending or counts in the badge of its user. */
export interface OpenPush extends DeliveryKey {
  readonly msgId: Int64
}

/** Messages that are looked at together. */
const messagesPerPage = 20

const isOpen: RawBuilder<boolean> = sql`(d.state = ${sql.lit(pushDeliveryState.pending)} or d.badge is not null)`

/** Finds pushes of messages that were read. */
export class ReadMessageStore {
  readonly #open: Prepared<ReadUpTo, OpenPush>
  readonly #allOpen: PreparedPage<ReadAll, OpenPush>

  constructor(database: Database) {
    this.#open = database.prepared((db, param) =>
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
            .limit(sql.lit(messagesPerPage))
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
        .select(camelCase(['app_id', 'task_id', 'user_id', 'device_sn'], 'd'))
        .select(camelCase(['msg_id'], 't'))
        .where('d.user_id', '=', param('userId'))
        .where(isOpen),
    )
    this.#allOpen = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('push_deliveries as d')
        .innerJoin('push_tasks as t', (join) =>
          join.onRef('t.app_id', '=', 'd.app_id').onRef('t.task_id', '=', 'd.task_id'),
        )
        .select(camelCase(['app_id', 'task_id', 'user_id', 'device_sn'], 'd'))
        .select(camelCase(['msg_id'], 't'))
        .where('d.app_id', '=', param('appId'))
        .where('d.user_id', '=', param('userId'))
        .where(isOpen)
        .where('t.msg_id', '<>', 0)
        .where('t.expires_at', '<', param('expiresBefore'))
        .orderBy('d.task_id')
        .limit(limit),
    )
  }

  /**
   * Open pushes to the user of the last messages that were read, a page of them. Older pages follow
   * with the ID before the oldest message as `upToId`.
   */
  async listOpen(db: Queryable, read: ReadUpTo): Promise<OpenPush[]> {
    return this.#open.all(db, { ...read })
  }

  /** Open pushes of messages to the user, at most `limit`; those of one message follow each other. */
  async listAllOpen(db: Queryable, read: ReadAll, limit: number): Promise<OpenPush[]> {
    return this.#allOpen.all(db, { ...read, limit })
  }
}
