import { filePurpose } from '@hermod/protocol'
import type { Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { emptyUser, type PersonalColumn, personalData } from '../../db/personal-data.js'
import { namesSender } from '../messaging/log/message-store.js'
import type { UserKey } from '../users/user-model.js'
import type { ErasureMode } from './erasure-model.js'

/** The table of personal data as a list. */
export const personalTables: readonly (readonly [
  table: string,
  columns: Readonly<Record<string, PersonalColumn>>,
])[] = Object.entries(personalData)

/** The tables with rows of persons, and their columns that name them. */
const ownedTables = personalTables.flatMap(([table, columns]) => {
  const owners = Object.keys(columns).filter((column) => columns[column]?.isOwner)
  return owners.length > 0 ? [{ table, owners }] : []
})

/** The tables whose rows an erasure leaves, by its mode; messages have a rule of their own. */
const leftTables: Readonly<Record<ErasureMode, readonly string[]>> = {
  keep: ['messages', 'own_notifications', 'receipt_requests', 'files'],
  anonymise: ['own_notifications'],
  delete: [],
}

/** The table whose rows stay, without their values. */
const profiles = 'users'

/** The number of rows of a person in a table. */
export interface RowCount {
  readonly table: string
  readonly rows: number
}

/** Finds rows of persons by the table of personal data. Read it in a snapshot: few have an index. */
export class PersonalRowsStore {
  /** Counts the rows that an erasure of the mode removes or empties, by table, without zeros. */
  async count(db: Queryable, user: UserKey, mode: ErasureMode): Promise<RowCount[]> {
    const counts: RowCount[] = []
    for (const { table, owners } of ownedTables) {
      if (leftTables[mode].includes(table)) continue
      // An anonymised message keeps its text.
      const namesMore =
        table === 'messages' && mode === 'anonymise' ? sql` and ${namesSender}` : sql``
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from ${sql.table(table)}
        where ${isOfUser(owners, user)}${namesMore}`.execute(db)
      const count = Number(rows[0]?.count ?? 0)
      if (count > 0) counts.push({ table, rows: count })
    }
    if (await this.#hasProfile(db, user)) counts.push({ table: profiles, rows: 1 })
    return counts
  }

  /** Counts the files that an erasure removes; avatars of groups stay. */
  async countFiles(db: Queryable, { appId, userId }: UserKey, mode: ErasureMode): Promise<number> {
    const row = await db
      .selectFrom('files')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('app_id', '=', appId)
      .where('owner_id', '=', userId)
      .where('purpose', '<>', filePurpose.groupAvatar)
      .$if(mode === 'keep', (query) => query.where('purpose', '<>', filePurpose.chat))
      .executeTakeFirstOrThrow()
    return Number(row.count)
  }

  /** Tests whether the row of a user has a value that an erasure empties. */
  async #hasProfile(db: Queryable, { appId, userId }: UserKey): Promise<boolean> {
    const row = await db
      .selectFrom('users')
      .selectAll()
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .executeTakeFirst()
    if (!row) return false
    const values: Readonly<Record<string, unknown>> = row
    return Object.entries(emptyUser).some(([column, value]) => values[column] !== value)
  }
}

/** Condition that a row is one of a user, by the columns that name users. */
export function isOfUser(owners: readonly string[], { appId, userId }: UserKey) {
  const isOwner = owners.map((owner) => sql`${sql.ref(owner)} = ${userId}`)
  return sql`app_id = ${appId} and (${sql.join(isOwner, sql` or `)})`
}
