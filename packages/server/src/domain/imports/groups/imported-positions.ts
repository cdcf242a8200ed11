import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { minuteMs } from '../../../lib/clock.js'
import { epochMs, firstIdAt, isImportedId } from '../../../lib/ids/ids.js'
import {
  furthestReadersRow,
  setFurthestReaders,
} from '../../messaging/conversations/conversation-statements.js'
import { isConversation } from '../../messaging/conversations/conversation-sql.js'
import type { Conversation } from '../../messaging/model/conversation-model.js'
import { isFurther, withReader } from '../../messaging/model/furthest-readers.js'
import {
  compareReaders,
  insertedReaderRow,
  insertReaders,
  lockReaders,
  type ReaderRow,
  readerKeyRow,
  readerOf,
  readerRow,
  setReaders,
} from '../../messaging/readers/reader-statements.js'
import {
  type ConversationState,
  conversationKeyRow,
  lockConversations,
} from '../messages/history-statements.js'
import { minuteOf } from '../messages/history-model.js'
import type { MemberItem } from './member-model.js'

/** The locked end of a conversation. */
export interface LockedEnd {
  readonly seq: number
  readonly change: number
  readonly lastMessageId: number
  readonly furthest: { readonly id: Int64; readonly seq: number; readonly othersSeq: number }
}

interface Place {
  readonly seq: number
  readonly messageId: number
}

/** The newest messages of senders that a call has read, for its later steps. */
export interface SenderEnds {
  /** The end of the conversation at the read. */
  readonly seq: number
  /** Messages up to this ID were left out. */
  readonly from: number
  readonly bySender: ReadonlyMap<Int64, number>
}

interface Moving {
  readonly items: readonly MemberItem[]
  readonly end: LockedEnd
  readonly now: number
  readonly isHidden: boolean
  /** The messages that an earlier step of the call has read; null: none has read any. */
  readonly ends: SenderEnds | null
}

interface LockedReader extends ReaderRow {
  readonly hidden_msg_id: number
  readonly start_msg_id: number
}

const beginning: Place = { seq: 0, messageId: 0 }

/** Writes the read positions of imported members. */
export class ImportedPositions {
  constructor(private readonly database: Database) {}

  /** Locks a conversation against sends. */
  async lockEnd(tx: Tx, conversation: Conversation): Promise<LockedEnd> {
    const [row] = await this.database.bulk<ConversationState>(tx, lockConversations, [
      conversationKeyRow(conversation),
    ])
    return {
      seq: row?.seq ?? 0,
      change: (row?.seq ?? 0) + (row?.alterations ?? 0),
      lastMessageId: row?.last_msg_id ?? 0,
      furthest: {
        id: row?.furthest_id ?? 0,
        seq: row?.furthest_seq ?? 0,
        othersSeq: row?.others_seq ?? 0,
      },
    }
  }

  /**
   * Adds new members as readers who have read nothing; {@link move} follows. Those without `lastRead`
   * in a conversation with live messages have read everything, as if they joined now.
   */
  async begin(
    tx: Tx,
    group: Conversation,
    { items, end }: { readonly items: readonly MemberItem[]; readonly end: LockedEnd },
  ): Promise<void> {
    const isLive = !isImportedId(end.lastMessageId)
    const rows: unknown[][] = []
    for (const { userId, joinedAt, lastRead } of items) {
      const { messageId } = await this.#placeAt(tx, group, (joinedAt ?? Infinity) - 1)
      const seq = isLive && lastRead === undefined ? end.seq : 0
      const start = { messageId, seq, ackedSeq: 0 }
      rows.push(insertedReaderRow(readerOf(group, userId), start))
    }
    await this.database.bulk(tx, insertReaders, rows)
  }

  /**
   * Moves readers to their last read message. Positions do not fall below what was acknowledged or
   * imported before, nor at all once there are live messages.
   * @param isHidden readers do not see what is older than their membership: it counts as read
   * @returns what the next step of the call needs
   */
  async move(
    tx: Tx,
    conversation: Conversation,
    { items, end, now, isHidden, ends: before }: Moving,
  ): Promise<SenderEnds | null> {
    const isHistory = isImportedId(end.lastMessageId)
    const last = new Map(items.map((item) => [item.userId, item]))
    if (last.size === 0) return before
    const readers = await this.#lock(tx, conversation, [...last.keys()])
    const targets = new Map<Int64, Place>()
    const places = new Map<number, Place>()
    const placeAt = async (instant: number) => {
      const place = places.get(instant) ?? (await this.#placeAt(tx, conversation, instant))
      places.set(instant, place)
      return place
    }
    for (const { user_id: userId, start_msg_id: startId } of readers) {
      const lastRead = last.get(userId)?.lastRead
      const read =
        lastRead === undefined
          ? { seq: isHistory ? end.seq : 0, messageId: end.lastMessageId }
          : await placeAt(Math.min(lastRead, now))
      const start = isHidden ? await this.#placeOf(tx, conversation, startId) : beginning
      targets.set(userId, start.seq > read.seq ? start : read)
    }
    const ends =
      isHistory && conversation.isGroup
        ? await this.#endsAfter(tx, conversation, { targets, seq: end.seq, before })
        : null
    const moved = readers.map((reader): ReaderRow => {
      const target = targets.get(reader.user_id) ?? beginning
      const hasLastRead = last.get(reader.user_id)?.lastRead !== undefined
      const least = Math.max(target.seq, reader.acked_seq, ends?.bySender.get(reader.user_id) ?? 0)
      const read = isHistory ? least : Math.max(least, reader.read_seq)
      const isListed = Number(reader.hidden_msg_id) === 0
      const seen = isHistory && isListed ? read : Math.max(read, reader.seen_seq)
      return {
        ...reader,
        read_seq: read,
        seen_seq: seen,
        acked_seq: hasLastRead ? Math.max(reader.acked_seq, target.seq) : reader.acked_seq,
        delivered_seq: isHistory ? end.seq : Math.max(reader.delivered_seq, read),
      }
    })
    await this.database.bulk(tx, setReaders, moved.map(readerRow))
    if (conversation.isGroup) await this.#moveFurthest(tx, conversation, { end, moved })
    return ends
  }

  async #moveFurthest(
    tx: Tx,
    conversation: Conversation,
    { end, moved }: { readonly end: LockedEnd; readonly moved: readonly ReaderRow[] },
  ): Promise<void> {
    let { furthest } = end
    for (const { user_id: userId, read_seq: read } of moved)
      if (isFurther(furthest, userId, read)) furthest = withReader(furthest, userId, read)
    if (furthest !== end.furthest)
      await this.database.bulk(tx, setFurthestReaders, [furthestReadersRow(conversation, furthest)])
  }

  async #lock(tx: Tx, conversation: Conversation, userIds: readonly Int64[]) {
    const keys = userIds.map((userId) => readerOf(conversation, userId)).sort(compareReaders)
    return this.database.bulk<LockedReader>(tx, lockStartedReaders, keys.map(readerKeyRow))
  }

  /** Finds the newest message up to an instant. Times ascend with IDs among imported messages. */
  async #placeAt(tx: Tx, conversation: Conversation, instant: number): Promise<Place> {
    const nextMinute = Number.isFinite(instant) ? minuteOf(instant) + 1 : null
    const row = await tx
      .selectFrom('messages')
      .select(['seq', 'msg_id as messageId'])
      .where(isConversation(conversation))
      .$if(nextMinute !== null, (query) =>
        query.where('msg_id', '<', firstIdAt(epochMs + (nextMinute ?? 0) * minuteMs)),
      )
      .$if(nextMinute !== null, (query) => query.where('sent_at', '<=', instant))
      .orderBy('msg_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row ?? beginning
  }

  /** Finds the newest message up to an ID. */
  async #placeOf(tx: Tx, conversation: Conversation, messageId: number): Promise<Place> {
    const row = await tx
      .selectFrom('messages')
      .select(['seq', 'msg_id as messageId'])
      .where(isConversation(conversation))
      .where('msg_id', '<=', messageId)
      .orderBy('msg_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row ?? beginning
  }

  /**
   * Finds the newest messages of senders after the places that readers are to get: their own count as
   * read. All messages there are read, so the steps of a call share them while the end is the same.
   */
  async #endsAfter(
    tx: Tx,
    conversation: Conversation,
    {
      targets,
      seq,
      before,
    }: {
      readonly targets: ReadonlyMap<Int64, Place>
      readonly seq: number
      readonly before: SenderEnds | null
    },
  ): Promise<SenderEnds> {
    const from = Math.min(...[...targets.values()].map(({ messageId }) => messageId))
    if (before?.seq === seq && before.from <= from) return before
    const rows = await tx
      .selectFrom('messages')
      .select(['sender_id as userId', sql<number>`max(seq)`.as('seq')])
      .where(isConversation(conversation))
      .where('msg_id', '>', from)
      .groupBy('sender_id')
      .execute()
    const bySender = new Map(rows.map(({ userId, seq: end }) => [userId, Number(end)]))
    return { seq, from, bySender }
  }
}

const lockStartedReaders: BulkSelect = {
  ...lockReaders,
  columns: `${lockReaders.columns}, hidden_msg_id, start_msg_id`,
}
