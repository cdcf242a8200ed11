import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { ofConversation } from '../conversations/conversation-sql.js'
import {
  broadcastUserId,
  type Conversation,
  type ConversationKey,
} from '../model/conversation-model.js'

type WalkParams = ConversationKey & { readonly beforeId: number }
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

/** Walks over all conversations of an app to find those with messages that are too old (rule E14). */
export class RetentionWalkStore {
  readonly #page

  constructor(database: Database) {
    this.#page = database.preparedPage<WalkParams, WalkRow>((db, param, limit) => {
      const holdsOld = (log: string) =>
        sql`exists (select 1 from ${sql.table(log)} m where ${ofConversation('m')} and m.msg_id < ${param('beforeId')})`
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
   * @param page.beforeId messages with smaller IDs are to be removed
   */
  async list(
    db: Queryable,
    appId: string,
    {
      after,
      ...page
    }: {
      readonly after: ConversationKey | null
      readonly beforeId: number
      readonly limit: number
    },
  ): Promise<WalkedConversation[]> {
    const { lowId, highId } = after ?? beforeAll
    const rows = await this.#page.all(db, { appId, lowId, highId, ...page })
    return rows.map((row) => ({
      appId,
      lowId: row.lowId,
      highId: row.highId,
      isGroup: row.isGroup === 1,
      isDue: row.isDue === 1,
    }))
  }
}
