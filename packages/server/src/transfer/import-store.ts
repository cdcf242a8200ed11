import type { Queryable } from '../db/database.js'

/** The progress of an import. */
export interface ImportState {
  /** The ID of the export. */
  readonly source: string
  /** The part that is being written; '' = all parts are. */
  readonly part: string
  /** The bytes and the lines of the part whose rows are written. */
  readonly bytes: number
  readonly lines: number
  /** JSON list of the applications of a portable export; '' = the export is of an installation. */
  readonly apps: string
}

/** The source of an import that is being undone, which no import continues. */
export const undoneSource = 'undone'

/** @returns the unfinished import of a database; a finished one leaves no row */
export async function findImport(db: Queryable): Promise<ImportState | null> {
  const row = await db
    .selectFrom('data_imports')
    .select(['source', 'part', 'bytes', 'lines', 'apps'])
    .executeTakeFirst()
  return row ?? null
}

export async function insertImport(tx: Queryable, state: ImportState): Promise<void> {
  await tx.insertInto('data_imports').values(state).execute()
}

/** @returns false when the import is not where it was: another process has continued it */
export async function moveImport(
  tx: Queryable,
  from: ImportState,
  { part, bytes, lines }: ImportState,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('data_imports')
    .set({ part, bytes, lines })
    .where('source', '=', from.source)
    .where('part', '=', from.part)
    .where('bytes', '=', from.bytes)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Prevents every continuation of the import. */
export async function markUndone(tx: Queryable): Promise<void> {
  await tx.updateTable('data_imports').set({ source: undoneSource }).execute()
}

export async function deleteImport(tx: Queryable): Promise<void> {
  await tx.deleteFrom('data_imports').execute()
}
