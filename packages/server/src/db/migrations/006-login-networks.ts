import type { SqlDialect } from '../dialect/dialect.js'
import { type Kysely, type Migration, sql } from '../kysely.js'

/** The networks from which users have logged in (rule D2). */
export function loginNetworks(dialect: SqlDialect): Migration {
  return {
    async up(db: Kysely<never>): Promise<void> {
      await sql
        .raw(`create table login_networks (
          app_id text not null,
          user_id bigint not null,
          network text not null,
          logged_in_at bigint not null,
          primary key (app_id, user_id, network)) ${dialect.clusteredTable}`)
        .execute(db)
    },
  }
}
