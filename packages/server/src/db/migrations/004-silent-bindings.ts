import { runStatements } from './run-statements.js'

/** Push bindings of ended logins, and the epoch of a device's file credentials (rule D6a). */
export const silentBindings = runStatements([
  'alter table devices add column credential_epoch integer not null default 0',
  `create table silent_push_bindings (
    app_id text not null,
    user_id bigint not null,
    device_guid text not null,
    notifier_name text not null,
    device_token text not null,
    bound_at bigint not null,
    paused_until bigint not null,
    silent_since bigint not null,
    primary key (app_id, user_id, device_guid, notifier_name))`,
  'create index silent_push_bindings_token on silent_push_bindings (app_id, device_token)',
])
