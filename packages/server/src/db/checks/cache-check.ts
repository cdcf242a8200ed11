import type { CachedTable } from '../../lib/invalidated-cache.js'
import type { CompiledQuery, QueryResult } from '../kysely.js'
import type { Schema } from '../schema.js'
import { KnownWrites, type Write } from './written-columns.js'

/** The source of a cache, as tables and columns of the schema. */
export type CachedTables = {
  readonly [Table in keyof Schema]?: CachedTable<keyof Schema[Table] & string>
}

interface CheckedCache {
  readonly name: string
  readonly tables: Readonly<Record<string, CachedTable>>
}

/** Runs the statements of one transaction. */
export interface StatementRunner {
  executeQuery<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>
}

/**
 * Makes forgotten invalidations errors: a transaction that has changed the source of a cache must
 * have registered an invalidation of that cache. For development and tests; without it transactions
 * are not watched.
 *
 * The check does not see procedures on the writer's thread. On PostgreSQL a procedure is an
 * ordinary transaction that cannot register anything, so a procedure that writes the source of a
 * cache always fails there.
 */
export class CacheCheck {
  readonly #caches: CheckedCache[] = []
  readonly #writes = new KnownWrites()

  register(cache: CheckedCache): void {
    this.#caches.push(cache)
  }

  /** @param runner of one transaction, watched from now on */
  watch(runner: StatementRunner): WatchedTransaction {
    const watched = new WatchedTransaction(this.#caches)
    const execute = runner.executeQuery.bind(runner)
    runner.executeQuery = async <Row>(query: CompiledQuery<Row>) => {
      const result = await execute<Row>(query)
      const isChange = result.rows.length > 0 || result.numAffectedRows !== 0n
      if (isChange) watched.wrote(this.#writes.of(query.sql))
      return result
    }
    return watched
  }
}

class WatchedTransaction {
  readonly #caches: readonly CheckedCache[]
  readonly #invalidated = new Set<string>()
  /** By the name of the cache. */
  readonly #changed = new Map<string, Write>()

  constructor(caches: readonly CheckedCache[]) {
    this.#caches = caches
  }

  invalidated(cache: string): void {
    this.#invalidated.add(cache)
  }

  wrote(writes: readonly Write[]): void {
    for (const write of writes)
      for (const { name, tables } of this.#caches) {
        const table = tables[write.table]
        if (table && changesValue(table, write)) this.#changed.set(name, write)
      }
  }

  /** To be called before the commit. @throws Error when an invalidation was forgotten */
  requireInvalidations(): void {
    const forgotten = [...this.#changed].filter(([cache]) => !this.#invalidated.has(cache))
    if (forgotten.length === 0) return
    const lines = forgotten.map(
      ([cache, { kind, table, columns }]) =>
        `the cache ${cache} is not invalidated by this ${kind}: ${table} (${columns.join(', ')})`,
    )
    throw new Error(lines.join('; '))
  }
}

function changesValue({ columns, inserts, deletes }: CachedTable, write: Write): boolean {
  if (write.kind === 'delete') return deletes !== false
  if (write.kind === 'insert' && !inserts) return false
  return write.columns.some((column) => columns.includes(column))
}
