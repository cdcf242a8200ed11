import { type Kysely, type Migration, sql } from 'kysely'
import { idSlots } from '../../lib/ids.js'
import type { SqlDialect } from '../dialect/dialect.js'

/** Tables of applications, users, devices, tokens, conversations and messages. */
export function initialMigration(dialect: SqlDialect): Migration {
  return {
    async up(db: Kysely<never>): Promise<void> {
      for (const [name, body] of Object.entries(clusteredTables))
        await sql.raw(`create table ${name} (${body}) ${dialect.clusteredTable}`).execute(db)
      for (const [name, body] of Object.entries(rowTables)) await sql.raw(`create table ${name} (${body})`).execute(db)
      for (const statement of indexes) await sql.raw(statement).execute(db)
      for (let slot = 0; slot < idSlots; slot++)
        await sql`insert into id_slots (slot, owner, reserved_until) values (${slot}, '', 0)`.execute(db)
    },
  }
}

// The column types are read alike by both engines: SQLite takes `bigint` and `smallint` as integers.
//
// A conversation's row holds the marks of both parties, so that a send, which moves the sender's mark, writes one row and page for both.
// Messages are kept in the order of their key, so that a page of history is a page or two of the database and not one for every
// message. Transaction IDs come first in the key of their table because clients make them from clocks and counters, so that new ones of
// all senders end up on few pages; an index for their expiry would cost every send.
const rowTables = {
  apps: `
    app_id text primary key not null,
    name text not null,
    status smallint not null,
    open_registration smallint not null,
    registration_secret text not null,
    settings text not null,
    created_at bigint not null`,
  admin_tokens: `
    token_id bigint primary key not null,
    app_id text not null references apps (app_id),
    name text not null,
    token_hash text not null unique,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint`,
  operator_tokens: `
    token_hash text primary key not null,
    created_at bigint not null`,
  users: `
    app_id text not null references apps (app_id),
    user_id bigint not null,
    username text not null,
    username_key text,
    password_hash text not null,
    status smallint not null,
    nick_name text not null,
    avatar text not null,
    description text not null,
    public_info text not null,
    private_info text not null,
    mobile text,
    email text,
    last_device_sn integer not null,
    devices_changed_at bigint not null default 0,
    credential_epoch integer not null,
    badge integer not null,
    created_at bigint not null,
    deleted_at bigint,
    primary key (app_id, user_id)`,
  devices: `
    app_id text not null,
    user_id bigint not null,
    device_sn integer not null,
    device_guid text not null,
    platform smallint not null,
    user_agent text not null,
    push_token text not null,
    created_at bigint not null,
    last_used_at bigint not null,
    primary key (app_id, user_id, device_sn)`,
}

const clusteredTables = {
  user_settings: `
    app_id text not null,
    user_id bigint not null,
    auth_answer text not null default '',
    auth_mode smallint not null default 0,
    auth_question text not null default '',
    auto_download smallint not null default 0,
    group_confirm smallint not null default 0,
    no_push smallint not null default 0,
    no_push_detail smallint not null default 0,
    no_push_end_hour smallint not null default 0,
    no_push_start_hour smallint not null default 0,
    no_sounds smallint not null default 0,
    push_nick_name text not null default '',
    push_token text not null default '',
    silence_end_time smallint not null default 0,
    silence_start_time smallint not null default 0,
    stranger_chat smallint not null default 0,
    vibratory smallint not null default 0,
    primary key (app_id, user_id)`,
  user_tokens: `
    app_id text not null,
    token_hash text not null,
    user_id bigint not null,
    device_sn integer,
    created_at bigint not null,
    expires_at bigint not null,
    revoked_at bigint,
    primary key (app_id, token_hash)`,
  push_aliases: `
    app_id text not null,
    alias text not null,
    user_id bigint not null,
    primary key (app_id, alias)`,
  push_tags: `
    app_id text not null,
    user_id bigint not null,
    tag text not null,
    primary key (app_id, user_id, tag)`,
  push_bindings: `
    app_id text not null,
    user_id bigint not null,
    device_sn integer not null,
    notifier_name text not null,
    device_token text not null,
    bound_at bigint not null,
    primary key (app_id, user_id, device_sn, notifier_name)`,
  contacts: `
    app_id text not null,
    user_id bigint not null,
    peer_id bigint not null,
    state smallint not null,
    is_blocked smallint not null,
    alias text not null,
    ext text not null,
    mute_notification smallint not null,
    updated_at bigint not null,
    primary key (app_id, user_id, peer_id)`,
  contact_applications: `
    app_id text not null,
    user_id bigint not null,
    applicant_id bigint not null,
    alias text not null,
    reason text not null,
    status smallint not null,
    created_at bigint not null,
    expires_at bigint not null,
    updated_at bigint not null,
    primary key (app_id, user_id, applicant_id)`,
  pinned_conversations: `
    app_id text not null,
    user_id bigint not null,
    conversation_id bigint not null,
    pinned_at bigint not null,
    primary key (app_id, user_id, conversation_id)`,
  conversations: `
    app_id text not null,
    low_id bigint not null,
    high_id bigint not null,
    seq bigint not null,
    last_msg_id bigint not null,
    created_at bigint not null,
    last_recalled_seq bigint not null default 0,
    low_seen_seq bigint not null default 0,
    high_seen_seq bigint not null default 0,
    low_read_seq bigint not null default 0,
    low_delivered_seq bigint not null default 0,
    low_hidden_msg_id bigint not null default 0,
    high_read_seq bigint not null default 0,
    high_delivered_seq bigint not null default 0,
    high_hidden_msg_id bigint not null default 0,
    primary key (app_id, low_id, high_id)`,
  user_conversations: `
    app_id text not null,
    user_id bigint not null,
    low_id bigint not null,
    high_id bigint not null,
    primary key (app_id, user_id, low_id, high_id)`,
  messages: `
    app_id text not null,
    low_id bigint not null,
    high_id bigint not null,
    msg_id bigint not null,
    seq bigint not null,
    sender_id bigint not null,
    sender_device_sn integer not null,
    content_type smallint not null,
    content text not null,
    attachment text not null,
    config text not null,
    ext text not null,
    is_system smallint not null,
    edited_at bigint not null default 0,
    primary key (app_id, low_id, high_id, msg_id)`,
  recalled_messages: `
    app_id text not null,
    low_id bigint not null,
    high_id bigint not null,
    msg_id bigint not null,
    seq bigint not null,
    sender_id bigint not null,
    recalled_by bigint not null,
    recalled_at bigint not null,
    primary key (app_id, low_id, high_id, msg_id)`,
  events: `
    event_id bigint primary key not null,
    app_id text not null,
    kind text not null,
    payload text not null,
    created_at bigint not null`,
  pending_erasures: `
    app_id text not null,
    user_id bigint not null,
    created_at bigint not null,
    primary key (app_id, user_id)`,
  sent_transactions: `
    app_id text not null,
    transaction_id bigint not null,
    sender_id bigint not null,
    msg_ids text not null,
    created_at bigint not null,
    expires_at bigint not null,
    primary key (app_id, transaction_id, sender_id)`,
  id_slots: `
    slot smallint primary key not null,
    owner text not null,
    reserved_until bigint not null`,
}

const indexes = [
  'create unique index users_username on users (app_id, username_key)',
  'create unique index users_mobile on users (app_id, mobile)',
  'create unique index users_email on users (app_id, email)',
  'create unique index devices_guid on devices (app_id, user_id, device_guid)',
  'create index admin_tokens_app on admin_tokens (app_id)',
  'create index user_tokens_user on user_tokens (app_id, user_id)',
  'create index user_tokens_expiry on user_tokens (expires_at)',
  'create index push_tags_tag on push_tags (app_id, tag)',
  'create unique index push_bindings_token on push_bindings (app_id, device_token, notifier_name)',
  'create index contacts_peer on contacts (app_id, peer_id)',
  'create index contacts_blocked on contacts (app_id, user_id) where is_blocked = 1',
  'create index contact_applications_newest on contact_applications (app_id, user_id, created_at, applicant_id)',
  'create index contact_applications_changed on contact_applications (app_id, user_id, updated_at)',
  'create index contact_applications_applicant on contact_applications (app_id, applicant_id)',
  'create index push_aliases_user on push_aliases (app_id, user_id)',
]
