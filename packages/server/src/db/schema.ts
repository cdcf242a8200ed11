/**
 * The tables, as the code sees them. Flags are 0 or 1, instants are milliseconds, IDs are 64-bit integers.
 * The key of every table that grows with an app starts with the app, and of messages with the conversation, so that
 * PostgreSQL can partition them.
 */
import type { Int64 } from '@hermod/protocol'
import type { Generated } from './kysely.js'

export interface Schema {
  apps: AppsTable
  admin_tokens: AdminTokensTable
  operator_tokens: OperatorTokensTable
  users: UsersTable
  user_badges: UserBadgesTable
  user_counts: UserCountsTable
  user_settings: UserSettingsTable
  user_tokens: UserTokensTable
  push_aliases: PushAliasesTable
  devices: DevicesTable
  push_tags: PushTagsTable
  push_bindings: PushBindingsTable
  push_certificates: PushCertificatesTable
  push_tasks: PushTasksTable
  push_task_counts: PushTaskCountsTable
  push_batches: PushBatchesTable
  push_deliveries: PushDeliveriesTable
  contacts: ContactsTable
  contact_requests: ContactRequestsTable
  pinned_conversations: PinnedConversationsTable
  conversations: ConversationsTable
  user_conversations: UserConversationsTable
  broadcast_marks: BroadcastMarksTable
  messages: MessagesTable
  recalled_messages: RecalledMessagesTable
  own_notifications: OwnNotificationsTable
  message_changes: MessageChangesTable
  outbox: OutboxTable
  outbox_heads: OutboxHeadsTable
  outbox_positions: OutboxPositionsTable
  jobs: JobsTable
  groups: GroupsTable
  group_members: GroupMembersTable
  group_mute_gaps: GroupMuteGapsTable
  group_removals: GroupRemovalsTable
  group_blocks: GroupBlocksTable
  group_join_requests: GroupJoinRequestsTable
  group_invitations: GroupInvitationsTable
  group_invitation_counts: GroupInvitationCountsTable
  group_announcements: GroupAnnouncementsTable
  group_files: GroupFilesTable
  files: FilesTable
  file_usage: FileUsageTable
  file_references: FileReferencesTable
  receipt_requests: ReceiptRequestsTable
  sent_transactions: SentTransactionsTable
  id_slots: IdSlotsTable
  key_checks: KeyChecksTable
  leases: LeasesTable
}

export interface AppsTable {
  app_id: string
  name: string
  /** 0 normal, 1 disabled */
  status: number
  /** 1: anyone who knows the app_id may register users (rule C2). */
  open_registration: number
  /** HMAC key of `sign` in /user/register/push, encrypted by lib/secrets/secret-box.ts; '' = not asked for (rule D8). */
  registration_secret: string
  /** HMAC key of the addresses of files, 32 bytes in base64url, encrypted by lib/secrets/secret-box.ts. */
  file_link_key: string
  /** JSON of what differs from the defaults in domain/apps/app-model.ts. */
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
  /** The address without regard to case. */
  email_key: string | null
  last_device_sn: number
  /** When the list of devices changed last; it strictly grows. 0 = never */
  devices_changed_at: Generated<number>
  /** Part of what the file credentials are derived from: raising it revokes them. */
  credential_epoch: number
  created_at: number
  deleted_at: number | null
  /** The last broadcast before the user came, which sees those after it only (rule E9); 0 = there was none. */
  broadcasts_after: Generated<number>
}

/** One row per user who is there, apart from the others of a user, since every push of a task to everybody changes it. */
export interface UserBadgesTable {
  app_id: string
  user_id: Int64
  /** What the icon of the app shows on the user's devices, where it shows as much. */
  badge: Generated<number>
}

/**
 * How many users an app has, and its last broadcast. A transaction that adds users, deletes one or broadcasts has the row locked, as late as
 * possible: so all of them are in one order, and each broadcast is for the users who were counted before it.
 */
export interface UserCountsTable {
  app_id: string
  users: number
  /** Message ID; it strictly grows over all senders. 0 = none */
  last_broadcast_id: Generated<number>
}

/** One row per user who ever changed a setting; without it everything is false, 0 or '' (rule D7). */
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
  /** The device is out of reach until then, said its gateway; 0 = it is not. */
  paused_until: Generated<number>
}

/** Credentials of an app at the gateway of a channel. */
export interface PushCertificatesTable {
  app_id: string
  certificate_id: Int64
  /** What devices name as notifier_name; unique in the app. */
  name: string
  channel: string
  /** 0 development, 1 production */
  environment: number
  /** The three public fields of the contract are in clear, the secret ones sealed. */
  gateway_app_id: string
  app_key: string
  /** JSON of what is secret, encrypted by lib/secrets/secret-box.ts. */
  sealed: string
  /** JSON of what the contract has no field for. */
  options: string
  /** Milliseconds since 1970; null = it does not expire, or nobody can tell. */
  expires_at: number | null
  /** When a gateway last took a push with it; it grows in steps of a minute. 0 = never */
  last_accepted_at: Generated<number>
  /** JSON: when used-up quotas begin anew, by what they are of. */
  pauses: Generated<string>
  created_at: number
  updated_at: number
}

/** A push to many devices: one that was asked for, or that of a message. */
export interface PushTasksTable {
  app_id: string
  task_id: Int64
  /** The message that is pushed; 0 = the task was asked for. */
  msg_id: Int64
  /** '' = none */
  request_id: string
  /** JSON: for whom it is, through which channels, and what devices are told. */
  content: string
  /** 0 waiting, 1 expanding, 2 expanded, 3 cancelled */
  state: number
  /** Users up to here are in a batch. */
  expanded_to: Generated<Int64>
  /** How many deliveries there are, and how many of them have come to an end. */
  devices: Generated<number>
  finished: Generated<number>
  begins_at: number
  expires_at: number
  created_at: number
  updated_at: number
}

/** The counts of a task on one channel, in devices (rule G1). */
export interface PushTaskCountsTable {
  app_id: string
  task_id: Int64
  channel: string
  target: number
  sent: number
  received: number
}

/** A part of the audience of a task, whose deliveries are written when its turn comes. */
export interface PushBatchesTable {
  app_id: string
  batch_id: Int64
  task_id: Int64
  /** Users above it and up to `up_to` have no deliveries yet. */
  opened_to: Int64
  up_to: Int64
  /** Of those users, and counted in the task: how many deliveries are expected. */
  devices: number
  /** JSON: how many of them on each channel, as counted in push_task_counts. */
  targets: string
}

/** What became of a task on one device. */
export interface PushDeliveriesTable {
  app_id: string
  task_id: Int64
  user_id: Int64
  device_sn: number
  /** The deliveries of a batch are sent together. */
  batch_id: Int64
  /** 0 pending, 1 accepted, 2 refused, 3 suppressed, 4 expired, 5 cancelled */
  state: number
  /** '' = none was chosen */
  channel: string
  /** 0 = of no gateway */
  certificate_id: Int64
  /** Of the device token that it is for, so that receipts can be told from those for another one; '' = of no gateway. */
  token_hash: string
  /** The gateway's own ID; '' = it has none yet. */
  message_id: Generated<string>
  /** Results so far, whatever they were: the version of the row. */
  attempts: Generated<number>
  /** Tries that failed on its present channel. */
  failures: Generated<number>
  /** Times that it was put off on its present channel. */
  waits: Generated<number>
  /** When to try again. */
  next_at: Generated<number>
  /** What the badge shows with it; null = it stays as it is. */
  badge: number | null
  is_silent: Generated<number>
  hides_details: Generated<number>
  /** When the device confirmed it first; null = it has not. */
  received_at: number | null
  /** One JSON text a line: what was decided, tried and answered. */
  steps: string
}

/** What one user has stored about another; each side of a contact has its own row. */
export interface ContactsTable {
  app_id: string
  user_id: Int64
  peer_id: Int64
  /** 0 contact, 1 former contact, 2 stranger */
  state: number
  is_blocked: Generated<number>
  alias: string
  ext: string
  mute_notification: number
  updated_at: number
}

/** The last contact request of `applicant_id` to `user_id`. */
export interface ContactRequestsTable {
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
  /** A value of `platform` of the protocol. */
  platform: number
  user_agent: string
  push_token: string
  created_at: number
  last_used_at: number
}

/**
 * A conversation is the pair of its parties, the smaller ID first: two users, a user and the system (0), or a user with themselves.
 * A group is its own pair. The broadcasts of a sender are a conversation too, of everybody (-1) and the sender; the marks of its readers
 * are in {@link BroadcastMarksTable}.
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
  /** 1 = a party was deleted, so there will be no more messages (rule D5). */
  closed: Generated<number>
  /** How many times messages were edited or recalled. With seq it makes the change number of the conversation; see message_changes. */
  alterations: Generated<number>
  /** Changes above this number are kept; 0 = all of them. */
  changes_kept_from: Generated<number>
  /** Messages up to and including this position were removed because of their age (rule E14); 0 = none was. */
  removed_seq: Generated<number>
  /** The last one of them; it strictly grows. */
  removed_msg_id: Generated<number>
  /** Of a group's conversation: who has read furthest, to low_read_seq; the furthest of all others is at high_read_seq. */
  reader_id: Generated<Int64>
  /** Position of the newest message that was recalled; 0 = none. Above a mark it says that the unread count needs a closer look. */
  last_recalled_seq: number
  /** Position of the newest notification in the name of a user, which may have been recalled; 0 = none. As above. */
  last_notified_seq: Generated<number>
  /** Nothing up to and including this position is unread to the party: the further one of what it has read and what is hidden from it. */
  low_seen_seq: number
  high_seen_seq: number
  /** The marks of the party with the smaller ID. Read up to and including this position; sending moves it (rule E5). */
  low_read_seq: number
  /** A device of the party got everything up to and including this position. */
  low_delivered_seq: number
  /** Everything up to and including this message is hidden from the party (rule E13). */
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

/**
 * The marks of a user in the broadcasts of a sender, as in {@link ConversationsTable}. The row comes with the first of them: without it
 * nothing was read, and what is unread begins after `broadcasts_after` of the user.
 */
export interface BroadcastMarksTable {
  app_id: string
  user_id: Int64
  sender_id: Int64
  seen_seq: number
  read_seq: Generated<number>
  delivered_seq: Generated<number>
  hidden_msg_id: Generated<number>
}

/** Notifications that came in the name of a user and move no marks: unread to others, and not to that user (rule E5). */
export interface OwnNotificationsTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  user_id: Int64
  seq: number
  msg_id: number
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

/** What is left of a message that was recalled (rule E7). */
export interface RecalledMessagesTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  msg_id: number
  seq: number
  sender_id: Int64
  is_system: number
  recalled_by: Int64
  recalled_at: number
}

/**
 * What altered messages, in the order in which it was done. Storing a message needs no row: `change - alteration` messages were there
 * when the row was written, so the numbers that no row has are those of messages, in the order of their positions.
 */
export interface MessageChangesTable {
  app_id: string
  low_id: Int64
  high_id: Int64
  /** The number of the change; dense from 1 over the messages of the conversation and these rows. */
  change: number
  /** Which of these rows it is; dense from 1. */
  alteration: number
  msg_id: number
  /** 0 edited, 1 recalled */
  kind: number
}

/** Events for consumers, in the order of the commits; see outbox/. */
export interface OutboxTable {
  app_id: string
  /** Dense from 1, in the order of the commits. */
  position: number
  kind: string
  /** JSON as in protocol/src/events; of message.stored see domain/messaging/model/message-ranges.ts. */
  payload: string
  created_at: number
}

/** The last position of each app in the outbox. */
export interface OutboxHeadsTable {
  app_id: string
  position: number
  /** The least ID of the messages that were appended last; 0 = none were since the last broadcast, or no messages. */
  first_msg_id: Generated<number>
  /** The greatest ID of a message that was appended; 0 = none was. The next broadcast has a greater one (rule E3). */
  last_msg_id: Generated<number>
  /** That of the last broadcast: messages that are appended from now on have greater ones, or the row is refused. */
  last_broadcast_id: Generated<number>
}

/** Up to where each consumer has handled the outbox. */
export interface OutboxPositionsTable {
  consumer: string
  app_id: string
  position: number
}

/** Durable work; see jobs/job-store.ts. */
export interface JobsTable {
  app_id: string
  job_id: Int64
  kind: string
  /** One unfinished job of a kind and key; '' = any number. */
  key: Generated<string>
  /** JSON */
  payload: string
  /** From then on a node may take it; of a job that was taken: when its lease ends. */
  run_at: number
  /** From then on it is not run any more; null = never */
  deadline_at: number | null
  /** How often it was taken. */
  attempts: Generated<number>
  /** The run that has taken it; '' = none */
  owner: Generated<string>
  /** 1: enqueued again while it ran. */
  is_again: Generated<number>
  /** How it ended: done, failed or expired; '' = it has not ended. */
  outcome: Generated<string>
  created_at: number
  updated_at: number
}

export interface GroupsTable {
  app_id: string
  group_id: Int64
  /** 0 private, 1 public, 2 chatroom, 3 temporary */
  type: number
  /** 0 normal, 1 dissolved */
  status: Generated<number>
  name: string
  avatar: string
  description: string
  ext: Generated<string>
  owner_id: Int64
  capacity: Int64
  /** Rows of group_members; changed under the lock of this row only. */
  member_count: number
  /** Members whose ban_expires_at is not 0, likewise; among them are bans that have ended and are not cleared yet. */
  ban_count: Generated<number>
  /** Rows of group_blocks, likewise. */
  block_count: Generated<number>
  /** Rows of group_join_requests, likewise. */
  join_request_count: Generated<number>
  apply_approval: Generated<number>
  hide_member_info: Generated<number>
  history_visible: Generated<number>
  member_invite: Generated<number>
  member_modify: Generated<number>
  read_ack: Generated<number>
  /** Seconds; 0 = no ban, -1 = permanent. */
  ban_expires_at: Generated<number>
  created_at: number
  updated_at: number
  members_changed_at: number
  bans_changed_at: Generated<number>
  blocks_changed_at: Generated<number>
}

/** Members, also those of dissolved groups; the marks are as in {@link ConversationsTable}. */
export interface GroupMembersTable {
  app_id: string
  group_id: Int64
  user_id: Int64
  /** 0 member, 1 admin, 2 owner */
  role: Generated<number>
  display_name: Generated<string>
  /** 0 = no ban, -1 = permanent */
  ban_expires_at: Generated<number>
  msg_mute_mode: Generated<number>
  msg_push_mode: Generated<number>
  joined_at: number
  /** The last message when the member joined: earlier ones are seen only where history_visible is on. */
  joined_msg_id: Generated<number>
  /** Up to here nothing counts as unread: what was there before, read, or hidden. */
  seen_seq: Generated<number>
  read_seq: Generated<number>
  /** Acknowledged up to here, so that senders who asked for it were told. Sending moves read_seq only. */
  acked_seq: Generated<number>
  delivered_seq: Generated<number>
  hidden_msg_id: Generated<number>
  /** While msg_mute_mode is 2: where the conversation ended when it became so. What came since is not unread. */
  muted_seq: Generated<number>
  /** The end of the last gap; only with one above seen_seq are there gaps in what is unread. */
  gaps_end_seq: Generated<number>
}

/**
 * What came while msg_mute_mode was 2, where something before it was still unread when the mode changed again. They do not overlap. Those
 * that end at or below the member's seen_seq mean nothing, and go when the mode changes.
 */
export interface GroupMuteGapsTable {
  app_id: string
  group_id: Int64
  user_id: Int64
  /** The last position of the gap. */
  to_seq: number
  /** The last position before it. */
  from_seq: number
}

/** What a group remembers of those who are no members any more. */
export interface GroupRemovalsTable {
  app_id: string
  group_id: Int64
  user_id: Int64
  kicks: number
  /** A ban that ran when the membership ended, as in {@link GroupMembersTable}. */
  ban_expires_at: number
}

export interface GroupBlocksTable {
  app_id: string
  group_id: Int64
  user_id: Int64
  created_at: number
}

/** The latest join request of each user to each group. */
export interface GroupJoinRequestsTable {
  app_id: string
  group_id: Int64
  applicant_id: Int64
  reason: string
  /** 0 pending, 1 agreed, 2 rejected */
  status: number
  created_at: number
  expires_at: number
  updated_at: number
}

/** The latest invitation of each user to each group. */
export interface GroupInvitationsTable {
  app_id: string
  group_id: Int64
  invitee_id: Int64
  inviter_id: Int64
  reason: string
  /** 0 pending, 1 agreed, 2 rejected */
  status: number
  created_at: number
  expires_at: number
  updated_at: number
}

/** How many invitations users have received, those of them who ever got one: rows of group_invitations by invitee. */
export interface GroupInvitationCountsTable {
  app_id: string
  user_id: Int64
  invitations: number
}

export interface GroupAnnouncementsTable {
  app_id: string
  group_id: Int64
  announcement_id: number
  author_id: Int64
  title: string
  content: string
  created_at: number
}

export interface GroupFilesTable {
  app_id: string
  group_id: Int64
  file_id: number
  uploader_id: Int64
  name: string
  /** A decimal number: no column of the embedded database reads back exactly beyond 2^53. */
  size: string
  type: string
  url: string
  created_at: number
  updated_at: number
}

/** A file that is whole in the store; the row comes after the last byte. Nothing of the file ever changes. */
export interface FilesTable {
  app_id: string
  /** 26 random letters and digits; the key in the store and the ETag come from it. */
  file_id: string
  /** Tells this upload from others with the same ticket; part of the key in the store. */
  upload_id: string
  /** Who uploaded it; 0 = the system */
  owner_id: Int64
  /** 0 of a chat, 1 avatar of a user, 2 avatar of a group */
  purpose: number
  /** file_type of the ticket; 0 = none */
  file_type: number
  /** For whom the ticket was made: 1 user, 2 group; 0 = nobody in particular */
  to_type: number
  to_id: Int64
  /** As the client named it; '' = it did not */
  name: string
  /** By its content. */
  content_type: string
  /** Bytes. */
  size: number
  /** Of all bytes; null = the store got the file from the client itself */
  crc32: number | null
  created_at: number
  /** The removal that is about to take it, so that it cannot be had; '' = none */
  removal_id: string
}

/** Files of an app and their bytes together: rows of files. The row is locked last, after every other row but the head of the outbox. */
export interface FileUsageTable {
  app_id: string
  files: number
  bytes: number
}

/** What names a file, so that it stays; written behind the messages and profiles that do, by the consumer of their events. */
export interface FileReferencesTable {
  app_id: string
  file_id: string
  /** 0 message, 1 avatar of a user (0: the system), 2 avatar of a group, 3 shared file of a group */
  kind: number
  /** The conversation of a message; else the user or the group, twice. */
  low_id: Int64
  high_id: Int64
  /** The message or the shared file; of an avatar 0. */
  item_id: Int64
}

/** Group messages whose senders want to know who has read them (groupMemberList of config). */
export interface ReceiptRequestsTable {
  app_id: string
  group_id: Int64
  seq: number
  msg_id: number
  sender_id: Int64
  /** Those who are asked, as `,1,2,`. */
  member_ids: string
}

/** The idempotency log of sends (rule E4). */
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

/** See lib/ids/ids.ts: which node may issue which IDs, and up to when. */
export interface IdSlotsTable {
  slot: number
  owner: string
  reserved_until: number
}

/** One row: a text that is encrypted with the secret key, which tells at the start whether the key is the right one. */
export interface KeyChecksTable {
  /** 1 */
  check_id: number
  sealed: string
}

/** What one node at a time may do, and which node may now. */
export interface LeasesTable {
  name: string
  owner: string
  expires_at: number
}
