/**
 * The tables, as the code sees them. Flags are 0 or 1, instants are milliseconds, IDs are 64-bit integers.
 * The key of every table that grows with an application starts with the application, and of messages with the conversation, so that
 * PostgreSQL can partition them.
 */
import type { Int64 } from '@hermod/protocol'
import type { Generated } from 'kysely'

export interface Schema {
  apps: AppsTable
  admin_tokens: AdminTokensTable
  operator_tokens: OperatorTokensTable
  users: UsersTable
  user_settings: UserSettingsTable
  user_tokens: UserTokensTable
  push_aliases: PushAliasesTable
  devices: DevicesTable
  push_tags: PushTagsTable
  push_bindings: PushBindingsTable
  contacts: ContactsTable
  contact_applications: ContactApplicationsTable
  pinned_conversations: PinnedConversationsTable
  conversations: ConversationsTable
  user_conversations: UserConversationsTable
  messages: MessagesTable
  recalled_messages: RecalledMessagesTable
  events: EventsTable
  pending_erasures: PendingErasuresTable
  sent_transactions: SentTransactionsTable
  id_slots: IdSlotsTable
}

export interface AppsTable {
  app_id: string
  name: string
  /** 0 normal, 1 disabled */
  status: number
  /** 1: anyone who knows the app_id may register users (decision C2). */
  open_registration: number
  /** Lower-case hex HMAC key of `sign` in /user/register/push; '' = not asked for (decision D8). */
  registration_secret: string
  /** JSON of what differs from the defaults in application-model.ts. */
  settings: string
  created_at: number
}

export interface AdminTokensTable {
  token_id: number
  app_id: string
  name: string
  token_hash: string
  created_at: number
  /** null = never */
  expires_at: number | null
  revoked_at: number | null
}

export interface OperatorTokensTable {
  token_hash: string
  created_at: number
}

export interface UsersTable {
  app_id: string
  user_id: Int64
  username: string
  /** The username without regard to case; null once the user is deleted, so that the name is free again. */
  username_key: string | null
  /** PHC string; '' = no login by password. */
  password_hash: string
  /** 0 normal, 1 disabled */
  status: number
  nick_name: string
  avatar: string
  description: string
  public_info: string
  private_info: string
  mobile: string | null
  email: string | null
  last_device_sn: number
  /** When the list of devices changed last; it strictly grows. 0 = never */
  devices_changed_at: Generated<number>
  /** Part of what the file credentials are derived from: raising it revokes them. */
  credential_epoch: number
  /** What the icon of the application shows on the user's devices. */
  badge: number
  created_at: number
  deleted_at: number | null
}

/** One row per user who ever changed a setting; without it everything is false, 0 or '' (decision D7). */
export interface UserSettingsTable {
  app_id: string
  user_id: Int64
  auth_answer: string
  auth_mode: number
  auth_question: string
  auto_download: number
  group_confirm: number
  no_push: number
  no_push_detail: number
  no_push_end_hour: number
  no_push_start_hour: number
  no_sounds: number
  push_nick_name: string
  push_token: string
  silence_end_time: number
  silence_start_time: number
  stranger_chat: number
  vibratory: number
}

export interface UserTokensTable {
  app_id: string
  token_hash: string
  user_id: Int64
  /** null = the token is tied to no device. */
  device_sn: number | null
  created_at: number
  expires_at: number
  revoked_at: number | null
}

export interface PushAliasesTable {
  app_id: string
  alias: string
  user_id: Int64
}

export interface PushTagsTable {
  app_id: string
  user_id: Int64
  tag: string
}

/** The token that a push gateway gave to a device; a token belongs to the device that bound it last. */
export interface PushBindingsTable {
  app_id: string
  user_id: Int64
  device_sn: number
  /** Name of the certificate. */
  notifier_name: string
  device_token: string
  bound_at: number
}

/** What one user holds about another; each side of a contact has its own row. */
export interface ContactsTable {
  app_id: string
  user_id: Int64
  peer_id: Int64
  /** 0 contact, 1 former contact, 2 stranger */
  state: number
  is_blocked: number
  alias: string
  ext: string
  mute_notification: number
  updated_at: number
}

/** The last application of `applicant_id` to `user_id`. */
export interface ContactApplicationsTable {
  app_id: string
  user_id: Int64
  applicant_id: Int64
  /** What the applicant will call the user. */
  alias: string
  reason: string
  /** 0 waiting, 1 accepted, 2 rejected */
  status: number
  created_at: number
  expires_at: number
  updated_at: number
}

export interface PinnedConversationsTable {
  app_id: string
  user_id: Int64
  /** The other party, or the group. */
  conversation_id: Int64
  pinned_at: number
}

export interface DevicesTable {
  app_id: string
  user_id: Int64
  /** Counts up per user from 1; never used again. */
  device_sn: number
  device_guid: string
  /** 0 unknown, else as in the Device entry of the contract. */
  platform: number
  user_agent: string
  push_token: string
  created_at: number
  last_used_at: number
}

/**
 * A conversation is the pair of its parties, the smaller ID first: two users, a user and the system (0), or a user with themselves.
 * A group is its own pair.
 */
export interface ConversationsTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  /** Position of the newest message; dense from 1. */
  seq: number
  /** ID of the newest message; it strictly grows. */
  last_msg_id: number
  created_at: number
  /** Position of the newest message that was recalled; 0 = none. Above a mark it says that the unread count needs a closer look. */
  last_recalled_seq: number
  /** Nothing up to and including this position is unread to the party: the further one of what it has read and what is hidden from it. */
  low_seen_seq: number
  high_seen_seq: number
  /** The marks of the party with the smaller ID. Read up to and including this position; sending moves it (decision E5). */
  low_read_seq: number
  /** A device of the party got everything up to and including this position. */
  low_delivered_seq: number
  /** Everything up to and including this message is hidden from the party (decision E13). */
  low_hidden_msg_id: number
  /** The same of the other party; in a conversation with oneself both are the same. */
  high_read_seq: number
  high_delivered_seq: number
  high_hidden_msg_id: number
}

/** The conversations of a user: a row for each party of a conversation but the system. */
export interface UserConversationsTable {
  app_id: string
  user_id: Int64
  low_id: Int64
  high_id: Int64
}

export interface MessagesTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  msg_id: number
  seq: number
  sender_id: Int64
  sender_device_sn: number
  content_type: number
  content: string
  attachment: string
  config: string
  ext: string
  is_system: number
  /** 0 = never edited */
  edited_at: number
}

/** What is left of a message that was recalled (decision E7). */
export interface RecalledMessagesTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  msg_id: number
  seq: number
  sender_id: Int64
  recalled_by: Int64
  recalled_at: number
}

/** Committed facts that others are told of; see domain/events. */
export interface EventsTable {
  event_id: number
  app_id: string
  kind: string
  /** JSON */
  payload: string
  created_at: number
}

/** Deleted users whose texts are still to be taken out of the events. */
export interface PendingErasuresTable {
  app_id: string
  user_id: Int64
  created_at: number
}

/** The idempotency log of sends (decision E4). */
export interface SentTransactionsTable {
  app_id: string
  sender_id: Int64
  transaction_id: Int64
  /** JSON array of the message IDs of the first send. */
  msg_ids: string
  created_at: number
  /** From then on the same transaction ID makes a new message. */
  expires_at: number
}

/** See lib/ids.ts: which node may issue which IDs, and up to when. */
export interface IdSlotsTable {
  slot: number
  owner: string
  reserved_until: number
}
