import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { greater } from '../../../db/expressions.js'
import { type Selectable, sql } from '../../../db/kysely.js'
import { lockForUpdate, lockShare } from '../../../db/locking.js'
import type { Schema } from '../../../db/schema.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastStream,
  broadcastUserId,
  type ConversationKey,
} from '../model/conversation-model.js'
import { isConversation, ofConversation } from './conversation-sql.js'
import type { ReadableLog } from './readable-log.js'

const endColumns = ['seq', 'alterations', 'last_msg_id'] as const
const noEnd = { seq: 0, alterations: 0, last_msg_id: 0 }

/** The removed beginning of a conversation's log, and the columns that the next removal needs. */
export interface RemovedRange {
  readonly removedMessageId: number
  readonly alterations: number
  readonly keptFrom: number
}

/** Rows of conversations and of the lists of their parties. */
export class ConversationStore {
  readonly #broadcastSenders

  constructor(database: Database) {
    this.#broadcastSenders = database.prepared<{ appId: string }, { senderId: Int64 }>(
      (db, param) =>
        db
          .selectFrom('conversations')
          .select('high_id as senderId')
          .where('app_id', '=', param('appId'))
          .where('low_id', '=', broadcastUserId),
    )
  }

  /** Lists the users of an app, or the system, who have ever sent a broadcast. */
  async listBroadcastSenders(db: Queryable, appId: string): Promise<ReadonlySet<Int64>> {
    const rows = await this.#broadcastSenders.all(db, { appId })
    return new Set(rows.map(({ senderId }) => senderId))
  }

  /** Inserts the empty conversation of a new group. */
  async insertOfGroup(tx: Tx, { appId, groupId }: GroupKey): Promise<void> {
    const row = {
      app_id: appId,
      low_id: groupId,
      high_id: groupId,
      seq: 0,
      last_msg_id: 0,
      created_at: 0,
      last_recalled_seq: 0,
    }
    await tx.insertInto('conversations').values(row).execute()
  }

  /**
   * Locks the conversation and with it its log.
   * @returns null when it has not begun; isOpen is false when a party is deleted
   */
  async lockForUpdate(
    tx: Tx,
    conversation: ConversationKey,
  ): Promise<{ readonly isOpen: boolean } | null> {
    const found = tx
      .selectFrom('conversations')
      .select(['closed', 'seq'])
      .where(isConversation(conversation))
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row && row.seq > 0 ? { isOpen: row.closed === 0 } : null
  }

  /**
   * Counts alterations of messages.
   * @param recalledSeq greatest position of a recalled message; null: none is recalled
   * @returns the end of the conversation, including these alterations
   */
  async countAlterations(
    tx: Tx,
    conversation: ConversationKey,
    { count, recalledSeq }: { readonly count: number; readonly recalledSeq: number | null },
  ): Promise<{ readonly seq: number; readonly alterations: number }> {
    return tx
      .updateTable('conversations')
      .set({
        alterations: sql<number>`alterations + ${count}`,
        ...(recalledSeq === null
          ? {}
          : { last_recalled_seq: greater('last_recalled_seq', recalledSeq) }),
      })
      .where(isConversation(conversation))
      .returning(['seq', 'alterations'])
      .executeTakeFirstOrThrow()
  }

  /** Closes the direct conversations of a user: they take no more messages. */
  async close(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    const open = tx
      .selectFrom('readers as p')
      .innerJoin('conversations as c', (join) => join.on(ofConversation('p')))
      .select(['c.low_id', 'c.high_id'])
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(isDirect(userId))
      .where('c.closed', '=', 0)
      // In the order in which batches of sends lock them.
      .orderBy('c.low_id')
      .orderBy('c.high_id')
    await lockForUpdate(tx, open, { of: ['c'] }).execute()
    await tx
      .updateTable('conversations as c')
      .from('readers as p')
      .set({ closed: 1 })
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(ofConversation('p'))
      .where(isDirect(userId))
      .where('c.closed', '=', 0)
      .execute()
  }

  /** Closes the broadcast stream of a user. */
  async closeBroadcasts(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .updateTable('conversations')
      .set({ closed: 1 })
      .where(isConversation(broadcastStream(appId, userId)))
      .where('closed', '=', 0)
      .execute()
  }

  /** Locks as {@link lockForUpdate} does. @returns null when there is no such conversation */
  async lockRemovedRange(tx: Tx, conversation: ConversationKey): Promise<RemovedRange | null> {
    const found = tx
      .selectFrom('conversations')
      .select([
        'removed_msg_id as removedMessageId',
        'alterations',
        'changes_kept_from as keptFrom',
      ])
      .where(isConversation(conversation))
    return (await lockForUpdate(tx, found).executeTakeFirst()) ?? null
  }

  /**
   * Records that the log up to a message, and changes up to `keptFrom`, are removed. The
   * conversation is locked.
   */
  async setRemovedRange(
    tx: Tx,
    conversation: ConversationKey,
    {
      seq,
      messageId,
      keptFrom,
    }: { readonly seq: number; readonly messageId: number; readonly keptFrom: number },
  ): Promise<void> {
    await tx
      .updateTable('conversations')
      .set({ removed_seq: seq, removed_msg_id: messageId, changes_kept_from: keptFrom })
      .where(isConversation(conversation))
      .execute()
  }

  /** Tests whether this message or a later one of the conversation was removed. */
  async isRemoved(db: Queryable, conversation: ReadableLog, messageId: Int64): Promise<boolean> {
    const row = await db
      .selectFrom('conversations')
      .select('seq')
      .where(isConversation(conversation))
      .where('removed_msg_id', '>=', messageId as number)
      .executeTakeFirst()
    return row !== undefined
  }

  /** Finds the end of a conversation; 0 when it has not begun. */
  async findEnd(tx: Tx, conversation: ConversationKey): Promise<ConversationEnd> {
    return toEnd(await selectEnd(tx, conversation).executeTakeFirst())
  }

  /**
   * Finds the end of a group's conversation and makes sends wait until the transaction ends. Call it
   * before any reader is locked.
   */
  async lockEnd(tx: Tx, { appId, groupId }: GroupKey): Promise<ConversationEnd> {
    const end = selectEnd(tx, { appId, lowId: groupId, highId: groupId })
    return toEnd(await lockShare(tx, end).executeTakeFirst())
  }
}

/** Condition that a user is a party of the conversation `c`. */
function isDirect(userId: Int64) {
  return sql<boolean>`(c.low_id = ${userId} or c.high_id = ${userId}) and c.low_id <> ${sql.lit(broadcastUserId)}`
}

function selectEnd(tx: Tx, conversation: ConversationKey) {
  return tx.selectFrom('conversations').select(endColumns).where(isConversation(conversation))
}

function toEnd(
  row: Pick<Selectable<Schema['conversations']>, (typeof endColumns)[number]> | undefined,
): ConversationEnd {
  const { seq, alterations, last_msg_id: lastMessageId } = row ?? noEnd
  return { seq, change: seq + alterations, lastMessageId }
}
