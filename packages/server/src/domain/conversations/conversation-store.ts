import type { Int64 } from '@hermod/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { ConversationKey, ConversationView, Marks } from './conversation-model.js'

interface UserKey {
  readonly appId: string
  readonly userId: Int64
}

type ViewRow = { low_id: Int64; high_id: Int64; created_at: number; last_msg_id: number }
type UnreadRow = { low_id: Int64; high_id: Int64; unread: number }
type MarksRow = { read_seq: number; hidden_msg_id: number }

function ofConversation(column: 'seq' | 'last_msg_id') {
  return sql<number>`(select c.${sql.ref(column)} from conversations as c where c.app_id = participants.app_id and c.low_id = participants.low_id and c.high_id = participants.high_id)`
}
const lastSeq = ofConversation('seq')
const lastMessageId = ofConversation('last_msg_id')

/** Neither read nor hidden are messages above this position. */
const seenSeq = sql<number>`case when p.hidden_seq > p.read_seq then p.hidden_seq else p.read_seq end`

/**
 * A mark moved forward. Compared in the statement, because a row that was waited for is judged again with its new values while what
 * was looked up beside it stays as it was.
 */
function raised(mark: 'hidden_seq' | 'hidden_msg_id', value: RawBuilder<number>): RawBuilder<number> {
  return sql<number>`case when ${sql.ref(mark)} < ${value} then ${value} else ${sql.ref(mark)} end`
}

/**
 * Conversations as their parties see them. A conversation that a party has deleted is hidden until it holds a newer message
 * (decision E13).
 */
export class ConversationStore {
  readonly #list
  readonly #unread
  readonly #marks

  constructor(database: Database) {
    const joined = (db: Executor) =>
      db
        .selectFrom('participants as p')
        .innerJoin('conversations as c', (join) =>
          join.onRef('c.app_id', '=', 'p.app_id').onRef('c.low_id', '=', 'p.low_id').onRef('c.high_id', '=', 'p.high_id'),
        )
    this.#list = database.prepared<UserKey & { beforeId: number; limit: number }, ViewRow>((db, param) =>
      joined(db)
        .select(['c.low_id', 'c.high_id', 'c.created_at', 'c.last_msg_id'])
        .where('p.app_id', '=', param('appId'))
        .where('p.user_id', '=', param('userId'))
        .whereRef('c.last_msg_id', '>', 'p.hidden_msg_id')
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
    this.#marks = database.prepared<ConversationKey & { userId: Int64 }, MarksRow>((db, param) =>
      db
        .selectFrom('participants')
        .select(['read_seq', 'hidden_msg_id'])
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId')),
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

  /** null when the user is no party of the conversation, or it does not exist. */
  async findMarks(db: Executor, conversation: ConversationKey, userId: Int64): Promise<Marks | null> {
    const row = await this.#marks.first(db, { ...conversation, userId })
    return row && { readSeq: row.read_seq, hiddenUpToId: row.hidden_msg_id }
  }

  /**
   * Moves the user's read mark forward to a position, or to the end of the conversation; never back.
   * @param conversation null = all conversations of the user
   */
  async markRead(tx: Tx, user: UserKey, conversation: ConversationKey | null, seq: number | null): Promise<void> {
    let update = tx
      .updateTable('participants')
      .set({ read_seq: seq ?? lastSeq })
      .where('app_id', '=', user.appId)
      .where('user_id', '=', user.userId)
    if (conversation) update = update.where('low_id', '=', conversation.lowId).where('high_id', '=', conversation.highId)
    await (seq === null ? update.where(sql<boolean>`read_seq < ${lastSeq}`) : update.where('read_seq', '<', seq)).execute()
  }

  /** Hides everything that the conversation holds now; what was unread of it stays so for its sender. @returns false when the user is no party of it */
  async hide(tx: Tx, conversation: ConversationKey, userId: Int64): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('participants')
      .set({ hidden_seq: raised('hidden_seq', lastSeq), hidden_msg_id: raised('hidden_msg_id', lastMessageId) })
      .where('app_id', '=', conversation.appId)
      .where('user_id', '=', userId)
      .where('low_id', '=', conversation.lowId)
      .where('high_id', '=', conversation.highId)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** The user's conversation that holds the message; null when there is none. */
  async findByMessage(db: Executor, user: UserKey, messageId: Int64): Promise<ConversationKey | null> {
    const row = await db
      .selectFrom('participants as p')
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
}
