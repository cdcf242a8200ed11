import { randomUUID } from 'node:crypto'
import type { SqlDialect } from '../dialect/dialect.js'
import type { Migration } from '../kysely.js'
import { runStatements } from './run-statements.js'

/** The needs of connected devices: the epoch, changes by user, versions of groups, transaction IDs of messages. */
export function realtime(dialect: SqlDialect): Migration {
  return runStatements([
    `create table database_identity (
          identity_id integer not null primary key,
          epoch text not null)`,
    `insert into database_identity (identity_id, epoch) values (1, '${randomUUID()}')`,
    `create table user_changes (
          app_id text not null,
          user_id bigint not null,
          kind smallint not null,
          ref bigint not null,
          position bigint not null,
          primary key (app_id, user_id, kind, ref)) ${dialect.clusteredTable}`,
    'create index user_changes_position on user_changes (app_id, user_id, position)',
    'alter table messages add column transaction_id bigint',
    'alter table groups add column version bigint not null default 0',
  ])
}
