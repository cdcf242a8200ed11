import { type Kysely, sql } from '../kysely.js'

interface IndexRow {
  readonly table_name: string
  readonly index_name: string
  readonly is_unique: number
  readonly is_partial: number
  readonly column_count: number
  readonly first_column: string
}

/** A large app, of the sizes that make a wrong plan slow. */
const rows = 1_000_000
const rowsOfPartialIndex = 10_000
const rowsPerOwner = 100
/** The rows of an owner, also in a partial index. */
const rowsPerPair = 10

/**
 * Writes statistics of a large app for the planner before the tables have rows. Without statistics
 * SQLite assumes ten rows of a table in an app, and walks all of them instead of using an index.
 * `ANALYZE` replaces them.
 */
export async function seedStatistics(db: Kysely<never>): Promise<void> {
  const found = await sql<IndexRow>`
    select t.name as table_name, case when t.wr = 1 and i.origin = 'pk' then t.name else i.name end as index_name,
      i."unique" as is_unique, i.partial as is_partial,
      (select count(*) from pragma_index_info(i.name)) as column_count,
      (select c.name from pragma_index_info(i.name) c where c.seqno = 0) as first_column
    from pragma_table_list t join pragma_index_list(t.name) i
    where t.type = 'table' and t.schema = 'main' and t.name not like 'sqlite_%'`.execute(db)
  // Makes the table of the statistics, too.
  await sql`analyze`.execute(db)
  await sql`delete from sqlite_stat1`.execute(db)
  for (const index of found.rows)
    await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${index.table_name}, ${index.index_name}, ${statistics(index)})`.execute(
      db,
    )
  await sql`analyze sqlite_schema`.execute(db)
}

/** The number of rows, and of those that share the first column, the first two, and so on. */
function statistics({ is_unique, is_partial, column_count, first_column }: IndexRow): string {
  const total = is_partial ? rowsOfPartialIndex : rows
  const shared = Array.from({ length: column_count }, (_, place) => {
    if (is_unique && place === column_count - 1) return 1
    if (place === 0) return first_column === 'app_id' ? total : rowsPerPair
    return place === 1 && !is_partial ? rowsPerOwner : rowsPerPair
  })
  return [total, ...shared].join(' ')
}
