/** The used part of the query builder; one file after the build, see scripts/bundle.mjs. */
export type * from 'kysely'
export {
  CompiledQuery,
  DummyDriver,
  Kysely,
  Migrator,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  Transaction,
} from 'kysely'
