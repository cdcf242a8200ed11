import { filePurpose, type erasureModes, type Int64 } from '@hermod/protocol'
import type { Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { emptyUser, type PersonalColumn, personalData } from '../../db/personal-data.js'

type Mode = (typeof erasureModes)[number]

interface Person {
  readonly appId: string
  readonly userId: Int64
}

/** A table with rows of persons, and its columns that name them. */
export interface OwnedTable {
  readonly table: string
  readonly owners: readonly string[]
}

const tables: readonly (readonly [string, Readonly<Record<string, PersonalColumn>>])[] =
  Object.entries(personalData)

/** The tables with rows of persons. */
export const ownedTables: readonly OwnedTable[] = tables.flatMap(([table, columns]) => {
  const owners = Object.keys(columns).filter((column) => columns[column]?.isOwner)
  return owners.length > 0 ? [{ table, owners }] : []
})

/** The tables whose rows an erasure leaves, by its mode; messages have a rule of their own. */
const leftTables: Readonly<Record<Mode, readonly string[]>> = {
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
  async count(db: Queryable, person: Person, mode: Mode): Promise<RowCount[]> {
    const counts: RowCount[] = []
    for (const { table, owners } of ownedTables) {
      if (leftTables[mode].includes(table)) continue
      const isOwner = sql.join(
        owners.map((owner) => sql`${sql.ref(owner)} = ${person.userId}`),
        sql` or `,
      )
      const condition = sql`app_id = ${person.appId} and (${isOwner})${conditionOf(table, mode)}`
      const { rows } = await sql<{ count: number }>`
        select count(*) as count from ${sql.table(table)} where ${condition}`.execute(db)
      const count = Number(rows[0]?.count ?? 0)
      if (count > 0) counts.push({ table, rows: count })
    }
    if (await this.#hasProfile(db, person)) counts.push({ table: profiles, rows: 1 })
    return counts
  }

  /** Counts the files that an erasure removes; avatars of groups stay. */
  async countFiles(db: Queryable, { appId, userId }: Person, mode: Mode): Promise<number> {
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
  async #hasProfile(db: Queryable, { appId, userId }: Person): Promise<boolean> {
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

/** An anonymised message keeps its text, and a group its avatar. */
function conditionOf(table: string, mode: Mode) {
  if (table === 'messages' && mode === 'anonymise')
    return sql` and (attachment <> '' or config <> '' or ext <> '' or sender_device_sn <> 0 or transaction_id is not null)`
  return sql``
}
