/** Applications that come from another installation, beside those of this one (decision page 084). */
import type { Table } from '../db/columns.js'
import type { Queryable } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { tables } from '../db/schema.js'
import { chunksOf } from '../lib/chunks.js'
import type { WorkOptions } from './digest.js'
import { deleteImport, findImport, markUndone } from './import-store.js'
import { TransferError } from './transfer-error.js'

/** The tables with rows of applications, each after those that its rows refer to. */
const ownedTables = Object.entries<Table>(tables).filter(([, { columns }]) => 'app_id' in columns)
const rowsPerDeletion = 10_000
/** Databases take some ten thousand parameters of a statement. */
export const appsPerStatement = 1_000

/** A row of an application in a database. */
interface OwnedRow {
  readonly appId: string
  readonly table: string
}

/**
 * Finds the applications that have rows, each with the first table with one. The key of every table
 * with rows of applications begins with the application or names it, so no other keys can collide.
 */
export async function findOwned(
  db: Queryable,
  apps: readonly string[],
): Promise<readonly OwnedRow[]> {
  const found = new Map<string, OwnedRow>()
  for (const [table] of ownedTables)
    for (const some of chunksOf(apps, appsPerStatement)) {
      const wanted = sql.join(some.map((appId) => sql`(${appId})`))
      const { rows } = await sql<{ app_id: string }>`
        with wanted(app_id) as (values ${wanted}) select app_id from wanted
        where exists (select 1 from ${sql.table(table)} t where t.app_id = wanted.app_id)`.execute(
        db,
      )
      for (const { app_id: appId } of rows)
        if (!found.has(appId)) found.set(appId, { appId, table })
    }
  return [...found.values()]
}

/**
 * Removes the rows of an unfinished import of applications. After a kill the same call continues.
 * @param removeFiles removes the files of an application from the store
 * @returns the applications
 * @throws TransferError without such an import
 */
export async function undoImport(
  db: Queryable,
  removeFiles: (appId: string) => Promise<void>,
  { signal, progress }: WorkOptions,
): Promise<readonly string[]> {
  const state = await findImport(db)
  if (!state) throw new TransferError('the database has no unfinished import')
  if (state.apps === '')
    throw new TransferError(
      'the unfinished import is of a whole installation, which begins with an empty database: remove the database, or name another one',
    )
  const apps: readonly string[] = JSON.parse(state.apps)
  await markUndone(db)
  let done = 0
  for (const [table, { key }] of [...ownedTables].reverse())
    for (const some of chunksOf(apps, appsPerStatement))
      for (let deleted = rowsPerDeletion; deleted >= rowsPerDeletion; ) {
        signal?.throwIfAborted()
        deleted = await deleteSome(db, table, { key, apps: some })
        done += deleted
        progress?.({ done, total: 0, text: `removing ${table}` })
      }
  for (const appId of apps) await removeFiles(appId)
  await deleteImport(db)
  return apps
}

async function deleteSome(
  db: Queryable,
  table: string,
  { key, apps }: { readonly key: readonly string[]; readonly apps: readonly string[] },
): Promise<number> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${columns}) in (
      select ${columns} from ${sql.table(table)} where app_id in (${sql.join(apps)})
      limit ${sql.lit(rowsPerDeletion)})`.execute(db)
  return Number(numAffectedRows ?? 0)
}
