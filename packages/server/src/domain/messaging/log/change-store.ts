import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { isConversation, textBytesOf } from '../conversations/conversation-sql.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { Alteration, AlterationKind, ChangeState, Tombstone } from '../model/change-model.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { ReaderKey } from '../readers/reader-positions.js'
import { forEachKind, isReader, readerKeyOf } from '../readers/reader-sql.js'

/** A recall or an edit of a message, with the end of its conversation at that time. */
export interface NewAlteration {
  readonly messageId: number
  readonly kind: AlterationKind
  /** Position of the newest message. */
  readonly seq: number
  /** The number of alterations, including this one. */
  readonly alterations: number
}

interface AlterationRow extends Omit<Alteration, 'tombstone'>, Pick<Tombstone, 'messageId'> {
  readonly seq: number | null
  readonly senderId: Int64 | null
  readonly isSystem: number | null
  readonly recalledBy: Int64 | null
  readonly recalledAt: number | null
}

type ConversationState = ChangeState & { readonly removedMessageId: number }

/**
 * The change log of conversations (decision page 027). New messages need no rows in it: a change
 * number counts messages and alterations, and the log of messages is sorted by its key.
 */
export class ChangeStore {
  readonly #state
  readonly #alterations

  constructor(database: Database) {
    this.#state = forEachKind((logOf) =>
      database.prepared<ReaderKey, ConversationState>((db, param) =>
        logOf(db, param)
          .select(['l.seq', 'l.alterations', 'l.changes_kept_from as keptFrom'])
          .select(['l.removed_msg_id as removedMessageId', 'l.hidden_msg_id as hiddenMessageId'])
          .where('l.seq', '>', 0),
      ),
    )
    this.#alterations = database.preparedPage<ReaderKey & { after: number }, AlterationRow>(
      (db, param, limit) =>
        db
          .selectFrom('message_changes as x')
          .leftJoin('recalled_messages as r', (join) =>
            join
              .onRef('r.app_id', '=', 'x.app_id')
              .onRef('r.low_id', '=', 'x.low_id')
              .onRef('r.high_id', '=', 'x.high_id')
              .onRef('r.msg_id', '=', 'x.msg_id'),
          )
          .select([
            'x.change',
            'x.alteration',
            sql<AlterationKind>`x.kind`.as('kind'),
            'x.msg_id as messageId',
            sql<number>`case when exists (select 1 from message_changes l where l.app_id = x.app_id and l.low_id = x.low_id
              and l.high_id = x.high_id and l.msg_id = x.msg_id and l.change > x.change) then 0 else 1 end`.as(
              'isLatest',
            ),
            'r.seq',
            'r.sender_id as senderId',
            'r.is_system as isSystem',
            'r.recalled_by as recalledBy',
            'r.recalled_at as recalledAt',
            sql<number>`coalesce((select ${textBytesOf('m')} from messages m where m.app_id = x.app_id and m.low_id = x.low_id
              and m.high_id = x.high_id and m.msg_id = x.msg_id), 0)`.as('bytes'),
          ])
          .where('x.app_id', '=', param('appId'))
          .where('x.low_id', '=', param('lowId'))
          .where('x.high_id', '=', param('highId'))
          .where('x.change', '>', param('after'))
          .where(isReader('x', param))
          .orderBy('x.change')
          .limit(limit),
    )
  }

  /** Appends an edit or a recall. The conversation is locked. @returns the number of the change */
  async append(
    tx: Tx,
    conversation: ConversationKey,
    { messageId, kind, seq, alterations: alteration }: NewAlteration,
  ): Promise<number> {
    const { appId: app_id, lowId: low_id, highId: high_id } = conversation
    const change = seq + alteration
    await tx
      .insertInto('message_changes')
      .values({ app_id, low_id, high_id, change, alteration, msg_id: messageId, kind })
      .execute()
    return change
  }

  /**
   * @returns null when the conversation has not begun, the reader is no member, or the stream has
   * no broadcast for the reader
   */
  async findState(db: Queryable, log: ReadableLog): Promise<ChangeState | null> {
    const row = await this.#state.of(log).first(db, readerKeyOf(log))
    return row && { ...row, hiddenMessageId: Math.max(row.hiddenMessageId, row.removedMessageId) }
  }

  /** Lists edits and recalls with numbers above `after`, by number. */
  async listAlterations(
    db: Queryable,
    { appId, lowId, highId, userId }: ReadableLog,
    page: { readonly after: number; readonly limit: number },
  ): Promise<Alteration[]> {
    const rows = await this.#alterations.all(db, { appId, lowId, highId, userId, ...page })
    return rows.map(({ seq, senderId, isSystem, recalledBy, recalledAt, ...row }) => ({
      ...row,
      tombstone:
        seq === null ||
        senderId === null ||
        isSystem === null ||
        recalledBy === null ||
        recalledAt === null
          ? null
          : { messageId: row.messageId, seq, senderId, isSystem, recalledBy, recalledAt },
    }))
  }

  /**
   * Finds the latest change of all messages up to one; changes up to it go with these messages. The
   * conversation is locked.
   * @param upTo.keptFrom changes above this number are still stored
   */
  async findLatestUpTo(
    tx: Tx,
    conversation: ConversationKey,
    upTo: {
      readonly messageId: number
      readonly seq: number
      readonly alterations: number
      readonly keptFrom: number
    },
  ): Promise<number> {
    const { messageId, seq, alterations, keptFrom } = upTo
    if (alterations === 0) return seq
    const altered = await tx
      .selectFrom('message_changes')
      .select(({ fn }) => fn.max('change').as('change'))
      .where(isConversation(conversation))
      .where('msg_id', '<=', messageId)
      .executeTakeFirst()
    // The first alteration after the message was stored contains the number of alterations before it.
    const next = await tx
      .selectFrom('message_changes')
      .select('alteration')
      .where(isConversation(conversation))
      .where('change', '>', Math.max(seq, keptFrom))
      .where(sql<boolean>`change - alteration >= ${seq}`)
      .orderBy('change')
      .limit(1)
      .executeTakeFirst()
    const storedAt = seq + (next ? next.alteration - 1 : alterations)
    return Math.max(storedAt, altered?.change ?? 0)
  }

  /**
   * Deletes the first rows with numbers up to `change`, at most `limit`.
   * @returns the number of deleted rows
   */
  async deleteOldest(
    tx: Tx,
    conversation: ConversationKey,
    { change, limit }: { readonly change: number; readonly limit: number },
  ): Promise<number> {
    const oldest = tx
      .selectFrom('message_changes')
      .select('change')
      .where(isConversation(conversation))
      .where('change', '<=', change)
      .orderBy('change')
      .limit(limit)
    const last = tx.selectFrom(oldest.as('x')).select(({ fn }) => fn.max('x.change').as('change'))
    const { numDeletedRows } = await tx
      .deleteFrom('message_changes')
      .where(isConversation(conversation))
      .where('change', '<=', last)
      .executeTakeFirst()
    return Number(numDeletedRows)
  }
}
