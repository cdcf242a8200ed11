import type { Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Database, Queryable } from '../../../db/database.js'
import type { MessagesTable } from '../../../db/schema.js'
import { hiddenInGroup, joinedGroups } from '../reading/conversation-store.js'
import type { Conversation, ConversationKey } from './conversation-model.js'
import type { HistoryMessage, MessageStatus } from './message-model.js'

interface Start {
  readonly userId: Int64
  readonly upToId: Int64
}

type PageParams = ConversationKey & Start
type GroupPageParams = Start & { readonly appId: string; readonly groupId: Int64 }

const messageColumns = [
  'm.msg_id as messageId',
  'm.sender_id as senderId',
  'm.sender_device_sn as senderDeviceSn',
  'm.content_type as contentType',
  'm.content',
  'm.attachment',
  'm.config',
  'm.ext',
  'm.is_system as isSystem',
  'm.edited_at as editedAt',
] as const

/** Whoever did not send the message is its receiver. */
const receiverMark = (mark: 'read_seq' | 'delivered_seq') =>
  sql<number>`case when m.sender_id = c.low_id then ${sql.ref(`c.high_${mark}`)} else ${sql.ref(`c.low_${mark}`)} end`

/** One's own message in a group has been read once any other member has read it, where read_ack is on; received ones by one's own marks. */
const statusInGroup = sql<MessageStatus>`case
  when m.sender_id = p.user_id then
    case when g.read_ack = 1 and m.seq <= case when c.reader_id = p.user_id then c.high_read_seq else c.low_read_seq end then 2 else 0 end
  when m.seq <= p.read_seq then 2 when m.seq <= p.delivered_seq then 1 else 0 end`

/** Reads of the message log. How messages get into it: messages/store-batch.ts. */
export class HistoryStore {
  readonly #page
  readonly #groupPage
  readonly #seqOf

  constructor(database: Database) {
    this.#page = database.preparedPage<PageParams, HistoryMessage>((db, param, limit) =>
      db
        .selectFrom('conversations as c')
        .innerJoin('messages as m', (join) =>
          join
            .onRef('m.app_id', '=', 'c.app_id')
            .onRef('m.low_id', '=', 'c.low_id')
            .onRef('m.high_id', '=', 'c.high_id'),
        )
        .select([
          ...messageColumns,
          sql<MessageStatus>`case when m.seq <= ${receiverMark('read_seq')} then 2 when m.seq <= ${receiverMark('delivered_seq')} then 1 else 0 end`.as(
            'status',
          ),
        ])
        .where('c.app_id', '=', param('appId'))
        .where('c.low_id', '=', param('lowId'))
        .where('c.high_id', '=', param('highId'))
        .where('m.msg_id', '<=', param('upToId') as number)
        .where(
          sql<boolean>`m.msg_id > case when c.low_id = ${param('userId')} then c.low_hidden_msg_id else c.high_hidden_msg_id end`,
        )
        .orderBy('m.msg_id', 'desc')
        .limit(limit),
    )
    this.#groupPage = database.preparedPage<GroupPageParams, HistoryMessage>((db, param, limit) =>
      joinedGroups(db)
        .innerJoin('messages as m', (join) =>
          join
            .onRef('m.app_id', '=', 'c.app_id')
            .onRef('m.low_id', '=', 'c.low_id')
            .onRef('m.high_id', '=', 'c.high_id'),
        )
        .select([...messageColumns, statusInGroup.as('status')])
        .where('p.app_id', '=', param('appId'))
        .where('p.group_id', '=', param('groupId'))
        .where('p.user_id', '=', param('userId'))
        .where('m.msg_id', '<=', param('upToId') as number)
        .where(sql<boolean>`m.msg_id > ${hiddenInGroup}`)
        .orderBy('m.msg_id', 'desc')
        .limit(limit),
    )
    this.#seqOf = database.prepared<
      ConversationKey & { messageId: Int64 },
      Pick<MessagesTable, 'seq'>
    >((db, param) =>
      db
        .selectFrom('messages')
        .select('seq')
        .where('app_id', '=', param('appId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId'))
        .where('msg_id', '=', param('messageId') as number),
    )
  }

  /** What a party, or a member, sees of a conversation, newest first, from `upToId` downwards, itself included. */
  async page(
    db: Queryable,
    { appId, lowId, highId, isGroup }: Conversation,
    page: Start & { readonly limit: number },
  ): Promise<HistoryMessage[]> {
    if (isGroup) return this.#groupPage.all(db, { appId, groupId: lowId, ...page })
    return this.#page.all(db, { appId, lowId, highId, ...page })
  }

  /** The position of a message; null when the conversation has no such message. */
  async findSeq(
    db: Queryable,
    conversation: ConversationKey,
    messageId: Int64,
  ): Promise<number | null> {
    const row = await this.#seqOf.first(db, { ...conversation, messageId })
    return row?.seq ?? null
  }

  /** The position of the newest message up to and including `messageId`; 0 when there is none. */
  async findSeqUpTo(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    messageId: number,
  ): Promise<number> {
    const row = await db
      .selectFrom('messages')
      .select('seq')
      .where('app_id', '=', appId)
      .where('low_id', '=', lowId)
      .where('high_id', '=', highId)
      .where('msg_id', '<=', messageId)
      .orderBy('msg_id', 'desc')
      .limit(1)
      .executeTakeFirst()
    return row?.seq ?? 0
  }
}
