import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { rowOf } from '../../../db/rows.js'
import { isConversation, textBytesOf } from '../conversations/conversation-sql.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { Alteration, AlterationKind, ChangeState, Tombstone } from '../model/change-model.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { ReaderKey } from '../readers/reader-positions.js'
import { forEachKind, isReader, readerKeyOf } from '../readers/reader-sql.js'

/** An alteration of a message that is to be appended. */
export interface NewAlteration {
  readonly change: number
  readonly alteration: number
  readonly messageId: number
  readonly kind: AlterationKind
}

const alterationColumns = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  change: 'bigint',
  alteration: 'bigint',
  msg_id: 'bigint',
  kind: 'smallint',
} as const

const insertAlterations: BulkInsert = { table: 'message_changes', columns: alterationColumns }

const alterationRow = rowOf(
  alterationColumns,
  (
    { appId, lowId, highId }: ConversationKey,
    { change, alteration, messageId, kind }: NewAlteration,
  ) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    change,
    alteration,
    msg_id: messageId,
    kind,
  }),
)

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

  constructor(private readonly database: Database) {
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
            // A range of whole keys: with equal conversation and message, PostgreSQL may read all
            // changes of the conversation by the primary key, which statistics can make look as
            // cheap. `coalesce` and `+ 0` turn columns into expressions, which have no affinity of
            // their own: SQLite uses the index for all four columns only where none of the values
            // that they are compared with is a column.
            sql<number>`case when (select l.change from message_changes l
              where (l.app_id, l.low_id, l.high_id, l.msg_id) <=
                (coalesce(x.app_id, ''), ${param('lowId')}, ${param('highId')}, x.msg_id + 0)
              order by l.app_id desc, l.low_id desc, l.high_id desc, l.msg_id desc, l.change desc
              limit 1) = x.change then 1 else 0 end`.as('isLatest'),
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

  /** Appends alterations. The conversation is locked. */
  async append(
    tx: Tx,
    conversation: ConversationKey,
    alterations: readonly NewAlteration[],
  ): Promise<void> {
    const rows = alterations.map((each) => alterationRow(conversation, each))
    await this.database.bulk(tx, insertAlterations, rows)
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
   * Finds the number at which the message at a position was stored. The conversation is locked.
   * @param at.keptFrom changes above this number are still stored; not above the number
   */
  async findStoredAt(
    tx: Tx,
    conversation: ConversationKey,
    at: { readonly seq: number; readonly alterations: number; readonly keptFrom: number },
  ): Promise<number> {
    const { seq, alterations, keptFrom } = at
    if (alterations === 0) return seq
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
    return seq + (next ? next.alteration - 1 : alterations)
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
