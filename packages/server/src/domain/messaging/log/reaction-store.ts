import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { rowOf } from '../../../db/rows.js'
import { messageReactionsTable } from '../../../db/schema.js'
import type { UserKey } from '../../users/user-model.js'
import { isConversation } from '../conversations/conversation-sql.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { UserReaction } from '../model/reaction-model.js'

/** A message of a conversation. */
export interface MessagePlace extends ConversationKey {
  readonly messageId: number
}

/** A stored reaction. */
export interface StoredReaction extends UserReaction {
  /** The number of the change that added it. */
  readonly change: number
  readonly reactedAt: number
}

const reactionKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  msg_id: 'bigint',
  user_id: 'bigint',
} as const

const keyRow = rowOf(
  reactionKey,
  ({ appId, lowId, highId, messageId }: MessagePlace, userId: Int64) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
    user_id: userId,
  }),
)

const ofUsers: BulkSelect = {
  table: 'message_reactions',
  keys: reactionKey,
  columns: 't.low_id, t.high_id, t.msg_id, t.user_id, t.reaction, t.change',
}

interface OfUsersRow {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly msg_id: number
  readonly user_id: Int64
  readonly reaction: string
  readonly change: number
}

const wholeKey = { ...reactionKey, reaction: 'text' } as const

const deleteReactions: BulkDelete = { deleteFrom: 'message_reactions', keys: wholeKey }

const deletedRow = rowOf(
  wholeKey,
  ({ appId, lowId, highId, messageId }: MessagePlace, { userId, key }: UserReaction) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
    user_id: userId,
    reaction: key,
  }),
)

const insertReactions: BulkInsert = { table: 'message_reactions', columns: messageReactionsTable }

const insertedRow = rowOf(
  messageReactionsTable,
  (
    { appId, lowId, highId, messageId }: MessagePlace,
    { userId, key, change, reactedAt }: StoredReaction,
  ) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
    user_id: userId,
    reaction: key,
    change,
    reacted_at: reactedAt,
  }),
)

/** Rows of reactions. Their conversation is locked before they change. */
export class ReactionStore {
  constructor(private readonly database: Database) {}

  /** Lists the reactions of users to a message. */
  async listOfUsers(
    db: Queryable,
    message: MessagePlace,
    userIds: readonly Int64[],
  ): Promise<UserReaction[]> {
    const rows = await this.database.bulk<OfUsersRow>(
      db,
      ofUsers,
      userIds.map((userId) => keyRow(message, userId)),
    )
    return rows.map(({ user_id: userId, reaction: key }) => ({ userId, key }))
  }

  /** Lists the reactions of a user to messages, by message in the order of their use. */
  async listOwn(
    db: Queryable,
    userId: Int64,
    messages: readonly MessagePlace[],
  ): Promise<(Omit<MessagePlace, 'appId'> & { readonly key: string })[]> {
    const rows = await this.database.bulk<OfUsersRow>(
      db,
      ofUsers,
      messages.map((message) => keyRow(message, userId)),
    )
    return [...rows]
      .sort((a, b) => a.change - b.change)
      .map((row) => ({
        lowId: row.low_id,
        highId: row.high_id,
        messageId: row.msg_id,
        key: row.reaction,
      }))
  }

  /** Lists the newest users with a reaction to a message, the latest last. */
  async listNewest(
    tx: Tx,
    message: MessagePlace,
    { key, limit }: { readonly key: string; readonly limit: number },
  ): Promise<Int64[]> {
    const rows = await tx
      .selectFrom('message_reactions')
      .select('user_id')
      .where(isMessage(message))
      .where('reaction', '=', key)
      .orderBy('change', 'desc')
      .orderBy('user_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map((row) => row.user_id).reverse()
  }

  /** Lists reactions to a message, newest first. @param page.before the last one of the page before */
  async list(
    db: Queryable,
    message: MessagePlace,
    {
      key,
      before,
      limit,
    }: {
      readonly key: string | null
      readonly before: Pick<StoredReaction, 'change' | 'userId' | 'key'> | null
      readonly limit: number
    },
  ): Promise<StoredReaction[]> {
    const rows = await db
      .selectFrom('message_reactions')
      .select(['user_id', 'reaction', 'change', 'reacted_at'])
      .where(isMessage(message))
      .$if(key !== null, (query) => query.where('reaction', '=', key as string))
      .$if(before !== null, (query) => {
        const { change, userId, key: reaction } = before as NonNullable<typeof before>
        return query.where(
          sql<boolean>`(change, user_id, reaction) < (${change}, ${userId}, ${reaction})`,
        )
      })
      .orderBy('change', 'desc')
      .orderBy('user_id', 'desc')
      .orderBy('reaction', 'desc')
      .limit(limit)
      .execute()
    return rows.map((row) => ({
      userId: row.user_id,
      key: row.reaction,
      change: row.change,
      reactedAt: row.reacted_at,
    }))
  }

  /** Lists messages with reactions of a user. */
  async listMessages(
    db: Queryable,
    { appId, userId }: UserKey,
    limit: number,
  ): Promise<MessagePlace[]> {
    const rows = await db
      .selectFrom('message_reactions')
      .select(['low_id', 'high_id', 'msg_id'])
      .distinct()
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('low_id')
      .orderBy('high_id')
      .orderBy('msg_id')
      .limit(limit)
      .execute()
    return rows.map((row) => ({
      appId,
      lowId: row.low_id,
      highId: row.high_id,
      messageId: row.msg_id,
    }))
  }

  async insert(tx: Tx, message: MessagePlace, reactions: readonly StoredReaction[]): Promise<void> {
    await this.insertMany(
      tx,
      reactions.map((reaction) => ({ message, reaction })),
    )
  }

  /** Inserts reactions to several messages. */
  async insertMany(
    tx: Tx,
    reactions: readonly { readonly message: MessagePlace; readonly reaction: StoredReaction }[],
  ): Promise<void> {
    const rows = reactions.map(({ message, reaction }) => insertedRow(message, reaction))
    await this.database.bulk(tx, insertReactions, rows)
  }

  async delete(tx: Tx, message: MessagePlace, reactions: readonly UserReaction[]): Promise<void> {
    if (reactions.length === 0) return
    const rows = reactions.map((each) => deletedRow(message, each))
    await this.database.bulk(tx, deleteReactions, rows)
  }

  /** Deletes all reactions to a message. */
  async deleteOf(tx: Tx, message: MessagePlace): Promise<void> {
    await tx.deleteFrom('message_reactions').where(isMessage(message)).execute()
  }

  /** Deletes all reactions to the messages of a conversation up to one. */
  async deleteOldest(tx: Tx, conversation: ConversationKey, upToId: number): Promise<void> {
    await tx
      .deleteFrom('message_reactions')
      .where(isConversation(conversation))
      .where('msg_id', '<=', upToId)
      .execute()
  }
}

function isMessage(message: MessagePlace) {
  return sql<boolean>`${isConversation(message)} and msg_id = ${message.messageId}`
}
