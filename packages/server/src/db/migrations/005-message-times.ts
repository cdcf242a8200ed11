import { runStatements } from './run-statements.js'

/** The times of messages beside their IDs (rule E3). Rows stay as they are: without a time, the ID tells it. */
export const messageTimes = runStatements([
  'alter table messages add column sent_at bigint',
  'alter table recalled_messages add column sent_at bigint',
  'alter table conversations add column ids_ahead_ms bigint not null default 0',
])
