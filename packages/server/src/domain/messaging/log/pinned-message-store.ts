import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { isConversation } from '../conversations/conversation-sql.js'
import type { ConversationKey } from '../model/conversation-model.js'

/** A pinned message. */
export interface PinnedMessage {
  readonly messageId: number
  /** 0 = an administrator */
  readonly by: Int64
  /** Strictly grows with every pin of a conversation. */
  readonly at: number
}

/** Rows of pinned messages. Their conversation is locked before they change. */
export class PinnedMessageStore {
  /** Lists the pinned messages of a conversation, newest pin first. */
  async list(db: Queryable, conversation: ConversationKey): Promise<PinnedMessage[]> {
    const rows = await db
      .selectFrom('pinned_messages')
      .select(['msg_id', 'pinned_by', 'pinned_at'])
      .where(isConversation(conversation))
      .orderBy('pinned_at', 'desc')
      .execute()
    return rows.map((row) => ({ messageId: row.msg_id, by: row.pinned_by, at: row.pinned_at }))
  }

  async insert(
    tx: Tx,
    { appId, lowId, highId }: ConversationKey,
    { messageId, by, at }: PinnedMessage,
  ): Promise<void> {
    const row = {
      app_id: appId,
      low_id: lowId,
      high_id: highId,
      msg_id: messageId,
      pinned_by: by,
      pinned_at: at,
    }
    await tx.insertInto('pinned_messages').values(row).execute()
  }

  /** @returns false when it is not pinned */
  async delete(tx: Tx, conversation: ConversationKey, messageId: number): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('pinned_messages')
      .where(sql<boolean>`${isConversation(conversation)} and msg_id = ${messageId}`)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /** Deletes the rows of all messages of a conversation up to one. */
  async deleteOldest(tx: Tx, conversation: ConversationKey, upToId: number): Promise<void> {
    await tx
      .deleteFrom('pinned_messages')
      .where(isConversation(conversation))
      .where('msg_id', '<=', upToId)
      .execute()
  }
}
