import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { greater } from '../../../db/expressions.js'
import { type Selectable, sql } from '../../../db/kysely.js'
import { lockForUpdate, lockShare } from '../../../db/locking.js'
import type { ConversationsTable } from '../../../db/schema.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import {
  broadcastStream,
  broadcastUserId,
  type ConversationKey,
  type Party,
  partiesOf,
  partyColumn,
} from '../model/conversation-model.js'
import type { ReaderPositions, ReceiptPosition } from '../model/reader-positions.js'
import { isConversation, isParty, joinedConversations, ofConversation } from './conversation-sql.js'
import type { ReadableLog } from './readable-log.js'

type PartyRow = { readonly [Name in 'seq' | `${'low' | 'high'}_${ReceiptPosition}`]: number }

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
  readonly #positions
  readonly #broadcastSenders

  constructor(database: Database) {
    this.#positions = database.prepared<ConversationKey & { userId: Int64 }, PartyRow>(
      (db, param) =>
        db
          .selectFrom('conversations')
          .select([
            'seq',
            'low_read_seq',
            'high_read_seq',
            'low_delivered_seq',
            'high_delivered_seq',
          ])
          .where('app_id', '=', param('appId'))
          .where('low_id', '=', param('lowId'))
          .where('high_id', '=', param('highId'))
          .where(isParty('conversations', param('userId'))),
    )
    this.#broadcastSenders = database.prepared<{ appId: string }, { senderId: Int64 }>(
      (db, param) =>
        db
          .selectFrom('conversations')
          .select('high_id as senderId')
          .where('app_id', '=', param('appId'))
          .where('low_id', '=', broadcastUserId),
    )
  }

  /** Finds the positions of a party; null when there is no such conversation. */
  async findPositions(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    party: Party,
  ): Promise<ReaderPositions | null> {
    const row = await this.#positions.first(db, { appId, lowId, highId, userId })
    if (!row) return null
    const at = {
      read_seq: row[partyColumn(party, 'read_seq')],
      delivered_seq: row[partyColumn(party, 'delivered_seq')],
    }
    return { at, end: row.seq }
  }

  /** Lists the users of an app, or the system, who have ever sent a broadcast. */
  async listBroadcastSenders(db: Queryable, appId: string): Promise<ReadonlySet<Int64>> {
    const rows = await this.#broadcastSenders.all(db, { appId })
    return new Set(rows.map(({ senderId }) => senderId))
  }

  /**
   * Hides the present messages from a party; their status stays as it is for the sender.
   * @returns the end of the conversation; null when there is no such conversation
   */
  async hide(
    tx: Tx,
    conversation: ConversationKey,
    userId: Int64,
  ): Promise<ConversationEnd | null> {
    const moved = partiesOf(conversation, userId).map((party) => ({
      [partyColumn(party, 'seen_seq')]: sql.ref('seq'),
      [partyColumn(party, 'hidden_msg_id')]: sql.ref('last_msg_id'),
    }))
    const row = await tx
      .updateTable('conversations')
      .set(Object.assign({}, ...moved))
      .where(isConversation(conversation))
      .returning(endColumns)
      .executeTakeFirst()
    return row ? toEnd(row) : null
  }

  /**
   * Locks the conversation and with it its log.
   * @returns null when there is no such conversation; isOpen is false when a party is deleted
   */
  async lockForUpdate(
    tx: Tx,
    conversation: ConversationKey,
  ): Promise<{ readonly isOpen: boolean } | null> {
    const found = tx
      .selectFrom('conversations')
      .select('closed')
      .where(isConversation(conversation))
    const row = await lockForUpdate(tx, found).executeTakeFirst()
    return row ? { isOpen: row.closed === 0 } : null
  }

  /**
   * Counts a recall or an edit.
   * @param recalledSeq position of the recalled message; null for an edit
   * @returns the end of the conversation, including this alteration
   */
  async countAlteration(
    tx: Tx,
    conversation: ConversationKey,
    { recalledSeq }: { readonly recalledSeq: number | null },
  ): Promise<{ readonly seq: number; readonly alterations: number }> {
    return tx
      .updateTable('conversations')
      .set({
        alterations: sql<number>`alterations + 1`,
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
    const open = joinedConversations(tx)
      .select('c.low_id')
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where('c.closed', '=', 0)
      // In the order in which batches of sends lock them.
      .orderBy('c.low_id')
      .orderBy('c.high_id')
    await lockForUpdate(tx, open, { of: ['c'] }).execute()
    await tx
      .updateTable('conversations as c')
      .from('user_conversations as p')
      .set({ closed: 1 })
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where(ofConversation('p'))
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

  /** Records that the log up to a message, and changes up to `keptFrom`, are removed. The conversation is locked. */
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

  /** Finds the end of a group's conversation; 0 when it has not begun. */
  async findEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd> {
    return toEnd(await selectEnd(tx, group).executeTakeFirst())
  }

  /** Finds the end and makes sends wait until the transaction ends. Call it before any member is locked. */
  async lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd> {
    return toEnd(await lockShare(tx, selectEnd(tx, group)).executeTakeFirst())
  }

  /** Deletes the user's list. The conversations stay, since other users have them too. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('user_conversations')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}

function selectEnd(tx: Tx, { appId, groupId }: GroupKey) {
  return tx
    .selectFrom('conversations')
    .select(endColumns)
    .where(isConversation({ appId, lowId: groupId, highId: groupId }))
}

function toEnd(
  row: Pick<Selectable<ConversationsTable>, (typeof endColumns)[number]> | undefined,
): ConversationEnd {
  const { seq, alterations, last_msg_id: lastMessageId } = row ?? noEnd
  return { seq, change: seq + alterations, lastMessageId }
}
