import type { Int64 } from '@hermod/protocol'
import type { Database, Param, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { firstIdAt, idsPerMs, usualLeadMs } from '../../../lib/ids/ids.js'
import { ofConversation } from '../conversations/conversation-sql.js'
import {
  broadcastUserId,
  type Conversation,
  type ConversationKey,
} from '../model/conversation-model.js'

type OldParams = {
  readonly before: number
  readonly beforeId: number
}
type WalkParams = ConversationKey & OldParams
type LastOldRow = { readonly stored: number; readonly recalled: number }
type WalkRow = {
  readonly lowId: Int64
  readonly highId: Int64
  readonly isGroup: number
  readonly isDue: number
}

/** A conversation on a walk over those of an app. */
export interface WalkedConversation extends Conversation {
  /** True when some of its messages or changes are to be removed. */
  readonly isDue: boolean
}

/** Sorts before the key of every conversation, broadcast streams included. */
const beforeAll = { lowId: broadcastUserId - 1, highId: 0 }

/**
 * Condition that a message `m` of the conversation `c` was sent before the limit. The bound on its
 * ID, which contains the time unless a clock was wrong, keeps a walk from reading the rest of the
 * log.
 */
const isOld = (param: Param<OldParams>) =>
  sql<boolean>`m.msg_id < ${param('beforeId')} + c.ids_ahead_ms * ${sql.lit(idsPerMs)} and m.sent_at < ${param('before')}`

/** Walks over all conversations of an app to find those with messages that are too old (rule E14). */
export class RetentionWalkStore {
  readonly #page
  readonly #lastOld

  constructor(database: Database) {
    this.#lastOld = database.prepared<WalkParams, LastOldRow>((db, param) => {
      const lastOf = (log: string) =>
        sql<number>`coalesce((select m.msg_id from ${sql.table(log)} m where ${ofConversation('m')} and ${isOld(param)} order by m.msg_id desc limit 1), 0)`
      return db
        .selectFrom('conversations as c')
        .select([lastOf('messages').as('stored'), lastOf('recalled_messages').as('recalled')])
        .where('c.app_id', '=', param('appId'))
        .where('c.low_id', '=', param('lowId'))
        .where('c.high_id', '=', param('highId'))
    })
    this.#page = database.preparedPage<WalkParams, WalkRow>((db, param, limit) => {
      const holdsOld = (log: string) =>
        sql`exists (select 1 from ${sql.table(log)} m where ${ofConversation('m')} and ${isOld(param)})`
      return db
        .selectFrom('conversations as c')
        .select(['c.low_id as lowId', 'c.high_id as highId'])
        .select([
          sql<number>`case when c.low_id = c.high_id and exists (select 1 from groups g
            where g.app_id = c.app_id and g.group_id = c.low_id) then 1 else 0 end`.as('isGroup'),
          sql<number>`case when ${holdsOld('messages')} or ${holdsOld('recalled_messages')}
            or (c.changes_kept_from > 0 and exists (select 1 from message_changes x
              where ${ofConversation('x')} and x.change <= c.changes_kept_from)) then 1 else 0 end`.as(
            'isDue',
          ),
        ])
        .where('c.app_id', '=', param('appId'))
        .where(sql<boolean>`(c.low_id, c.high_id) > (${param('lowId')}, ${param('highId')})`)
        .orderBy('c.low_id')
        .orderBy('c.high_id')
        .limit(limit)
    })
  }

  /**
   * Lists conversations and broadcast streams of an app, by key.
   * @param page.after the last one of the page before; null for the first page
   * @param page.before messages that were sent earlier, milliseconds since 1970, are to be removed
   */
  async list(
    db: Queryable,
    appId: string,
    {
      after,
      ...page
    }: {
      readonly after: ConversationKey | null
      readonly before: number
      readonly limit: number
    },
  ): Promise<WalkedConversation[]> {
    const { lowId, highId } = after ?? beforeAll
    const beforeId = boundOf(page.before)
    const rows = await this.#page.all(db, { appId, lowId, highId, beforeId, ...page })
    return rows.map((row) => ({
      appId,
      lowId: row.lowId,
      highId: row.highId,
      isGroup: row.isGroup === 1,
      isDue: row.isDue === 1,
    }))
  }

  /**
   * Finds the last message, recalled or not, that was sent before a time; 0 = none. The messages
   * before it are old too (rule E3).
   */
  async findLastOld(
    db: Queryable,
    { appId, lowId, highId }: ConversationKey,
    before: number,
  ): Promise<number> {
    const params = { appId, lowId, highId, before, beforeId: boundOf(before) }
    const row = await this.#lastOld.first(db, params)
    return row ? Math.max(row.stored, row.recalled) : 0
  }
}

/** The ID below which messages from before a time are, where no clock was wrong. */
function boundOf(before: number): number {
  return firstIdAt(before + usualLeadMs)
}
