import type { Int64 } from '@hermod/protocol'
import type { Database, Param, Queryable, Tx } from '../../../db/database.js'
import { greater } from '../../../db/expressions.js'
import { sql, type Updateable } from '../../../db/kysely.js'
import { lockForUpdate, lockNoKeyUpdate } from '../../../db/locking.js'
import type { Schema } from '../../../db/schema.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import {
  broadcastUserId,
  type Conversation,
  type ConversationKey,
  conversationOf,
} from '../model/conversation-model.js'
import type { FurthestReaders } from '../model/furthest-readers.js'
import type { ReaderKey, ReaderPositions } from './reader-positions.js'
import { forEachKind, type LogSource, logsOfUser, readerKeyOf } from './reader-sql.js'
import {
  compareReaders,
  deleteReaders,
  fullyReadRow,
  insertedReaderRow,
  insertReaders,
  moveFullyRead,
  type ReadRange,
  type ReaderStart,
  readerKeyRow,
  startOf,
} from './reader-statements.js'

interface PositionsRow {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: number
  readonly end: number
  readonly lastMessageId: number
  readonly startMessageId: number
  readonly seen: number
  readonly acked: number
  readonly delivered: number
  readonly furthestId: Int64
  readonly furthestSeq: number
  readonly othersSeq: number
  /** 0 or 1 */
  readonly hasReadAck: number
}

/** The positions of a user in one of its logs. */
export interface ListedPositions {
  readonly conversation: Conversation
  readonly positions: ReaderPositions
}

/**
 * The columns of a member's row that decide which messages are unread while and after they are not
 * received.
 */
export type UnreadPositions = Pick<Schema['readers'], 'muted_seq'> & { readonly seen_seq: number }

const beforeAll = { lowId: broadcastUserId - 1, highId: 0 }

const positionsOf = (log: ReturnType<LogSource>) =>
  log.select([
    'l.low_id as lowId',
    'l.high_id as highId',
    'l.is_group as isGroup',
    'l.seq as end',
    'l.last_msg_id as lastMessageId',
    sql<number>`case when l.is_group = 1 and exists (select 1 from groups g
      where g.app_id = l.app_id and g.group_id = l.low_id and g.history_visible = 1)
      then 0 else l.start_msg_id end`.as('startMessageId'),
    'l.seen_seq as seen',
    'l.acked_seq as acked',
    'l.delivered_seq as delivered',
    'l.furthest_id as furthestId',
    'l.furthest_seq as furthestSeq',
    'l.others_seq as othersSeq',
    sql<number>`case when l.is_group = 1 then (select g.read_ack from groups g
      where g.app_id = l.app_id and g.group_id = l.low_id) else 0 end`.as('hasReadAck'),
  ])

/** The positions of readers in their logs. */
export class ReaderStore {
  readonly #find
  readonly #notRead

  constructor(private readonly database: Database) {
    this.#find = forEachKind((logOf) =>
      database.prepared<ReaderKey, PositionsRow>((db, param) =>
        positionsOf(logOf(db, param)).where('l.seq', '>', 0),
      ),
    )
    const notRead = (hasBroadcasts: boolean) =>
      database.preparedPage<ReaderKey, PositionsRow>((db, param: Param<ReaderKey>, limit) =>
        positionsOf(logsOfUser(db, param, hasBroadcasts))
          .where(sql<boolean>`(l.low_id, l.high_id) > (${param('lowId')}, ${param('highId')})`)
          .whereRef('l.seq', '>', 'l.acked_seq')
          .orderBy('l.low_id')
          .orderBy('l.high_id')
          .limit(limit),
      )
    this.#notRead = { all: notRead(true), withReader: notRead(false) }
  }

  /** @returns null when the conversation has not begun, or the stream has no broadcast for the user */
  async find(db: Queryable, log: ReadableLog): Promise<ReaderPositions | null> {
    const row = await this.#find.of(log).first(db, readerKeyOf(log))
    return row && toPositions(row)
  }

  /**
   * Lists positions in logs with messages that the user has not acknowledged, by key.
   * @param page.after the last one of the page before; null for the first page
   * @param page.hasBroadcasts false where the app has none
   */
  async listNotRead(
    db: Queryable,
    { appId, userId }: UserKey,
    page: {
      readonly after: ConversationKey | null
      readonly limit: number
      readonly hasBroadcasts: boolean
    },
  ): Promise<ListedPositions[]> {
    const { lowId, highId } = page.after ?? beforeAll
    const statement = page.hasBroadcasts ? this.#notRead.all : this.#notRead.withReader
    const rows = await statement.all(db, { appId, userId, lowId, highId, limit: page.limit })
    return rows.map((row) => ({
      conversation: conversationOf({ appId, lowId: row.lowId, highId: row.highId }, userId),
      positions: toPositions(row),
    }))
  }

  /** Adds readers, except those that are there and deleted users. */
  async insert(tx: Tx, readers: readonly ReaderKey[], start: ReaderStart): Promise<void> {
    await this.database.bulk(
      tx,
      insertReaders,
      readers.toSorted(compareReaders).map((reader) => insertedReaderRow(reader, start)),
    )
  }

  /** Adds the reader of a stream, if there is a broadcast for the user. */
  async insertOfStream(tx: Tx, log: ReadableLog): Promise<void> {
    const positions = await this.find(tx, log)
    if (!positions) return
    await this.insert(tx, [readerKeyOf(log)], startOf(positions))
  }

  /** Moves those of the readers who have read everything up to a position. */
  async advanceRead(tx: Tx, ranges: readonly ReadRange[]): Promise<void> {
    const rows = ranges.toSorted((a, b) => compareReaders(a.reader, b.reader)).map(fullyReadRow)
    await this.database.bulk(tx, moveFullyRead, rows)
  }

  /**
   * Moves the members of a group who have read everything up to a position.
   * @returns these members
   */
  async advanceMembers(
    tx: Tx,
    { appId, lowId: groupId }: ConversationKey,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<Int64[]> {
    const rows = await tx
      .updateTable('readers')
      .set({ read_seq: to, seen_seq: to, delivered_seq: to })
      // By the whole key and in an order, so that PostgreSQL reads the members first: it would compare
      // each reader with each member in an app that its statistics do not have yet.
      .where(
        sql<boolean>`(app_id, user_id, low_id, high_id) in (
          select app_id, user_id, group_id, group_id from group_members
          where app_id = ${appId} and group_id = ${groupId} order by user_id)`,
      )
      .where('seen_seq', '=', from)
      .returning('user_id')
      .execute()
    return rows.map((row) => row.user_id)
  }

  /**
   * Hides the messages up to the end of a log.
   * @returns false when the user is no reader
   */
  async hide(
    tx: Tx,
    reader: ReaderKey,
    { seq, lastMessageId }: Pick<ConversationEnd, 'seq' | 'lastMessageId'>,
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('readers')
      // The user may have sent or deleted concurrently.
      .set({
        seen_seq: greater('seen_seq', seq),
        hidden_msg_id: greater('hidden_msg_id', lastMessageId),
      })
      .where(isReaderRow(reader))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Locks the unread positions of a reader until the transaction ends. */
  async lockUnread(tx: Tx, reader: ReaderKey): Promise<UnreadPositions> {
    const found = tx
      .selectFrom('readers')
      .select(['seen_seq', 'muted_seq'])
      .where(isReaderRow(reader))
    return lockNoKeyUpdate(tx, found).executeTakeFirstOrThrow()
  }

  /** Sets unread positions of a locked reader. */
  async setUnread(
    tx: Tx,
    reader: ReaderKey,
    positions: Pick<Updateable<Schema['readers']>, 'seen_seq' | 'muted_seq' | 'gaps_end_seq'>,
  ): Promise<void> {
    await tx.updateTable('readers').set(positions).where(isReaderRow(reader)).execute()
  }

  /** Deletes former members of a group. */
  async deleteOfGroup(
    tx: Tx,
    { appId, groupId }: GroupKey,
    userIds: readonly Int64[],
  ): Promise<void> {
    const rows = userIds
      .map((userId) => ({ appId, userId, lowId: groupId, highId: groupId }))
      .sort(compareReaders)
      .map(readerKeyRow)
    await this.database.bulk(tx, deleteReaders, rows)
  }

  /** Closes the user's rows of direct conversations, which the other parties need, and deletes all others. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    // In the order of all transactions, which may be moving several positions of the user.
    const rows = tx
      .selectFrom('readers')
      .select('low_id')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('low_id')
      .orderBy('high_id')
    if (tx.hasRowLocks) await lockForUpdate(tx, rows).execute()
    const isParty = sql<boolean>`(low_id = ${userId} or high_id = ${userId}) and low_id <> ${broadcastUserId}`
    await tx
      .deleteFrom('readers')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where(sql<boolean>`not (${isParty})`)
      .execute()
    await tx
      .updateTable('readers')
      .set({ closed: 1 })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

function isReaderRow({ appId, userId, lowId, highId }: ReaderKey) {
  return sql<boolean>`app_id = ${appId} and user_id = ${userId} and low_id = ${lowId} and high_id = ${highId}`
}

function toPositions(row: PositionsRow): ReaderPositions {
  const furthest: FurthestReaders = {
    id: row.furthestId,
    seq: row.furthestSeq,
    othersSeq: row.othersSeq,
  }
  return {
    at: { read_seq: row.acked, delivered_seq: row.delivered },
    end: row.end,
    lastMessageId: row.lastMessageId,
    startMessageId: row.startMessageId,
    seen: row.seen,
    group: row.isGroup === 1 ? { furthest, hasReadAck: row.hasReadAck === 1 } : null,
  }
}
