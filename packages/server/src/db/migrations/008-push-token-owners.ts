import { runStatements } from './run-statements.js'

/** Push tokens have one owner, so they are looked up at each change. A partial index would not serve a parameter. */
export const pushTokenOwners = runStatements([
  'drop index devices_push_token',
  'create index devices_push_token on devices (app_id, push_token)',
  'create index user_settings_push_token on user_settings (app_id, push_token)',
])
