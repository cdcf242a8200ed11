import type { Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Database, Executor } from '../../db/database.js'
import type { MessagesTable } from '../../db/schema.js'
import type { StoredMessage } from '../messages/message-model.js'
import type { ConversationKey } from './conversation-model.js'

/** A message with how far both parties have read, so that a page takes one statement. */
export interface HistoryRow extends StoredMessage {
  readonly ownReadSeq: number
  /** null when the other party has no marks, as the system has none. */
  readonly peerReadSeq: number | null
}

interface PageParams extends ConversationKey {
  readonly userId: Int64
  readonly peerId: Int64
  readonly upToId: Int64
  readonly limit: number
}

/** Reads of the message log. How messages get into it: messages/store-batch.ts. */
export class HistoryStore {
  readonly #page
  readonly #seqOf

  constructor(database: Database) {
    this.#page = database.prepared<PageParams, HistoryRow>((db, param) => {
      // Neither depends on the message, so each is looked up once for the page.
      const mark = (column: 'read_seq' | 'hidden_msg_id', user: 'userId' | 'peerId') =>
        sql<number>`(select p.${sql.ref(column)} from participants as p where p.app_id = ${param('appId')} and p.user_id = ${param(user)}
          and p.low_id = ${param('lowId')} and p.high_id = ${param('highId')})`
      return db
        .selectFrom('messages')
        .select([
          'msg_id as messageId',
          'seq',
          'sender_id as senderId',
          'sender_device_sn as senderDeviceSn',
          'content_type as contentType',
          'content',
          'attachment',
          'config',
          'ext',
          'is_system as isSystem',
          mark('read_seq', 'userId').as('ownReadSeq'),
          mark('read_seq', 'peerId').as('peerReadSeq'),
        ])
        .where('app_id', '=', param('appId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId'))
        .where('msg_id', '<=', param('upToId') as number)
        .where('msg_id', '>', mark('hidden_msg_id', 'userId'))
        .orderBy('msg_id', 'desc')
        .limit(param('limit'))
    })
    this.#seqOf = database.prepared<ConversationKey & { messageId: Int64 }, Pick<MessagesTable, 'seq'>>((db, param) =>
      db
        .selectFrom('messages')
        .select('seq')
        .where('app_id', '=', param('appId'))
        .where('low_id', '=', param('lowId'))
        .where('high_id', '=', param('highId'))
        .where('msg_id', '=', param('messageId') as number),
    )
  }

  /**
   * What the user sees of a conversation, newest first, from `upToId` downwards, itself included.
   * @returns nothing for somebody who is no party of the conversation
   */
  async page(
    db: Executor,
    conversation: ConversationKey,
    page: { readonly userId: Int64; readonly peerId: Int64; readonly upToId: Int64; readonly limit: number },
  ): Promise<HistoryRow[]> {
    return this.#page.all(db, { ...conversation, ...page })
  }

  /** The position of a message; null when the conversation has no such message. */
  async findSeq(db: Executor, conversation: ConversationKey, messageId: Int64): Promise<number | null> {
    const row = await this.#seqOf.first(db, { ...conversation, messageId })
    return row?.seq ?? null
  }
}
