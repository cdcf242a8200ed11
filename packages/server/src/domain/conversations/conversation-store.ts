import type { Int64 } from '@hermod/protocol'
import { type RawBuilder, sql, type UpdateObject } from 'kysely'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { Schema } from '../../db/schema.js'
import { type ConversationKey, type ConversationView, type Side, sidesOf } from './conversation-model.js'

interface UserKey {
  readonly appId: string
  readonly userId: Int64
}

type ViewRow = { low_id: Int64; high_id: Int64; created_at: number; last_msg_id: number }
type UnreadRow = { low_id: Int64; high_id: Int64; unread: number }

const sides = ['low', 'high'] as const
/** A value of the conversation `c` that belongs to the user of `p`. */
const own = (value: (side: Side) => ReturnType<typeof sql<number>>) =>
  sql<number>`case when c.low_id = p.user_id then ${value('low')} else ${value('high')} end`
const hiddenMessageId = own((side) => sql<number>`${sql.ref(`c.${side}_hidden_msg_id`)}`)
/** Neither read nor hidden are messages above this position. */
const seenSeq = own((side) => {
  const [hidden, read] = [sql.ref(`c.${side}_hidden_seq`), sql.ref(`c.${side}_read_seq`)]
  return sql<number>`case when ${hidden} > ${read} then ${hidden} else ${read} end`
})

/**
 * A mark moved forward. Compared in the statement, because a row that was waited for is judged again with its new values while what
 * was looked up before stays as it was.
 */
function greater(mark: string, value: number): RawBuilder<number> {
  return sql<number>`case when ${sql.ref(mark)} < ${value} then ${value} else ${sql.ref(mark)} end`
}

const readSeq = own((side) => sql<number>`${sql.ref(`c.${side}_read_seq`)}`)

function joined(db: Executor) {
  return db
    .selectFrom('user_conversations as p')
    .innerJoin('conversations as c', (join) =>
      join.onRef('c.app_id', '=', 'p.app_id').onRef('c.low_id', '=', 'p.low_id').onRef('c.high_id', '=', 'p.high_id'),
    )
}

/**
 * Conversations as their parties see them. A conversation that a party has deleted is hidden until it holds a newer message
 * (decision E13).
 */
export class ConversationStore {
  readonly #database: Database
  readonly #list
  readonly #unread

  constructor(database: Database) {
    this.#database = database
    this.#list = database.prepared<UserKey & { beforeId: number; limit: number }, ViewRow>((db, param) =>
      joined(db)
        .select(['c.low_id', 'c.high_id', 'c.created_at', 'c.last_msg_id'])
        .where('p.app_id', '=', param('appId'))
        .where('p.user_id', '=', param('userId'))
        .where(sql<boolean>`c.last_msg_id > ${hiddenMessageId}`)
        .where('c.last_msg_id', '<', param('beforeId'))
        .orderBy('c.last_msg_id', 'desc')
        .limit(param('limit')),
    )
    // Sending moves the sender's own mark, so everything above a mark is of others and the difference of two positions is the count.
    this.#unread = database.prepared<UserKey, UnreadRow>((db, param) =>
      joined(db)
        .select(['c.low_id', 'c.high_id', sql<number>`c.seq - ${seenSeq}`.as('unread')])
        .where('p.app_id', '=', param('appId'))
        .where('p.user_id', '=', param('userId'))
        .where(sql<boolean>`c.seq > ${seenSeq}`)
        .orderBy('c.last_msg_id', 'desc'),
    )
  }

  /** Most recent activity first; only conversations whose last message is older than `beforeId`. */
  async list(
    db: Executor,
    user: UserKey,
    page: { beforeId: number; limit: number },
  ): Promise<(ConversationView & { lowId: Int64; highId: Int64 })[]> {
    const rows = await this.#list.all(db, { ...user, ...page })
    return rows.map((row) => ({
      lowId: row.low_id,
      highId: row.high_id,
      peerId: row.low_id === user.userId ? row.high_id : row.low_id,
      createdAt: row.created_at,
      lastMessageId: row.last_msg_id,
    }))
  }

  /** Conversations with unread messages, most recent activity first. */
  async listUnread(db: Executor, user: UserKey): Promise<{ peerId: Int64; unreadCount: number }[]> {
    const rows = await this.#unread.all(db, user)
    return rows.map((row) => ({ peerId: row.low_id === user.userId ? row.high_id : row.low_id, unreadCount: Number(row.unread) }))
  }

  /**
   * Moves the user's read mark forward to a position, or to the end of the conversation; never back.
   * @returns false when there is no such conversation
   */
  async markRead(tx: Tx, conversation: ConversationKey, userId: Int64, seq: number | null): Promise<boolean> {
    return this.#move(tx, conversation, userId, (side) => ({
      [`${side}_read_seq`]: seq === null ? sql.ref('seq') : greater(`${side}_read_seq`, seq),
    }))
  }

  /** Moves the read marks of all conversations of the user to their ends. */
  async markAllRead(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    const unread = joined(tx)
      .select(['c.low_id', 'c.high_id'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(sql<boolean>`c.seq > ${readSeq}`)
    // In the order in which batches of sends lock them.
    if (this.#database.dialect.rowLocks) await unread.orderBy('c.low_id').orderBy('c.high_id').forUpdate('c').execute()
    for (const side of sides)
      await tx
        .updateTable('conversations')
        .set({ [`${side}_read_seq`]: sql.ref('seq') })
        .where('app_id', '=', appId)
        .where(`${side}_id`, '=', userId)
        .where((where) => where(where.refTuple('low_id', 'high_id'), 'in', unread.$asTuple('low_id', 'high_id')))
        .execute()
  }

  /** Hides everything that the conversation holds now; what was unread of it stays so for its sender. @returns false when there is no such conversation */
  async hide(tx: Tx, conversation: ConversationKey, userId: Int64): Promise<boolean> {
    return this.#move(tx, conversation, userId, (side) => ({
      [`${side}_hidden_seq`]: sql.ref('seq'),
      [`${side}_hidden_msg_id`]: sql.ref('last_msg_id'),
    }))
  }

  /** The user's conversation that holds the message; null when there is none. */
  async findByMessage(db: Executor, user: UserKey, messageId: Int64): Promise<ConversationKey | null> {
    const row = await db
      .selectFrom('user_conversations as p')
      .innerJoin('messages as m', (join) =>
        join
          .onRef('m.app_id', '=', 'p.app_id')
          .onRef('m.low_id', '=', 'p.low_id')
          .onRef('m.high_id', '=', 'p.high_id')
          .on('m.msg_id', '=', messageId as number),
      )
      .select(['p.low_id', 'p.high_id'])
      .where('p.app_id', '=', user.appId)
      .where('p.user_id', '=', user.userId)
      .executeTakeFirst()
    return row ? { appId: user.appId, lowId: row.low_id, highId: row.high_id } : null
  }

  async exists(db: Executor, { appId, lowId, highId }: ConversationKey): Promise<boolean> {
    const row = await db
      .selectFrom('conversations')
      .select('seq')
      .where('app_id', '=', appId)
      .where('low_id', '=', lowId)
      .where('high_id', '=', highId)
      .executeTakeFirst()
    return row !== undefined
  }

  /** @param marks the new values of the marks of one side */
  async #move(
    tx: Tx,
    { appId, lowId, highId }: ConversationKey,
    userId: Int64,
    marks: (side: Side) => UpdateObject<Schema, 'conversations'>,
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('conversations')
      .set(Object.assign({}, ...sidesOf({ lowId, highId }, userId).map(marks)))
      .where('app_id', '=', appId)
      .where('low_id', '=', lowId)
      .where('high_id', '=', highId)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }
}
