import type { Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import type { UserKey } from '../../users/user-model.js'
import { isOfUser } from '../personal-rows-store.js'
import { type ExportedTable, profileColumns } from './exported-tables.js'

type Row = Readonly<Record<string, unknown>>

/** Reads the rows of persons. Read it in a snapshot: few tables have an index for it. */
export class ExportStore {
  /** Returns the profile of a person. */
  async profile(db: Queryable, { appId, userId }: UserKey): Promise<Row> {
    const { rows } = await sql<Row>`
      select app_id, user_id, deleted_at, ${columnList(profileColumns)} from users
      where app_id = ${appId} and user_id = ${userId}`.execute(db)
    return rows[0] ?? {}
  }

  /** Returns a page of the rows of a person, without the words of others. */
  async list(
    db: Queryable,
    user: UserKey,
    { table, owners, author, columns, words, order }: ExportedTable,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<Row[]> {
    const { rows } = await sql<Row>`
      select ${columnList(columns)} from ${sql.table(table)}
      where ${isOfUser(owners, user)}
      order by ${columnList(order)} limit ${limit} offset ${offset}`.execute(db)
    return rows.map((row) =>
      row[author] === user.userId
        ? row
        : Object.fromEntries(Object.entries(row).filter(([column]) => !words.includes(column))),
    )
  }
}

function columnList(columns: readonly string[]) {
  return sql.join(columns.map((column) => sql.ref(column)))
}
