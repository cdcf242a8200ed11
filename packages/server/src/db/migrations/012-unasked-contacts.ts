import { runStatements } from './run-statements.js'

/** Contacts that the other user alone has made. */
export const unaskedContacts = runStatements([
  'alter table contacts add column is_unasked smallint not null default 0',
  'create index contacts_unasked on contacts (app_id, user_id) where is_unasked = 1',
])
