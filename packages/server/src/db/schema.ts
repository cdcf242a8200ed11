/**
 * The tables. Their columns are described as in columns.ts. Flags are 0 or 1, instants are
 * milliseconds, IDs are 64-bit integers. The key of every table that grows with an app starts with
 * the app, and of messages with the conversation, so that PostgreSQL can partition them.
 */
import {
  bigint,
  generated,
  int64,
  integer,
  keyed,
  nullable,
  smallint,
  type TableOf,
  text,
} from './columns.js'

export const appsTable = {
  app_id: text,
  name: text,
  /** 0 normal, 1 disabled */
  status: smallint,
  /** 1: anyone who knows the app_id may register users (rule C2). */
  open_registration: smallint,
  /**
   * HMAC key of `sign` in /user/register/push, encrypted by lib/secrets/secret-box.ts; '' = not
   * required (rule D8).
   */
  registration_secret: text,
  /** HMAC key of the addresses of files, 32 bytes in base64url, encrypted by lib/secrets/secret-box.ts. */
  file_link_key: text,
  /** JSON of the settings that differ from the defaults in domain/apps/app-model.ts. */
  settings: text,
  created_at: bigint,
}

export const adminTokensTable = {
  token_id: bigint,
  app_id: text,
  name: text,
  token_hash: text,
  /** Names of its scopes, separated by commas; null = all. */
  scopes: nullable(text),
  created_at: bigint,
  /** null = never */
  expires_at: nullable(bigint),
  revoked_at: nullable(bigint),
}

export const operatorTokensTable = {
  token_hash: text,
  created_at: bigint,
}

export const usersTable = {
  app_id: text,
  user_id: int64,
  username: text,
  /** The username in one case; null once the user is deleted, which frees the name. */
  username_key: nullable(text),
  /** PHC string; '' = the user has no password. */
  password_hash: text,
  /** 0 normal, 1 disabled */
  status: smallint,
  nick_name: text,
  avatar: text,
  description: text,
  public_info: text,
  private_info: text,
  mobile: nullable(text),
  /** The number in the form of E.164. */
  mobile_key: nullable(text),
  email: nullable(text),
  /** The address in one case. */
  email_key: nullable(text),
  last_device_sn: integer,
  /** The time of the last change to the list of devices; it strictly grows. 0 = never */
  devices_changed_at: generated(bigint),
  /** An input of the file credentials: raising it revokes them. */
  credential_epoch: integer,
  created_at: bigint,
  deleted_at: nullable(bigint),
  /** The last broadcast before the user registered; the user sees later ones only (rule E9). 0 = none */
  broadcasts_after: generated(bigint),
  /** 1: a program of the app, whose tokens may live for a year. */
  is_bot: generated(smallint),
  /** Assertions that were issued at this instant or before are refused (rule C9). 0 = none were ended */
  assertions_after: generated(bigint),
  /** The latest `iat` of the accepted assertions, which a revocation refuses too. 0 = none */
  newest_assertion: generated(bigint),
}

/** One row per user who is not deleted. It is a table because a push to all users changes every row. */
export const userBadgesTable = {
  app_id: text,
  user_id: int64,
  /** The number on the app's icon on the user's devices, where they show one. */
  badge: generated(bigint),
}

/**
 * The number of users of an app, and its last broadcast. A transaction that adds users, deletes one
 * or broadcasts locks the row as late as possible. That orders them: each broadcast is for the
 * users who were counted before it.
 */
export const userCountsTable = {
  app_id: text,
  users: bigint,
  /** The message ID of the last broadcast; it strictly grows over all senders. 0 = none */
  last_broadcast_id: generated(bigint),
}

/** One row per user who ever changed a setting; without it everything is false, 0 or '' (rule D7). */
export const userSettingsTable = {
  app_id: text,
  user_id: int64,
  auth_answer: text,
  auth_mode: smallint,
  auth_question: text,
  auto_download: smallint,
  group_confirm: smallint,
  no_push: smallint,
  no_push_detail: smallint,
  no_push_end_hour: smallint,
  no_push_start_hour: smallint,
  no_sounds: smallint,
  push_nick_name: text,
  push_token: text,
  silence_end_time: smallint,
  silence_start_time: smallint,
  stranger_chat: smallint,
  vibratory: smallint,
}

export const userTokensTable = {
  app_id: text,
  token_hash: text,
  user_id: int64,
  /** null = the token is tied to no device. */
  device_sn: nullable(integer),
  created_at: bigint,
  expires_at: bigint,
  revoked_at: nullable(bigint),
  /** 0 of a login, 1 of /token/issue or an exchange. */
  issued: generated(smallint),
}

/** Users of other systems: the user of each subject of an issuer (rule C9). */
export const userIdentitiesTable = {
  app_id: text,
  issuer: text,
  subject: text,
  user_id: int64,
  linked_at: bigint,
}

export const identityIssuersTable = {
  app_id: text,
  issuer: text,
  /** JSON of IssuerSettings in domain/identity/issuers/issuer-model.ts. */
  settings: text,
  /** The secrets as a JSON list, encrypted; '' = none. */
  sealed: text,
  created_at: bigint,
  updated_at: bigint,
}

/** Networks from which users have logged in (rule D2). */
export const loginNetworksTable = {
  app_id: text,
  user_id: int64,
  /** An IPv4 address or an IPv6 /64. */
  network: text,
  /** Time of a login from there; later ones on the same day do not change it. */
  logged_in_at: bigint,
}

export const pushAliasesTable = {
  app_id: text,
  alias: text,
  user_id: int64,
}

export const pushTagsTable = {
  app_id: text,
  user_id: int64,
  tag: text,
}

/** The token that a push gateway gave to a device; a token belongs to the device that bound it last. */
export const pushBindingsTable = {
  app_id: text,
  user_id: int64,
  device_sn: integer,
  /** Name of the certificate. */
  notifier_name: text,
  device_token: text,
  bound_at: bigint,
  /** The end of a pause that the gateway requested; 0 = none. */
  paused_until: generated(bigint),
}

/**
 * A push binding of a device with an ended login: no push reaches it. It becomes a push binding at
 * the next login with the GUID, unless a device has bound the token since (rule D6a).
 */
export const silentPushBindingsTable = {
  app_id: text,
  user_id: int64,
  /** The device may be removed in the meantime, and comes back with another serial number. */
  device_guid: text,
  /** Name of the certificate. */
  notifier_name: text,
  device_token: text,
  bound_at: bigint,
  paused_until: bigint,
  silent_since: bigint,
}

/** Credentials of an app at the gateway of a channel. */
export const pushCertificatesTable = {
  app_id: text,
  certificate_id: int64,
  /** The notifier_name that devices bind with; unique in the app. */
  name: text,
  channel: text,
  /** 0 development, 1 production */
  environment: smallint,
  /** The three public fields of the contract are in clear, the secret ones sealed. */
  gateway_app_id: text,
  app_key: text,
  /** JSON of the secret fields, encrypted by lib/secrets/secret-box.ts. */
  sealed: text,
  /** JSON of the fields that the contract does not have. */
  options: text,
  /** Milliseconds since 1970; null = it does not expire, or its expiry is unknown. */
  expires_at: nullable(bigint),
  /** The time at which a gateway last accepted a push with it, in steps of a minute. 0 = never */
  last_accepted_at: generated(bigint),
  /** JSON: the end of each exhausted quota, by quota. */
  pauses: generated(text),
  created_at: bigint,
  updated_at: bigint,
}

/** A push to many devices: one that an operation requested, or that of a message. */
export const pushTasksTable = {
  app_id: text,
  task_id: int64,
  /** The message that is pushed; 0 = an operation requested the task. */
  msg_id: int64,
  /** '' = none */
  request_id: text,
  /** JSON: audience, channels and notification. */
  content: text,
  /** 0 waiting, 1 expanding, 2 expanded, 3 cancelled */
  state: smallint,
  /** The page of the audience that may be written, from 1, and the batch of its deliveries. */
  page: generated(integer),
  page_batch_id: generated(int64),
  /** Users up to here have their deliveries. */
  position: generated(int64),
  /** Users of the audience when the task began; null = not known yet */
  estimated_users: nullable(bigint),
  /** The number of deliveries, and below it the number of finished ones. */
  devices: generated(integer),
  finished: generated(integer),
  begins_at: bigint,
  expires_at: bigint,
  created_at: bigint,
  updated_at: bigint,
}

/** The counts of a task on one channel, in devices (rule G1). */
export const pushTaskCountsTable = {
  app_id: text,
  task_id: int64,
  channel: text,
  target: integer,
  sent: integer,
  received: integer,
}

/** The progress of a task on one device. */
export const pushDeliveriesTable = {
  app_id: text,
  task_id: int64,
  user_id: int64,
  device_sn: integer,
  /** The deliveries of a batch are sent together. */
  batch_id: int64,
  /** 0 pending, 1 accepted, 2 refused, 3 suppressed, 4 expired, 5 cancelled */
  state: smallint,
  /** '' = none was chosen */
  channel: text,
  /** 0 = none */
  certificate_id: int64,
  /** The hash of its device token, which tells its receipts from those of an earlier token; '' = none. */
  token_hash: text,
  /** The gateway's ID; '' = none yet. */
  message_id: generated(text),
  /** The number of results so far: the version of the row. */
  attempts: generated(integer),
  /** Tries that failed on its present channel. */
  failures: generated(smallint),
  /** Postponements on its present channel. */
  waits: generated(integer),
  /** The time of the next try. */
  next_at: generated(bigint),
  /** The new badge; null = unchanged. */
  badge: nullable(integer),
  is_silent: generated(smallint),
  hides_details: generated(smallint),
  /** The time of the device's first confirmation; null = none. */
  received_at: nullable(bigint),
  /** One JSON text a line: decisions, tries and answers. */
  steps: text,
}

/** One user's record of another; each party of a contact has its own row. */
export const contactsTable = {
  app_id: text,
  user_id: int64,
  peer_id: int64,
  /** 0 contact, 1 former contact, 2 stranger */
  state: smallint,
  is_blocked: generated(smallint),
  /** 1: the peer alone has made the contact (rule E11) */
  is_unasked: generated(smallint),
  alias: text,
  ext: text,
  mute_notification: smallint,
  updated_at: bigint,
}

/** The last contact request of `applicant_id` to `user_id`. */
export const contactRequestsTable = {
  app_id: text,
  user_id: int64,
  applicant_id: int64,
  /** The applicant's name for the user. */
  alias: text,
  reason: text,
  /** 0 waiting, 1 accepted, 2 rejected */
  status: smallint,
  created_at: bigint,
  expires_at: bigint,
  updated_at: bigint,
}

export const pinnedConversationsTable = {
  app_id: text,
  user_id: int64,
  /** The other party, or the group. */
  conversation_id: int64,
  pinned_at: bigint,
}

export const devicesTable = {
  app_id: text,
  user_id: int64,
  /** Counts up per user from 1; never used again. */
  device_sn: integer,
  device_guid: text,
  /** A value of `platform` of the protocol. */
  platform: smallint,
  user_agent: text,
  push_token: text,
  /** An input of the device's file credentials: raising it revokes them. */
  credential_epoch: generated(integer),
  created_at: bigint,
  last_used_at: bigint,
}

/**
 * A conversation is the pair of its parties, the smaller ID first: two users, a user and the system
 * (0), or a user twice. A group is its ID twice, from its creation on. The broadcasts of a sender
 * are a conversation of all users (-1) with the sender.
 */
export const conversationsTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  /** Position of the newest message; dense from 1. */
  seq: bigint,
  /** ID of the newest message; it strictly grows. */
  last_msg_id: bigint,
  created_at: bigint,
  /** 1 = a party is deleted, so no more messages are stored (rule D5). */
  closed: generated(smallint),
  /**
   * Number of edits and recalls. The sum with seq is the change number of the conversation; see
   * message_changes.
   */
  alterations: generated(bigint),
  /** Changes above this number are stored; 0 = all of them. */
  changes_kept_from: generated(bigint),
  /** Messages up to and including this position were removed for their age (rule E14); 0 = none. */
  removed_seq: generated(bigint),
  /** The last removed message; it strictly grows. */
  removed_msg_id: generated(bigint),
  /**
   * The user who is furthest in the conversation: by own messages, and in a group also by reading;
   * 0 = none, or the system as a party.
   */
  furthest_id: generated(int64),
  /** The position of that user. */
  furthest_seq: generated(bigint),
  /** The position of the furthest of all others, which in a direct conversation is the other party. */
  others_seq: generated(bigint),
  /**
   * Position of the newest recalled message; 0 = none. Above a reader's position it makes unread
   * counts read recalled_messages.
   */
  last_recalled_seq: bigint,
  /**
   * Position of the newest notification in a user's name, recalled or not; 0 = none. The same for
   * own_notifications.
   */
  last_notified_seq: generated(bigint),
  /**
   * The most by which the ID of a message was ahead of its time; less than a second counts as 0.
   * Bounds the search for old messages.
   */
  ids_ahead_ms: generated(bigint),
}

/**
 * A user as reader of a conversation: a party except the system, or a member of the group. The row
 * of a reader of broadcasts is inserted when the first of its positions moves: without it nothing
 * is read, and unread broadcasts begin after `broadcasts_after` of the user.
 */
export const readersTable = {
  app_id: text,
  user_id: int64,
  low_id: int64,
  high_id: int64,
  /**
   * 1 = the user is deleted, so no position moves. The row of a party stays, because the other
   * party sees what was read.
   */
  closed: generated(smallint),
  /**
   * The last message before the user became a reader. In a group, this message and earlier ones are
   * visible only with history_visible.
   */
  start_msg_id: generated(bigint),
  /** No message up to this position is unread: all are older than the reader, read, or hidden. */
  seen_seq: generated(bigint),
  /**
   * Everything up to this position is read. Sending moves it in groups; in direct conversations the
   * position of the user's newest message is in {@link conversationsTable}.
   */
  read_seq: generated(bigint),
  /** The last acknowledged position, up to which a group's receipts were sent. Sending never moves it. */
  acked_seq: generated(bigint),
  /** A device of the user has received everything up to and including this position. */
  delivered_seq: generated(bigint),
  /** Everything up to and including this message is hidden from the user (rule E13). */
  hidden_msg_id: generated(bigint),
  /**
   * The end of a group's conversation when msg_mute_mode became 2, after which nothing is unread;
   * null while it is not 2.
   */
  muted_seq: nullable(bigint),
  /** The end of the last gap; a gap affects unread counts only above seen_seq. */
  gaps_end_seq: generated(bigint),
}

/**
 * Notifications in the name of a user, which move no positions: unread to others, but not to that
 * user (rule E5).
 */
export const ownNotificationsTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  user_id: int64,
  seq: bigint,
  msg_id: bigint,
}

export const messagesTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  seq: bigint,
  sender_id: int64,
  sender_device_sn: integer,
  content_type: smallint,
  content: text,
  attachment: text,
  config: text,
  ext: text,
  is_system: smallint,
  /** 0 = never edited */
  edited_at: bigint,
  /** The clock when the message was written (rule E3). */
  sent_at: bigint,
  /** The sender's transaction ID of the send; null = none. */
  transaction_id: nullable(int64),
  /** Fields that have changed since the send, as a JSON object; null = none. */
  fields: nullable(text),
  /** The message of the same conversation that it replies to; null = none. */
  reply_to_id: nullable(bigint),
  reply_to_seq: nullable(bigint),
}

/** Tombstones of recalled messages (rule E7). */
export const recalledMessagesTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  seq: bigint,
  sender_id: int64,
  is_system: smallint,
  recalled_by: int64,
  recalled_at: bigint,
  /** The same as in messages. */
  sent_at: bigint,
}

/**
 * Edits and recalls, in order. Storing a message needs no row: `change - alteration` messages were
 * stored when the row was written, so the numbers without a row belong to messages, in the order of
 * their positions.
 */
export const messageChangesTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  /** The number of the change; dense from 1 over the messages of the conversation and these rows. */
  change: bigint,
  /** The number of the row; dense from 1. */
  alteration: bigint,
  msg_id: bigint,
  /** 0 edited, 1 recalled */
  kind: smallint,
}

/** The reactions of users; their sums are in `fields` of the message. */
export const messageReactionsTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  user_id: int64,
  /** The key as the first user of the message wrote it. */
  reaction: text,
  /** The number of the change that added it. */
  change: bigint,
  reacted_at: bigint,
}

/** The pinned messages of conversations; `fields` of the message says the same. */
export const pinnedMessagesTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  /** 0 = an administrator */
  pinned_by: int64,
  /** Strictly grows with every pin of a conversation. */
  pinned_at: bigint,
}

/**
 * Messages that are written piece by piece, and for a day those that were (rule E19). The key is
 * that of the message.
 */
export const messageStreamsTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  sender_id: int64,
  is_group: smallint,
  /** 0 open, 1 done, 2 failed, 3 cancelled, 4 interrupted, 5 the message is gone */
  state: smallint,
  next_index: bigint,
  /** The length of the text so far, in UTF-16 units. */
  length: bigint,
  /** Bytes of the text so far and of the other texts of the message. */
  bytes: bigint,
  /** The hash of the last chunk; '' = there is none. */
  last_hash: text,
  /** The instant at which all appends were due that came, at the rate of the limit. */
  rate_at: bigint,
  /** 1: a reader asks to end it */
  is_cancelled: generated(smallint),
  started_at: bigint,
  appended_at: bigint,
  /** The instant at which the upkeep looks at it next. */
  due_at: bigint,
}

/** The text of a stream, until it has ended. */
export const streamChunksTable = {
  app_id: text,
  low_id: int64,
  high_id: int64,
  msg_id: bigint,
  /** Dense from 1. */
  chunk_index: bigint,
  sender_id: int64,
  content: text,
}

/** Events for consumers, in the order of the commits; see outbox/. */
export const outboxTable = {
  app_id: text,
  /** Dense from 1, in the order of the commits. */
  position: bigint,
  kind: text,
  /** JSON as in protocol/src/events; of message.stored see domain/messaging/model/message-ranges.ts. */
  payload: text,
  created_at: bigint,
}

/** The last position of each app in the outbox. */
export const outboxHeadsTable = {
  app_id: text,
  position: bigint,
  /** The least message ID of the last append; 0 = it had no messages, or a broadcast came since. */
  first_msg_id: generated(bigint),
  /** The greatest appended message ID; 0 = none. The next broadcast has a greater one (rule E3). */
  last_msg_id: generated(bigint),
  /** The message ID of the last broadcast. The row refuses later messages without a greater ID. */
  last_broadcast_id: generated(bigint),
}

/** The position up to which each consumer has handled the outbox. */
export const outboxPositionsTable = {
  consumer: text,
  app_id: text,
  position: bigint,
}

/** Durable work; see jobs/job-store.ts. */
export const jobsTable = {
  app_id: text,
  job_id: int64,
  kind: text,
  /** One unfinished job of a kind and key; '' = any number. */
  key: generated(text),
  /** JSON */
  payload: text,
  /** The time from which a node may take it; for a taken job the end of its lease. */
  run_at: bigint,
  /** The time from which it is not run any more; null = never */
  deadline_at: nullable(bigint),
  /** The number of runs. */
  attempts: generated(integer),
  /** The run that holds it; '' = none */
  owner: generated(text),
  /** 1: enqueued again while it ran. */
  is_again: generated(smallint),
  /** done, failed or expired; '' = unfinished */
  outcome: generated(text),
  created_at: bigint,
  updated_at: bigint,
}

/** The last alert of each kind. */
export const alertsTable = {
  /** A value of `alertKinds`. */
  kind: text,
  /** What was found last, where the condition is reported and not looked up; '' = nothing */
  finding: generated(text),
  /** Names the last alert; 0 = there was none */
  alert_id: generated(int64),
  text: generated(text),
  raised_at: generated(bigint),
  delivered_at: nullable(bigint),
  attempts: generated(integer),
  error: generated(text),
}

/** Work of operators that takes minutes or hours; see domain/long-jobs/. */
export const longJobsTable = {
  job_id: int64,
  kind: text,
  /** The place among the unfinished jobs of the kind, from 0. */
  slot: integer,
  /** JSON */
  params: text,
  /** A value of `longJobStates`. */
  state: text,
  /** 1: an operator has cancelled it. */
  is_cancelled: generated(smallint),
  /** The number of runs. A run changes the row only while no later one has begun. */
  runs: generated(integer),
  done: generated(bigint),
  /** 0 = not known */
  total: generated(bigint),
  /** What it does at present. */
  text: generated(text),
  /** JSON; '' = none */
  result: generated(text),
  error: generated(text),
  created_at: bigint,
  started_at: nullable(bigint),
  ended_at: nullable(bigint),
}

export const groupsTable = {
  app_id: text,
  group_id: int64,
  /** 0 private, 1 public, 2 chatroom, 3 temporary */
  type: smallint,
  /** 0 normal, 1 dissolved */
  status: generated(smallint),
  name: text,
  avatar: text,
  description: text,
  ext: generated(text),
  owner_id: int64,
  capacity: int64,
  /** Rows of group_members; changed under the lock of this row only. */
  member_count: bigint,
  /**
   * Members with a ban_expires_at other than 0, likewise; it includes bans that have ended and are
   * not cleared yet.
   */
  ban_count: generated(bigint),
  /** Rows of group_blocks, likewise. */
  block_count: generated(bigint),
  /** Rows of group_join_requests, likewise. */
  join_request_count: generated(bigint),
  apply_approval: generated(smallint),
  hide_member_info: generated(smallint),
  history_visible: generated(smallint),
  member_invite: generated(smallint),
  member_modify: generated(smallint),
  read_ack: generated(smallint),
  /** Seconds; 0 = no ban, -1 = permanent. */
  ban_expires_at: generated(bigint),
  created_at: bigint,
  updated_at: bigint,
  members_changed_at: bigint,
  bans_changed_at: generated(bigint),
  blocks_changed_at: generated(bigint),
  /** Grows by one with every change of the group that has an event for its members. */
  version: generated(bigint),
}

/** Members, also those of dissolved groups. */
export const groupMembersTable = {
  app_id: text,
  group_id: int64,
  user_id: int64,
  /** 0 member, 1 admin, 2 owner */
  role: generated(smallint),
  display_name: generated(text),
  /** 0 = no ban, -1 = permanent */
  ban_expires_at: generated(bigint),
  msg_mute_mode: generated(smallint),
  msg_push_mode: generated(smallint),
  joined_at: bigint,
  /**
   * 1: another user or an Admin token put the member into the group; 0: the user joined, or it is
   * not known (rule F4b).
   */
  is_added: generated(smallint),
}

/**
 * Ranges of messages that arrived while msg_mute_mode was 2, with unread messages before them.
 * Ranges do not overlap. Those that end at or below the member's seen_seq have no effect, and are
 * deleted when the mode changes.
 */
export const groupMuteGapsTable = {
  app_id: text,
  group_id: int64,
  user_id: int64,
  /** The last position of the gap. */
  to_seq: bigint,
  /** The last position before it. */
  from_seq: bigint,
}

/** A group's record of a former member. */
export const groupRemovalsTable = {
  app_id: text,
  group_id: int64,
  user_id: int64,
  kicks: integer,
  /** The ban that was in force when the membership ended, as in {@link groupMembersTable}. */
  ban_expires_at: bigint,
}

export const groupBlocksTable = {
  app_id: text,
  group_id: int64,
  user_id: int64,
  created_at: bigint,
}

/** The latest join request of each user to each group. */
export const groupJoinRequestsTable = {
  app_id: text,
  group_id: int64,
  applicant_id: int64,
  reason: text,
  /** 0 pending, 1 agreed, 2 rejected */
  status: smallint,
  created_at: bigint,
  expires_at: bigint,
  updated_at: bigint,
}

/** The latest invitation of each user to each group. */
export const groupInvitationsTable = {
  app_id: text,
  group_id: int64,
  invitee_id: int64,
  inviter_id: int64,
  reason: text,
  /** 0 pending, 1 agreed, 2 rejected */
  status: smallint,
  created_at: bigint,
  expires_at: bigint,
  updated_at: bigint,
}

/** The rows of group_invitations of each invitee who has any. */
export const groupInvitationCountsTable = {
  app_id: text,
  user_id: int64,
  invitations: bigint,
}

export const groupAnnouncementsTable = {
  app_id: text,
  group_id: int64,
  announcement_id: bigint,
  author_id: int64,
  title: text,
  content: text,
  created_at: bigint,
}

export const groupFilesTable = {
  app_id: text,
  group_id: int64,
  file_id: bigint,
  uploader_id: int64,
  name: text,
  /** A decimal number: no column of the embedded database reads back exactly beyond 2^53. */
  size: text,
  type: text,
  url: text,
  created_at: bigint,
  updated_at: bigint,
}

/** A complete file of the blob store; the row is written after the last byte. A file never changes. */
export const filesTable = {
  app_id: text,
  /** 26 random letters and digits; the key in the store and the ETag derive from it. */
  file_id: text,
  /** Distinguishes uploads with the same ticket; part of the key in the store. */
  upload_id: text,
  /** The uploader; 0 = the system */
  owner_id: int64,
  /** 0 of a chat, 1 avatar of a user, 2 avatar of a group */
  purpose: smallint,
  /** file_type of the ticket; 0 = none */
  file_type: smallint,
  /** The receiver on the ticket: 1 user, 2 group; 0 = none */
  to_type: smallint,
  to_id: int64,
  /** The client's name for it; '' = none */
  name: text,
  /** Detected from the content. */
  content_type: text,
  /** Bytes. */
  size: bigint,
  /** CRC-32 of all bytes; null = the client uploaded directly to the store */
  crc32: nullable(bigint),
  created_at: bigint,
  /** The removal that has claimed the file, which hides it; '' = none */
  removal_id: text,
}

/**
 * The count and total size of an app's files. The row is locked last, after every row except the
 * head of the outbox.
 */
export const fileUsageTable = {
  app_id: text,
  files: bigint,
  bytes: bigint,
}

/** References that keep a file; the consumer of events writes them after the messages and profiles. */
export const fileReferencesTable = {
  app_id: text,
  file_id: text,
  /** 0 message, 1 avatar of a user (0: the system), 2 avatar of a group, 3 shared file of a group */
  kind: smallint,
  /** The conversation of a message; else the user or the group, twice. */
  low_id: int64,
  high_id: int64,
  /** The message or the shared file; 0 for an avatar. */
  item_id: int64,
}

/** The files of recalled messages, until the files are removed. */
export const fileWithdrawalsTable = {
  app_id: text,
  file_id: text,
  /** The conversation of the message. */
  low_id: int64,
  high_id: int64,
  msg_id: int64,
  sender_id: int64,
}

/** Leases of backups; while there is one, no blob is removed. */
export const fileHoldsTable = {
  hold_id: text,
  /** By the clock of the database. */
  expires_at: bigint,
}

/** Group messages with requested read receipts (groupMemberList of config). */
export const receiptRequestsTable = {
  app_id: text,
  group_id: int64,
  seq: bigint,
  msg_id: bigint,
  sender_id: int64,
  /** The requested members, as `,1,2,`. */
  member_ids: text,
}

/** The idempotency log of sends (rule E4). */
export const sentTransactionsTable = {
  app_id: text,
  sender_id: int64,
  transaction_id: int64,
  /** JSON array of the message IDs of the first send. */
  msg_ids: text,
  created_at: bigint,
  /** The time from which the same transaction ID makes a new message. */
  expires_at: bigint,
}

/** The IDs that each node may issue, and up to when; see lib/ids/ids.ts. */
export const idSlotsTable = {
  slot: smallint,
  owner: text,
  reserved_until: bigint,
}

/** One row: a text encrypted with the secret key, by which a start verifies the key. */
export const keyChecksTable = {
  /** 1 */
  check_id: smallint,
  sealed: text,
}

/** Losses of events by failovers; an operator acknowledges a row, which deletes it. */
export const lostHistoriesTable = {
  /** The epoch of the lost history. */
  epoch: text,
  app_id: text,
  /** The last row of the outbox that a node had seen. */
  position: bigint,
  /** Its time; 0 = not known */
  time: bigint,
  /** The end of the outbox when the loss was found. */
  head: bigint,
  /** The time of the row that had the position then; null = none had */
  time_now: nullable(bigint),
}

/**
 * The histories of an app in their order: one from its creation, and one from each renewal of the
 * epoch on. A history ends where the next one begins; one that begins there too has no position.
 */
export const historiesTable = {
  app_id: text,
  /** From 1 for each app. */
  number: integer,
  /** The first position of the outbox that was committed under the epoch. */
  from_position: bigint,
  epoch: text,
}

/** One row: names this database and its history. A restored database gets another epoch. */
export const databaseIdentityTable = {
  /** 1 */
  identity_id: integer,
  epoch: text,
  /** The epoch under which the database was made. */
  first_epoch: text,
  /** The oldest schema whose build may use the database. */
  runs_with: integer,
  /** The version of the build that made the schema. */
  version: text,
  /** The channel of messages between nodes, which only readers of this table know. */
  bus_channel: text,
  /** The mark of the folder that has the files; null: none has yet, or they are in S3. */
  files_folder: nullable(text),
  /** The node whose own that folder is; null: nodes share it. */
  files_node: nullable(text),
  /** A value of `serviceStates`. */
  state: generated(text),
  /** What callers read that the state refuses. */
  state_text: generated(text),
  /** 0 = it serves */
  state_since: generated(bigint),
}

/** An unfinished import of an export; no service starts on such a database. */
export const dataImportsTable = {
  /** The hash of the manifest of the export. */
  source: text,
  /** The part that is being written; '' = all parts are. */
  part: text,
  /** The bytes and the lines of the part whose rows are written. */
  bytes: bigint,
  lines: bigint,
  /** JSON list of the imported applications, which an undo removes; '' = all of an installation. */
  apps: text,
}

/**
 * The latest change of each thing of a user that clients read again by the operations: one row per
 * user, kind and thing. It is moved by the statement that appends to the outbox.
 */
export const userChangesTable = {
  app_id: text,
  user_id: int64,
  /** A value of `userChangeKind` of the protocol. */
  kind: smallint,
  /** The peer or the group; 0 = the user's only one of its kind. */
  ref: int64,
  /** The position in the outbox of the app. */
  position: bigint,
}

/** Work that one node at a time runs, and the node that does. */
export const nodeSharesTable = {
  kind: text,
  name: text,
  /** The lease of the node; the work is free when the lease is over. */
  lease: bigint,
}

/** The processes that share the database; the embedded one has none. Times are those of the database. */
export const nodesTable = {
  node_id: text,
  /** The number of its present lease; no other node ever had it. */
  lease: bigint,
  started_at: bigint,
  heartbeat_at: bigint,
  /** The time from which its lease is over; null = it lives */
  ended_at: nullable(bigint),
  /** The version of its build. */
  version: text,
  /** The number of the schema that its build knows. */
  schema: integer,
  /** 1: it is to finish its work and to leave. */
  drain: generated(smallint),
  /** The name of its machine. */
  host: text,
  /** The connections of its pool. */
  pool: integer,
  /** JSON: figures of the seconds before its heartbeat. */
  figures: text,
  /** JSON: the settings that must be equal on all nodes, by name. */
  settings: text,
}

/** Failed logins, as nodes tell them one another; rows of some minutes. */
export const failedLoginsTable = {
  /** HMAC of a user and network, or of a network. */
  key_hash: text,
  /** The node on which they failed. */
  node_id: text,
  failures: integer,
  /** The last one. */
  failed_at: bigint,
}

/** The endpoints that events of an app are sent to. */
export const webhookEndpointsTable = {
  app_id: text,
  endpoint_id: int64,
  url: text,
  description: text,
  /** JSON list of kinds; [] = all. */
  kinds: text,
  /** JSON list of user and group IDs; [] = all. */
  receivers: text,
  /** standard or callback */
  format: text,
  /** The secrets as JSON, encrypted. */
  sealed: text,
  concurrency: integer,
  batch_size: integer,
  timeout_ms: integer,
  /** enabled or disabled */
  state: text,
  /** '' when enabled */
  state_reason: text,
  /** Everything up to it is delivered, waits, or is dead. */
  position: bigint,
  /** The first of the failures in a row; 0 = none. */
  failing_since: bigint,
  last_failure_at: bigint,
  /** Back-offs of an endpoint that is down; 0 = it is not. */
  failures: integer,
  /** The end of the back-off; 0 = none. */
  retry_at: bigint,
  last_success_at: bigint,
  /** A replay of the log that is in progress, as JSON; '' = none. */
  replay: text,
  /** Grows with each change after which the endpoint is opened anew. */
  version: bigint,
  created_at: bigint,
  updated_at: bigint,
}

/** Events of an endpoint that wait for another attempt, or are dead. */
export const webhookEventsTable = {
  app_id: text,
  endpoint_id: int64,
  position: bigint,
  /** The number of the event within its row of the outbox, from 1. */
  place: integer,
  /** 1: no event of the row follows it; the cursor of the event depends on it. */
  is_last: smallint,
  /** The last part of the event's ID: the msg_id of a message; '' = none. */
  name: text,
  event_key: text,
  kind: text,
  /** JSON; of a message its place in the log, since its texts are read at the attempt. */
  payload: text,
  created_at: bigint,
  /** waiting or dead */
  state: text,
  attempts: integer,
  next_at: bigint,
  last_status: integer,
  last_error: text,
}

/** The last requests to an endpoint. */
export const webhookAttemptsTable = {
  app_id: text,
  endpoint_id: int64,
  attempt_id: int64,
  at: bigint,
  event_id: text,
  kind: text,
  event_key: text,
  events: integer,
  attempt: integer,
  outcome: text,
  status: integer,
  duration_ms: integer,
  error: text,
  answer: text,
  next_at: bigint,
}

/** Readers of the log with a stored position. */
export const eventConsumersTable = {
  app_id: text,
  name: text,
  position: bigint,
  /** The number of events of the row after the position that were read. */
  place: integer,
  used_at: bigint,
  created_at: bigint,
}

/** The open sessions of all nodes, and those that have closed a moment ago; PostgreSQL only. */
export const sessionsTable = {
  app_id: text,
  user_id: int64,
  /** null: the session has no device and displaces none. */
  device_sn: nullable(integer),
  node_id: text,
  /** The lease of the node when the row was written. */
  lease: bigint,
  /** Grows with each session of a device, in the order of the commits. */
  session_id: bigint,
  /** 1: of an Admin token; these count apart from those of the user. */
  is_reader: smallint,
  /** Instants by the clock of the database. */
  since: bigint,
  changed_at: bigint,
  /** null = open */
  closed_at: nullable(bigint),
}

/** Erasures of persons, with their certificates; see domain/erasure/. */
export const erasuresTable = {
  app_id: text,
  user_id: int64,
  begun_at: bigint,
  /** A value of `erasureModes`. */
  messages: text,
  /** The words of the operator. */
  reason: text,
  /** JSON: the number of rows of the person by table, when it began. */
  counts: text,
  /** The number of removed files. */
  files: generated(bigint),
  /** 1: the unused bytes of the embedded database were overwritten */
  is_scrubbed: generated(smallint),
  /** null: unfinished */
  finished_at: nullable(bigint),
  /** SHA-256 of the certificate in hex; '' = unfinished */
  digest: generated(text),
}

/** Users and conversations that neither an erasure nor retention may change; see domain/erasure/. */
export const erasureHoldsTable = {
  app_id: text,
  /** The name of the case, which may have several holds. */
  name: text,
  /** A value of `holdKinds`. */
  kind: text,
  /** The key of the conversation; the user, twice. */
  low_id: int64,
  high_id: int64,
  reason: text,
  held_at: bigint,
}

/** Imports from other systems; the rows of finished ones stay. */
export const importsTable = {
  app_id: text,
  /** The name of the import. */
  source: text,
  /** The numbers of imported groups and messages. */
  item_groups: bigint,
  item_messages: bigint,
  started_at: bigint,
  updated_at: bigint,
  /** null: it is unfinished */
  finished_at: nullable(bigint),
  /** Clients that synced before this position of the outbox read their lists anew; 0 = unfinished */
  position: bigint,
}

/** The groups and messages of unfinished imports by their IDs in the other system. */
export const importedItemsTable = {
  app_id: text,
  source: text,
  /** A value of `importedKind`. */
  kind: smallint,
  external_id: text,
  /** The group or the message. */
  item_id: int64,
  low_id: int64,
  high_id: int64,
  /** The position of a message; 0 = a group */
  seq: bigint,
  /** A hash of what makes two messages the same; '' = a group */
  hash: text,
  /** The sender of a message; 0 = a group */
  user_id: int64,
}

/** IDs of imported messages that are taken (lib/ids/ids.ts). */
export const importedMinutesTable = {
  app_id: text,
  /** From the epoch of IDs. */
  minute: bigint,
  /** The number of taken IDs of the minute. */
  used: bigint,
}

/**
 * Every table, with its columns and the names of its primary key in order. Tables come after those
 * that their rows refer to.
 */
export const tables = {
  apps: keyed(appsTable, 'app_id'),
  admin_tokens: keyed(adminTokensTable, 'token_id'),
  operator_tokens: keyed(operatorTokensTable, 'token_hash'),
  users: keyed(usersTable, 'app_id', 'user_id'),
  user_badges: keyed(userBadgesTable, 'app_id', 'user_id'),
  user_counts: keyed(userCountsTable, 'app_id'),
  user_settings: keyed(userSettingsTable, 'app_id', 'user_id'),
  user_tokens: keyed(userTokensTable, 'app_id', 'token_hash'),
  user_identities: keyed(userIdentitiesTable, 'app_id', 'issuer', 'subject'),
  identity_issuers: keyed(identityIssuersTable, 'app_id', 'issuer'),
  login_networks: keyed(loginNetworksTable, 'app_id', 'user_id', 'network'),
  push_aliases: keyed(pushAliasesTable, 'app_id', 'alias'),
  devices: keyed(devicesTable, 'app_id', 'user_id', 'device_sn'),
  push_tags: keyed(pushTagsTable, 'app_id', 'user_id', 'tag'),
  push_bindings: keyed(pushBindingsTable, 'app_id', 'user_id', 'device_sn', 'notifier_name'),
  silent_push_bindings: keyed(
    silentPushBindingsTable,
    'app_id',
    'user_id',
    'device_guid',
    'notifier_name',
  ),
  push_certificates: keyed(pushCertificatesTable, 'app_id', 'certificate_id'),
  push_tasks: keyed(pushTasksTable, 'app_id', 'task_id'),
  push_task_counts: keyed(pushTaskCountsTable, 'app_id', 'task_id', 'channel'),
  push_deliveries: keyed(pushDeliveriesTable, 'app_id', 'task_id', 'user_id', 'device_sn'),
  contacts: keyed(contactsTable, 'app_id', 'user_id', 'peer_id'),
  contact_requests: keyed(contactRequestsTable, 'app_id', 'user_id', 'applicant_id'),
  pinned_conversations: keyed(pinnedConversationsTable, 'app_id', 'user_id', 'conversation_id'),
  conversations: keyed(conversationsTable, 'app_id', 'low_id', 'high_id'),
  readers: keyed(readersTable, 'app_id', 'user_id', 'low_id', 'high_id'),
  messages: keyed(messagesTable, 'app_id', 'low_id', 'high_id', 'msg_id'),
  recalled_messages: keyed(recalledMessagesTable, 'app_id', 'low_id', 'high_id', 'msg_id'),
  own_notifications: keyed(ownNotificationsTable, 'app_id', 'low_id', 'high_id', 'user_id', 'seq'),
  message_changes: keyed(messageChangesTable, 'app_id', 'low_id', 'high_id', 'change'),
  message_reactions: keyed(
    messageReactionsTable,
    'app_id',
    'low_id',
    'high_id',
    'msg_id',
    'user_id',
    'reaction',
  ),
  pinned_messages: keyed(pinnedMessagesTable, 'app_id', 'low_id', 'high_id', 'msg_id'),
  message_streams: keyed(messageStreamsTable, 'app_id', 'low_id', 'high_id', 'msg_id'),
  stream_chunks: keyed(streamChunksTable, 'app_id', 'low_id', 'high_id', 'msg_id', 'chunk_index'),
  outbox: keyed(outboxTable, 'app_id', 'position'),
  outbox_heads: keyed(outboxHeadsTable, 'app_id'),
  outbox_positions: keyed(outboxPositionsTable, 'consumer', 'app_id'),
  jobs: keyed(jobsTable, 'app_id', 'job_id'),
  long_jobs: keyed(longJobsTable, 'job_id'),
  groups: keyed(groupsTable, 'app_id', 'group_id'),
  group_members: keyed(groupMembersTable, 'app_id', 'group_id', 'user_id'),
  group_mute_gaps: keyed(groupMuteGapsTable, 'app_id', 'group_id', 'user_id', 'to_seq'),
  group_removals: keyed(groupRemovalsTable, 'app_id', 'group_id', 'user_id'),
  group_blocks: keyed(groupBlocksTable, 'app_id', 'group_id', 'user_id'),
  group_join_requests: keyed(groupJoinRequestsTable, 'app_id', 'group_id', 'applicant_id'),
  group_invitations: keyed(groupInvitationsTable, 'app_id', 'group_id', 'invitee_id'),
  group_invitation_counts: keyed(groupInvitationCountsTable, 'app_id', 'user_id'),
  group_announcements: keyed(groupAnnouncementsTable, 'app_id', 'group_id', 'announcement_id'),
  group_files: keyed(groupFilesTable, 'app_id', 'group_id', 'file_id'),
  files: keyed(filesTable, 'app_id', 'file_id'),
  file_usage: keyed(fileUsageTable, 'app_id'),
  file_references: keyed(
    fileReferencesTable,
    'app_id',
    'file_id',
    'kind',
    'low_id',
    'high_id',
    'item_id',
  ),
  file_withdrawals: keyed(fileWithdrawalsTable, 'app_id', 'file_id', 'low_id', 'high_id', 'msg_id'),
  file_holds: keyed(fileHoldsTable, 'hold_id'),
  receipt_requests: keyed(receiptRequestsTable, 'app_id', 'group_id', 'seq'),
  sent_transactions: keyed(sentTransactionsTable, 'app_id', 'transaction_id', 'sender_id'),
  id_slots: keyed(idSlotsTable, 'slot'),
  key_checks: keyed(keyChecksTable, 'check_id'),
  database_identity: keyed(databaseIdentityTable, 'identity_id'),
  histories: keyed(historiesTable, 'app_id', 'number'),
  data_imports: keyed(dataImportsTable, 'source'),
  lost_histories: keyed(lostHistoriesTable, 'epoch', 'app_id'),
  webhook_endpoints: keyed(webhookEndpointsTable, 'app_id', 'endpoint_id'),
  webhook_events: keyed(webhookEventsTable, 'app_id', 'endpoint_id', 'position', 'place'),
  webhook_attempts: keyed(webhookAttemptsTable, 'app_id', 'endpoint_id', 'attempt_id'),
  event_consumers: keyed(eventConsumersTable, 'app_id', 'name'),
  user_changes: keyed(userChangesTable, 'app_id', 'user_id', 'kind', 'ref'),
  alerts: keyed(alertsTable, 'kind'),
  erasures: keyed(erasuresTable, 'app_id', 'user_id', 'begun_at'),
  erasure_holds: keyed(erasureHoldsTable, 'app_id', 'name', 'kind', 'low_id', 'high_id'),
  imports: keyed(importsTable, 'app_id', 'source'),
  imported_items: keyed(importedItemsTable, 'app_id', 'source', 'kind', 'external_id'),
  imported_minutes: keyed(importedMinutesTable, 'app_id', 'minute'),
  node_shares: keyed(nodeSharesTable, 'kind', 'name'),
  sessions: keyed(sessionsTable, 'app_id', 'user_id', 'session_id'),
  nodes: keyed(nodesTable, 'node_id'),
  failed_logins: keyed(failedLoginsTable, 'key_hash', 'node_id'),
}

/** The tables as the query builder sees them. */
export type Schema = {
  [Name in keyof typeof tables]: TableOf<(typeof tables)[Name]['columns']>
}
