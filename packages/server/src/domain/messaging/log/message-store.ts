import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { isConversation } from '../conversations/conversation-store.js'
import type { ConversationKey } from './conversation-model.js'
import type { MessageContent } from './message-content.js'

/** A message as those who act on it need it. */
export interface LoggedMessage extends MessageContent {
  readonly messageId: number
  readonly seq: number
  readonly senderId: Int64
  /** 0 or 1 */
  readonly isSystem: number
  /** 0 = never edited */
  readonly editedAt: number
}

/** The texts of a message that an edit changes. */
export type EditedTexts = Pick<MessageContent, 'content' | 'config' | 'ext'>

/** Changes to single messages of the log. Their conversation is locked first, as sends do it. */
export class MessageStore {
  async find(
    tx: Tx,
    conversation: ConversationKey,
    messageId: Int64,
  ): Promise<LoggedMessage | null> {
    const row = await tx
      .selectFrom('messages')
      .select([
        'msg_id as messageId',
        'seq',
        'sender_id as senderId',
        'content_type as contentType',
        'content',
        'attachment',
        'config',
        'ext',
        'is_system as isSystem',
        'edited_at as editedAt',
      ])
      .where(isMessage(conversation, messageId))
      .executeTakeFirst()
    return row ?? null
  }

  async edit(
    tx: Tx,
    conversation: ConversationKey,
    message: LoggedMessage,
    texts: EditedTexts & { readonly editedAt: number },
  ): Promise<void> {
    const { editedAt: edited_at, content, config, ext } = texts
    await tx
      .updateTable('messages')
      .set({ content, config, ext, edited_at })
      .where(isMessage(conversation, message.messageId))
      .execute()
  }

  /** Leaves of a message that it was there, and who recalled it (rule E7). */
  async recall(
    tx: Tx,
    conversation: ConversationKey,
    message: LoggedMessage,
    recall: { readonly by: Int64; readonly at: number },
  ): Promise<void> {
    const { appId: app_id, lowId: low_id, highId: high_id } = conversation
    const { messageId, seq, senderId, isSystem } = message
    await tx.deleteFrom('messages').where(isMessage(conversation, messageId)).execute()
    const row = {
      app_id,
      low_id,
      high_id,
      msg_id: messageId,
      seq,
      sender_id: senderId,
      is_system: isSystem,
      recalled_by: recall.by,
      recalled_at: recall.at,
    }
    await tx.insertInto('recalled_messages').values(row).execute()
    await tx
      .deleteFrom('own_notifications')
      .where(isConversation(conversation))
      .where('user_id', '=', senderId)
      .where('seq', '=', seq)
      .execute()
  }
}

function isMessage(conversation: ConversationKey, messageId: Int64) {
  return sql<boolean>`${isConversation(conversation)} and msg_id = ${messageId}`
}
