import type { Int64 } from '@hermod/protocol'
import { camelCase, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import { erasureHoldsTable } from '../../../db/schema.js'

/** A user or a conversation that neither an erasure nor retention may change. */
export type Hold = TableRow<typeof erasureHoldsTable>

interface HeldConversation {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
}

const columns = camelCase(erasureHoldsTable)

/** The holds of users and conversations. There are few, so no query of them has an index. */
export class HoldStore {
  /** Sets a hold; one that is there stays as it is. */
  async insert(tx: Tx, hold: Hold): Promise<void> {
    await tx
      .insertInto('erasure_holds')
      .values(snakeCase(erasureHoldsTable, hold))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  /** Deletes the holds of a name, and returns them. */
  async delete(tx: Tx, appId: string, name: string): Promise<Hold[]> {
    return tx
      .deleteFrom('erasure_holds')
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .returning(columns)
      .execute()
  }

  /** Lists holds by application and name. @param appId undefined: of all applications */
  async list(db: Queryable, appId: string | undefined): Promise<Hold[]> {
    return db
      .selectFrom('erasure_holds')
      .select(columns)
      .$if(appId !== undefined, (query) => query.where('app_id', '=', appId ?? ''))
      .orderBy('app_id')
      .orderBy('name')
      .orderBy('kind')
      .orderBy('low_id')
      .orderBy('high_id')
      .execute()
  }

  /**
   * Finds the name of a hold that forbids the erasure of a user: of the user, or of a conversation
   * of which the user is a part, or that has messages, announcements or shared files of the user.
   * Read it in a snapshot.
   */
  async findForUser(
    db: Queryable,
    { appId, userId }: { readonly appId: string; readonly userId: Int64 },
  ): Promise<string | null> {
    const row = await db
      .selectFrom('erasure_holds as h')
      .select('h.name')
      .where('h.app_id', '=', appId)
      .where(
        sql<boolean>`(${userId} in (h.low_id, h.high_id) or (h.kind = 'conversation' and (
          exists (select 1 from group_members g where g.app_id = h.app_id and g.group_id = h.low_id
            and g.user_id = ${userId})
          or exists (select 1 from messages m where m.app_id = h.app_id and m.low_id = h.low_id
            and m.high_id = h.high_id and m.sender_id = ${userId})
          or exists (select 1 from group_announcements a where a.app_id = h.app_id
            and a.group_id = h.low_id and a.author_id = ${userId})
          or exists (select 1 from group_files f where f.app_id = h.app_id
            and f.group_id = h.low_id and f.uploader_id = ${userId}))))`,
      )
      .orderBy('h.name')
      .limit(1)
      .executeTakeFirst()
    return row?.name ?? null
  }

  /** Finds the name of a hold of a user, or of a conversation. */
  async findOf(
    db: Queryable,
    { appId, lowId, highId }: HeldConversation,
    userId: Int64,
  ): Promise<string | null> {
    const row = await db
      .selectFrom('erasure_holds')
      .select('name')
      .where('app_id', '=', appId)
      .where(({ and, eb, or }) =>
        or([
          and([eb('kind', '=', 'user'), eb('low_id', '=', userId)]),
          and([
            eb('kind', '=', 'conversation'),
            eb('low_id', '=', lowId),
            eb('high_id', '=', highId),
          ]),
        ]),
      )
      .limit(1)
      .executeTakeFirst()
    return row?.name ?? null
  }

  /**
   * Tests whether retention may not remove messages of a conversation: it is held, or a user is who
   * is a party or a member, or has sent one of the messages.
   */
  async isHeld(
    db: Queryable,
    { appId, lowId, highId }: HeldConversation,
    senderIds: ReadonlySet<Int64>,
  ): Promise<boolean> {
    const rows = await db
      .selectFrom('erasure_holds as h')
      .select([
        'h.low_id as heldId',
        sql<number>`case when h.kind = 'conversation'
          then case when h.low_id = ${lowId} and h.high_id = ${highId} then 1 else 0 end
          when h.low_id in (${lowId}, ${highId}) or exists (select 1 from group_members g
            where g.app_id = h.app_id and g.group_id = ${lowId} and g.user_id = h.low_id)
          then 1 else 0 end`.as('isHeld'),
        'h.kind',
      ])
      .where('h.app_id', '=', appId)
      .execute()
    return rows.some(
      ({ isHeld, kind, heldId }) => isHeld === 1 || (kind === 'user' && senderIds.has(heldId)),
    )
  }
}
