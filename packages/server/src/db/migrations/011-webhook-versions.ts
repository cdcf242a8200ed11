import { runStatements } from './run-statements.js'

/** Versions and failures of endpoints, and the places of their events that are the last of a row. */
export const webhookVersions = runStatements([
  'alter table webhook_endpoints add column version bigint not null default 0',
  'alter table webhook_endpoints add column last_failure_at bigint not null default 0',
  'alter table webhook_events add column is_last smallint not null default 0',
])
