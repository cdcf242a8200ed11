import { runStatements } from './run-statements.js'

/**
 * Mobile numbers are compared in the form of E.164. Of two users with one number in two forms, the
 * one who wrote it with the code of the country keeps it; the other one's is only shown.
 */
export const mobileKeys = runStatements([
  'alter table users add column mobile_key text',
  "update users set mobile_key = mobile where mobile like '+%'",
  `update users set mobile_key = '+86' || mobile where mobile not like '+%' and not exists (
     select 1 from users o where o.app_id = users.app_id and o.mobile = '+86' || users.mobile)`,
  'drop index users_mobile',
  'create unique index users_mobile_key on users (app_id, mobile_key)',
])
