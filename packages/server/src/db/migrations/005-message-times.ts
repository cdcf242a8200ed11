import { type Kysely, type Migration, sql } from '../kysely.js'

/** The times of messages beside their IDs (rule E3). Rows stay as they are: without a time, the ID tells it. */
export const messageTimes: Migration = {
  async up(db: Kysely<never>): Promise<void> {
    for (const statement of columns) await sql.raw(statement).execute(db)
  },
}

const columns = [
  'alter table messages add column sent_at bigint',
  'alter table recalled_messages add column sent_at bigint',
  'alter table conversations add column ids_ahead_ms bigint not null default 0',
]
