import { runStatements } from './run-statements.js'

/** Members record whether others added them, since others may fill half of a user's places only (rule F4b). */
export const addedMembers = runStatements([
  'alter table group_members add column is_added smallint not null default 0',
  'drop index group_members_user',
  'create index group_members_user on group_members (app_id, user_id, group_id, is_added)',
])
