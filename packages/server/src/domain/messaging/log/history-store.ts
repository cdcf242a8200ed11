import { type Int64, messageStatus } from '@hermod/protocol'
import type { Database, Param, Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import type { Schema } from '../../../db/schema.js'
import { storedColumns, textBytesOf } from '../conversations/conversation-sql.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { RecalledMessage, Tombstone } from '../model/change-model.js'
import { broadcastUserId, type ConversationKey } from '../model/conversation-model.js'
import type { HistoryMessage, MessageSize, MessageStatus } from '../model/message-model.js'
import type { ReaderKey } from '../readers/reader-positions.js'
import { withOpenStreams } from './open-streams.js'
import {
  forEachKind,
  isReader,
  type LogSource,
  peerDeliveredSeq,
  peerReadSeq,
  readerKeyOf,
  withOthers,
} from '../readers/reader-sql.js'

interface UpToMessage {
  readonly upToId: Int64
}

interface GroupLogKey {
  readonly appId: string
  readonly groupId: Int64
}

const stored = sql.lit(messageStatus.stored)
const delivered = sql.lit(messageStatus.delivered)
const read = sql.lit(messageStatus.read)

/** The status of a message of a page at two positions. */
const statusAt = (readSeq: RawBuilder<number>, deliveredSeq: RawBuilder<number>) =>
  sql<MessageStatus>`case when page.seq <= ${readSeq} then ${read} when page.seq <= ${deliveredSeq} then ${delivered} else ${stored} end`

/**
 * The status of a message for the reader of `l`: of own messages by the positions of others, of
 * received ones by the own positions. Own broadcasts are in the conversation with oneself, and so
 * are read.
 */
const status = sql<MessageStatus>`case when page.sender_id = l.user_id and l.low_id <> ${sql.lit(broadcastUserId)}
  then ${statusAt(peerReadSeq, peerDeliveredSeq)}
  else ${statusAt(sql.ref('l.read_seq'), sql.ref('l.delivered_seq'))} end`

/** The messages `m` of a log. */
const messagesOf = (db: Queryable, param: Param<ConversationKey>) =>
  db
    .selectFrom('messages as m')
    .where('m.app_id', '=', param('appId'))
    .where('m.low_id', '=', param('lowId'))
    .where('m.high_id', '=', param('highId'))

/**
 * The messages of a `page` of the log `l` with their status for its reader. The page is found by its
 * key alone: joined message by message, PostgreSQL would look the reader up for each of them.
 */
const shownTo = (log: ReturnType<LogSource>, page: ReturnType<typeof messagesOf>) =>
  withOthers(log)
    .innerJoin(page.selectAll().as('page'), (join) => join.onTrue())
    .select([...storedColumns('page'), status.as('status')])

/** Messages `m` of a group's conversation `c` with the status that their senders see. */
function wholeLogOfGroup(db: Queryable, param: Param<GroupLogKey>) {
  const status = sql<MessageStatus>`case when g.read_ack = 1
    and m.seq <= case when c.furthest_id = m.sender_id then c.others_seq else c.furthest_seq end then ${read} else ${stored} end`
  return db
    .selectFrom('groups as g')
    .innerJoin('conversations as c', (join) =>
      join
        .onRef('c.app_id', '=', 'g.app_id')
        .onRef('c.low_id', '=', 'g.group_id')
        .onRef('c.high_id', '=', 'g.group_id'),
    )
    .innerJoin('messages as m', (join) =>
      join
        .onRef('m.app_id', '=', 'c.app_id')
        .onRef('m.low_id', '=', 'c.low_id')
        .onRef('m.high_id', '=', 'c.high_id'),
    )
    .select([...storedColumns('m'), status.as('status')])
    .where('g.app_id', '=', param('appId'))
    .where('g.group_id', '=', param('groupId'))
}

const halfOfIds = 2 ** 52

/** The tables of a log. Positions ascend with message IDs in each of them. */
type LogTable = 'messages' | 'recalled_messages'

/** The position of the newest row with an ID up to this one; 0 when there is none. */
const seqUpTo = (table: LogTable, param: Param<ConversationKey>, id: RawBuilder<unknown>) =>
  sql<number>`coalesce((select m.seq from ${sql.table(table)} m where m.app_id = ${param('appId')} and m.low_id = ${param('lowId')}
    and m.high_id = ${param('highId')} and m.msg_id <= ${id} order by m.msg_id desc limit 1), 0)`

/** Prepares the search for the greatest ID whose newest row up to it is at most at a position. */
function placeIn(database: Database, table: LogTable) {
  return database.prepared<ConversationKey & { seq: number }, { id: number }>((db, param) => {
    const isBelow = sql`place.seq <= ${param('seq')}`
    const nextId = sql<number>`case when ${isBelow} then place.id + place.step else place.id end`
    return db
      .withRecursive('place(id, step, seq)', (cte) =>
        cte
          .selectNoFrom([
            sql<number>`cast(0 as bigint)`.as('id'),
            sql<number>`${sql.lit(halfOfIds)}`.as('step'),
            seqUpTo(table, param, sql.lit(halfOfIds)).as('seq'),
          ])
          .unionAll(
            cte
              .selectFrom('place')
              .select([
                nextId.as('id'),
                sql<number>`place.step / 2`.as('step'),
                seqUpTo(table, param, sql`${nextId} + place.step / 2`).as('seq'),
              ])
              .where('place.step', '>', 0)
              .where('place.seq', '<>', param('seq')),
          ),
      )
      .selectFrom('place')
      .select(sql<number>`max(${nextId})`.as('id'))
  })
}

/** Messages above a position that are not hidden. */
interface AfterSeq {
  readonly seq: number
  readonly hiddenMessageId: number
  readonly limit: number
}

/** The sizes of the messages `m` of a log. */
const sizesOf = (db: Queryable, param: Param<ConversationKey>) =>
  messagesOf(db, param).select(['m.msg_id as messageId', 'm.seq', textBytesOf('m').as('bytes')])

/** Reads the message log, which messaging/sending/store-batch.ts writes. */
export class HistoryStore {
  readonly #page
  readonly #wholeGroupPage
  readonly #after
  readonly #one
  readonly #placeOf
  readonly #recalledAfter
  readonly #tombstone
  readonly #seqOf
  readonly #upTo
  readonly #sizes
  readonly #groupSizes
  readonly #sizesAfter

  constructor(database: Database) {
    this.#page = forEachKind((logOf) =>
      database.preparedPage<ReaderKey & UpToMessage, HistoryMessage>((db, param, limit) =>
        shownTo(
          logOf(db, param),
          messagesOf(db, param)
            .where('m.msg_id', '<=', param('upToId') as number)
            .orderBy('m.msg_id', 'desc')
            .limit(limit),
        )
          // Hidden messages are the oldest ones.
          .whereRef('page.msg_id', '>', 'l.hidden_msg_id')
          .orderBy('page.msg_id', 'desc'),
      ),
    )
    this.#wholeGroupPage = database.preparedPage<GroupLogKey & UpToMessage, HistoryMessage>(
      (db, param, limit) =>
        wholeLogOfGroup(db, param)
          .where('m.msg_id', '<=', param('upToId') as number)
          .orderBy('m.msg_id', 'desc')
          .limit(limit),
    )
    this.#after = forEachKind((logOf) =>
      database.preparedPage<ReaderKey & { afterId: number }, HistoryMessage>((db, param, limit) =>
        shownTo(
          logOf(db, param),
          messagesOf(db, param)
            .where('m.msg_id', '>', param('afterId'))
            .orderBy('m.msg_id')
            .limit(limit),
        ).orderBy('page.msg_id'),
      ),
    )
    this.#one = forEachKind((logOf) =>
      database.prepared<ReaderKey & { messageId: number }, HistoryMessage>((db, param) =>
        shownTo(logOf(db, param), messagesOf(db, param).where('m.msg_id', '=', param('messageId'))),
      ),
    )
    this.#sizes = database.preparedPage<ReaderKey & UpToMessage, MessageSize>((db, param, limit) =>
      sizesOf(db, param)
        .where('m.msg_id', '<=', param('upToId') as number)
        .where(isReader('m', param))
        .orderBy('m.msg_id', 'desc')
        .limit(limit),
    )
    this.#groupSizes = database.preparedPage<ConversationKey & UpToMessage, MessageSize>(
      (db, param, limit) =>
        sizesOf(db, param)
          .where('m.msg_id', '<=', param('upToId') as number)
          .orderBy('m.msg_id', 'desc')
          .limit(limit),
    )
    this.#sizesAfter = database.preparedPage<ReaderKey & { afterId: number }, MessageSize>(
      (db, param, limit) =>
        sizesOf(db, param)
          .where('m.msg_id', '>', param('afterId'))
          .where(isReader('m', param))
          .orderBy('m.msg_id')
          .limit(limit),
    )
    this.#placeOf = {
      messages: placeIn(database, 'messages'),
      recalled_messages: placeIn(database, 'recalled_messages'),
    }
    this.#recalledAfter = database.preparedPage<ReaderKey & { afterId: number }, RecalledMessage>(
      (db, param, limit) =>
        db
          .selectFrom('recalled_messages as m')
          .select(['m.seq', 'm.sender_id as senderId', 'm.is_system as isSystem'])
          .where('m.app_id', '=', param('appId'))
          .where('m.low_id', '=', param('lowId'))
          .where('m.high_id', '=', param('highId'))
          .where('m.msg_id', '>', param('afterId'))
          .where(isReader('m', param))
          .orderBy('m.msg_id')
          .limit(limit),
    )
    this.#tombstone = database.prepared<ConversationKey & { messageId: Int64 }, Tombstone>(
      (db, param) =>
        db
          .selectFrom('recalled_messages as m')
          .select(['m.msg_id as messageId', 'm.seq', 'm.sender_id as senderId'])
          .select(['m.is_system as isSystem', 'm.recalled_by as recalledBy'])
          .select('m.recalled_at as recalledAt')
          .where('m.app_id', '=', param('appId'))
          .where('m.low_id', '=', param('lowId'))
          .where('m.high_id', '=', param('highId'))
          .where('m.msg_id', '=', param('messageId') as number),
    )
    this.#seqOf = database.prepared<
      ReaderKey & { messageId: Int64 },
      Pick<Schema['messages'], 'seq'>
    >((db, param) => {
      const among = (table: 'messages' | 'recalled_messages') =>
        db
          .selectFrom(table)
          .select('seq')
          .where('app_id', '=', param('appId'))
          .where('low_id', '=', param('lowId'))
          .where('high_id', '=', param('highId'))
          .where('msg_id', '=', param('messageId') as number)
          .where(isReader(table, param))
      return among('messages').unionAll(among('recalled_messages'))
    })
    this.#upTo = database.prepared<
      ReaderKey & { messageId: number },
      { seq: number; messageId: number }
    >((db, param) =>
      messagesOf(db, param)
        .select(['m.seq', 'm.msg_id as messageId'])
        .where('m.msg_id', '<=', param('messageId'))
        .where(isReader('m', param))
        .orderBy('m.msg_id', 'desc')
        .limit(sql.lit(1)),
    )
  }

  /** Lists messages that a reader sees, newest first, from `upToId` down, inclusive. */
  async page(
    db: Queryable,
    log: ReadableLog,
    page: UpToMessage & { readonly limit: number },
  ): Promise<HistoryMessage[]> {
    return withOpenStreams(
      db,
      log,
      await this.#page.of(log).all(db, { ...readerKeyOf(log), ...page }),
    )
  }

  /**
   * Lists the sizes of messages as {@link page} lists messages, those of hidden ones included,
   * which come last.
   */
  async listSizes(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    page: UpToMessage & { readonly limit: number },
  ): Promise<MessageSize[]> {
    return this.#sizes.all(db, { appId, lowId, highId, userId, ...page })
  }

  /** Lists the sizes of all messages of a group, as {@link listSizes} does. */
  async listGroupSizes(
    db: Queryable,
    { appId, groupId }: { readonly appId: string; readonly groupId: Int64 },
    page: UpToMessage & { readonly limit: number },
  ): Promise<MessageSize[]> {
    return this.#groupSizes.all(db, { appId, lowId: groupId, highId: groupId, ...page })
  }

  /** Lists all messages of a group, as {@link page} does. */
  async groupPage(
    db: Queryable,
    group: { readonly appId: string; readonly groupId: Int64 },
    page: { readonly upToId: Int64; readonly limit: number },
  ): Promise<HistoryMessage[]> {
    const { appId, groupId } = group
    const messages = await this.#wholeGroupPage.all(db, { ...group, ...page })
    return withOpenStreams(db, { appId, lowId: groupId, highId: groupId }, messages)
  }

  /** Lists messages above an ID that a reader sees, oldest first. The caller leaves out hidden ones. */
  async listAfter(
    db: Queryable,
    log: ReadableLog,
    page: { readonly afterId: number; readonly limit: number },
  ): Promise<HistoryMessage[]> {
    return withOpenStreams(
      db,
      log,
      await this.#after.of(log).all(db, { ...readerKeyOf(log), ...page }),
    )
  }

  /**
   * Lists the sizes of messages above a position, oldest first. Positions have no index, but ascend
   * with message IDs, so a binary search over the IDs finds the first message.
   * @param page.hiddenMessageId messages up to and including this one are excluded
   */
  async listSizesAfter(db: Queryable, log: ReadableLog, page: AfterSeq): Promise<MessageSize[]> {
    const { appId, lowId, highId, userId } = log
    const { seq, hiddenMessageId, limit } = page
    const key = { appId, lowId, highId }
    const place = await this.#placeOf.messages.first(db, { ...key, seq })
    const afterId = Math.max(Number(place?.id ?? 0), hiddenMessageId)
    return this.#sizesAfter.all(db, { ...key, userId, afterId, limit })
  }

  /** Lists recalled messages as {@link listSizesAfter} lists messages. */
  async listRecalledAfter(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    { seq, hiddenMessageId, limit }: AfterSeq,
  ): Promise<RecalledMessage[]> {
    const key = { appId, lowId, highId }
    const place = await this.#placeOf.recalled_messages.first(db, { ...key, seq })
    const afterId = Math.max(Number(place?.id ?? 0), hiddenMessageId)
    return this.#recalledAfter.all(db, { ...key, userId, afterId, limit })
  }

  /** Finds messages with their status for a reader, hidden or not, in any order. */
  async findMany(
    db: Queryable,
    log: ReadableLog,
    messageIds: readonly number[],
  ): Promise<HistoryMessage[]> {
    const key = readerKeyOf(log)
    const found = await Promise.all(
      messageIds.map((messageId) => this.#one.of(log).first(db, { ...key, messageId })),
    )
    return withOpenStreams(
      db,
      log,
      found.filter((message) => message !== null),
    )
  }

  /** Finds the tombstone of a recalled message, hidden or not; null when there is none. */
  async findTombstone(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    messageId: Int64,
  ): Promise<Tombstone | null> {
    return this.#tombstone.first(db, { appId, lowId, highId, messageId })
  }

  /** Finds the position of a message, recalled or not; null when the conversation never had it. */
  async findSeq(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    messageId: Int64,
  ): Promise<number | null> {
    const row = await this.#seqOf.first(db, { appId, lowId, highId, userId, messageId })
    return row?.seq ?? null
  }

  /** Finds the newest message up to a position; 0 when there is none. */
  async findAtSeq(db: Queryable, log: ReadableLog, seq: number): Promise<number> {
    const { appId, lowId, highId } = log
    const place = await this.#placeOf.messages.first(db, { appId, lowId, highId, seq })
    return (await this.findUpTo(db, log, Number(place?.id ?? 0))).messageId
  }

  /** Finds the newest message up to and including `messageId`; position 0 when there is none. */
  async findUpTo(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    messageId: number,
  ): Promise<{ seq: number; messageId: number }> {
    const row = await this.#upTo.first(db, { appId, lowId, highId, userId, messageId })
    return row ?? { seq: 0, messageId: 0 }
  }
}
