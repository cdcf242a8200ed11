import type { Int64 } from '@hermod/protocol'
import type { Database, PreparedPage, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkUpdate } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { rowOf } from '../../../db/rows.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { attachmentMayReferToFiles } from '../../files/references/reference-model.js'
import { systemUserId } from '../../users/system-user.js'
import { isConversation, textBytesOf } from '../conversations/conversation-sql.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { MessageContent } from '../model/message-content.js'
import type { UserKey } from '../../users/user-model.js'

/** A message with the fields that operations on it need. */
export interface LoggedMessage extends MessageContent {
  readonly messageId: number
  readonly seq: number
  readonly senderId: Int64
  /** 0 or 1 */
  readonly isSystem: number
  /** 0 = never edited */
  readonly editedAt: number
  /** Milliseconds since 1970 (rule E3). */
  readonly sentAt: number
  /** The changeable fields as a JSON object; null = none */
  readonly fields: string | null
}

/** A message of a sender, by its key. */
export interface SentMessage extends ConversationKey {
  readonly messageId: number
}

/** The texts of a message that an edit changes. */
export type EditedTexts = Pick<MessageContent, 'content' | 'config' | 'ext'>

/** A message at the beginning of a log, recalled or not. */
export interface OldMessage {
  readonly messageId: number
  readonly seq: number
  readonly senderId: Int64
  /** 0 or 1; 1 = a notification in the name of a user (rule E5) */
  readonly isOwnNotification: number
  /** 0 or 1; 0 = its texts refer to no file */
  readonly mayNameFiles: number
  /** The size of all its texts; 0 = it was recalled. */
  readonly bytes: number
}

type OldestParams = ConversationKey & { readonly upToId: number }

/** Columns of {@link MessageStore.listOldest} for a stored message. */
const ofMessage = {
  isOwnNotification: sql<number>`case when is_system = 1 and sender_id <> ${sql.lit(systemUserId)} then 1 else 0 end`,
  mayNameFiles: sql<number>`case when ${attachmentMayReferToFiles} then 1 else 0 end`,
  bytes: textBytesOf('messages'),
}
/** The same columns for a recalled message, which has no texts. */
const ofRecalled: typeof ofMessage = {
  isOwnNotification: sql.lit(0),
  mayNameFiles: sql.lit(0),
  bytes: sql.lit(0),
}

const ownNotificationKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  user_id: 'bigint',
  seq: 'bigint',
} as const

const ownNotificationKeyRow = rowOf(
  ownNotificationKey,
  ({ appId, lowId, highId }: ConversationKey, { senderId, seq }: OldMessage) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    user_id: senderId,
    seq,
  }),
)

const deleteOwnNotifications: BulkDelete = {
  deleteFrom: 'own_notifications',
  keys: ownNotificationKey,
}

type MessageFields = Pick<LoggedMessage, 'messageId' | 'fields'>

const setFields: BulkUpdate = {
  table: 'messages',
  set: { fields: 'text' },
  keys: { app_id: 'text', low_id: 'bigint', high_id: 'bigint', msg_id: 'bigint' },
}

const fieldsRow = rowOf(
  { ...setFields.set, ...setFields.keys },
  ({ appId, lowId, highId }: ConversationKey, { messageId, fields }: MessageFields) => ({
    fields,
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
  }),
)

const loggedColumns = [
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
  'sent_at as sentAt',
  'fields',
] as const

/** Condition that a message has more of its sender than a text: an erasure that keeps texts empties it. */
export const namesSender = sql<boolean>`(attachment <> '' or config <> '' or ext <> '' or sender_device_sn <> 0 or transaction_id is not null)`

/** Bounds the search for the sender of a message. */
const newestMessages = 1_000

/**
 * Recalls and edits single messages and deletes the beginning of a log. The conversation is locked
 * first, as sends do.
 */
export class MessageStore {
  readonly #oldest: PreparedPage<OldestParams, OldMessage>

  constructor(private readonly database: Database) {
    this.#oldest = database.preparedPage((db, param, limit) => {
      const first = (log: 'messages' | 'recalled_messages', about: typeof ofMessage) => {
        const rows = db
          .selectFrom(log)
          .select(['msg_id as messageId', 'seq', 'sender_id as senderId'])
          .select([
            about.isOwnNotification.as('isOwnNotification'),
            about.mayNameFiles.as('mayNameFiles'),
            about.bytes.as('bytes'),
          ])
          .where('app_id', '=', param('appId'))
          .where('low_id', '=', param('lowId'))
          .where('high_id', '=', param('highId'))
          .where('msg_id', '<=', param('upToId'))
          .orderBy('msg_id')
          .limit(limit)
        return db.selectFrom(rows.as('m')).selectAll()
      }
      return db
        .selectFrom(
          first('messages', ofMessage).unionAll(first('recalled_messages', ofRecalled)).as('log'),
        )
        .selectAll()
        .orderBy('messageId')
        .limit(limit)
    })
  }

  /**
   * Tests whether a user has sent one of the newest messages of a conversation; older ones are not
   * looked at.
   */
  async hasSentLately(tx: Tx, conversation: ConversationKey, senderId: Int64): Promise<boolean> {
    const newest = tx
      .selectFrom('messages')
      .select('sender_id')
      .where(isConversation(conversation))
      .orderBy('msg_id', 'desc')
      .limit(newestMessages)
    const found = await tx
      .selectFrom(newest.as('m'))
      .select('m.sender_id')
      .where('m.sender_id', '=', senderId)
      .limit(1)
      .executeTakeFirst()
    return found !== undefined
  }

  async find(
    tx: Tx,
    conversation: ConversationKey,
    messageId: Int64,
  ): Promise<LoggedMessage | null> {
    const row = await tx
      .selectFrom('messages')
      .select(loggedColumns)
      .where(isMessage(conversation, messageId))
      .executeTakeFirst()
    return row ?? null
  }

  /** Finds those of the messages that a user has sent. The conversation is locked. */
  async findSent(
    tx: Tx,
    conversation: ConversationKey,
    senderId: Int64,
    messageIds: readonly number[],
  ): Promise<LoggedMessage[]> {
    return tx
      .selectFrom('messages')
      .select(loggedColumns)
      .where(isConversation(conversation))
      .where('msg_id', 'in', paddedForPlanCache(messageIds))
      .where('sender_id', '=', senderId)
      .orderBy('msg_id')
      .execute()
  }

  /**
   * Lists messages of a sender in the order of their keys. No index serves it: read it in a snapshot.
   * @param page.after null: from the first
   * @param page.onlyNaming leaves out those that have nothing of the sender but a text
   */
  async listOfSender(
    db: Queryable,
    { appId, userId }: UserKey,
    page: {
      readonly after: SentMessage | null
      readonly limit: number
      readonly onlyNaming: boolean
    },
  ): Promise<SentMessage[]> {
    const { after, limit, onlyNaming } = page
    return db
      .selectFrom('messages')
      .select(['app_id as appId', 'low_id as lowId', 'high_id as highId', 'msg_id as messageId'])
      .where('app_id', '=', appId)
      .where('sender_id', '=', userId)
      .$if(onlyNaming, (query) => query.where(namesSender))
      .$if(after !== null, (query) =>
        query.where(
          sql<boolean>`(low_id, high_id, msg_id) > (${after?.lowId}, ${after?.highId}, ${after?.messageId})`,
        ),
      )
      .orderBy('low_id')
      .orderBy('high_id')
      .orderBy('msg_id')
      .limit(limit)
      .execute()
  }

  /** Takes everything of its sender but the text out of a message, as an edit. */
  async anonymise(
    tx: Tx,
    conversation: ConversationKey,
    messageId: Int64,
    editedAt: number,
  ): Promise<void> {
    await tx
      .updateTable('messages')
      .set({
        attachment: '',
        config: '',
        ext: '',
        sender_device_sn: 0,
        transaction_id: null,
        edited_at: editedAt,
      })
      .where(isMessage(conversation, messageId))
      .execute()
  }

  async edit(
    tx: Tx,
    conversation: ConversationKey,
    message: LoggedMessage,
    texts: EditedTexts & { readonly editedAt: number; readonly attachment?: string },
  ): Promise<void> {
    const { editedAt: edited_at, content, config, ext, attachment } = texts
    await tx
      .updateTable('messages')
      .set({ content, config, ext, edited_at, ...(attachment !== undefined && { attachment }) })
      .where(isMessage(conversation, message.messageId))
      .execute()
  }

  /** Sets the changeable fields of messages as whole; null = none is left. */
  async setFields(
    tx: Tx,
    conversation: ConversationKey,
    messages: readonly MessageFields[],
  ): Promise<void> {
    const rows = messages.map((each) => fieldsRow(conversation, each))
    await this.database.bulk(tx, setFields, rows)
  }

  /** Replaces a message by a tombstone that names the user who recalled it (rule E7). */
  async recall(
    tx: Tx,
    conversation: ConversationKey,
    message: LoggedMessage,
    recall: { readonly by: Int64; readonly at: number },
  ): Promise<void> {
    const { appId: app_id, lowId: low_id, highId: high_id } = conversation
    const { messageId, seq, senderId, isSystem, sentAt } = message
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
      sent_at: sentAt,
    }
    await tx.insertInto('recalled_messages').values(row).execute()
    await tx
      .deleteFrom('own_notifications')
      .where(isConversation(conversation))
      .where('user_id', '=', senderId)
      .where('seq', '=', seq)
      .execute()
  }

  /** Lists the first messages of a conversation up to one, by ID. */
  async listOldest(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    page: { readonly upToId: number; readonly limit: number },
  ): Promise<OldMessage[]> {
    return this.#oldest.all(db, { appId, lowId, highId, ...page })
  }

  /**
   * Deletes the first messages of a conversation and the tombstones among them.
   * @param oldest the whole log up to the last of them
   * @returns the number of deleted messages and tombstones
   */
  async deleteOldest(
    tx: Tx,
    conversation: ConversationKey,
    oldest: readonly OldMessage[],
  ): Promise<{ readonly messages: number; readonly recalled: number }> {
    const upToId = oldest.at(-1)?.messageId ?? 0
    const notifications = oldest.filter(({ isOwnNotification }) => isOwnNotification === 1)
    if (notifications.length > 0)
      await this.database.bulk(
        tx,
        deleteOwnNotifications,
        notifications.map((message) => ownNotificationKeyRow(conversation, message)),
      )
    const { numDeletedRows: messages } = await tx
      .deleteFrom('messages')
      .where(isConversation(conversation))
      .where('msg_id', '<=', upToId)
      .executeTakeFirst()
    const { numDeletedRows: recalled } = await tx
      .deleteFrom('recalled_messages')
      .where(isConversation(conversation))
      .where('msg_id', '<=', upToId)
      .executeTakeFirst()
    return { messages: Number(messages), recalled: Number(recalled) }
  }
}

function isMessage(conversation: ConversationKey, messageId: Int64) {
  return sql<boolean>`${isConversation(conversation)} and msg_id = ${messageId}`
}
