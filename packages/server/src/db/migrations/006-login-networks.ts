import type { SqlDialect } from '../dialect/dialect.js'
import type { Migration } from '../kysely.js'
import { runStatements } from './run-statements.js'

/** The networks from which users have logged in (rule D2). */
export function loginNetworks(dialect: SqlDialect): Migration {
  return runStatements([
    `create table login_networks (
          app_id text not null,
          user_id bigint not null,
          network text not null,
          logged_in_at bigint not null,
          primary key (app_id, user_id, network)) ${dialect.clusteredTable}`,
  ])
}
