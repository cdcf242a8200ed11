import { type Kysely, type Migration, sql } from '../kysely.js'

/** Returns a migration that runs the statements in order. */
export function runStatements(statements: readonly string[]): Migration {
  return {
    async up(db: Kysely<never>): Promise<void> {
      for (const statement of statements) await sql.raw(statement).execute(db)
    },
  }
}
