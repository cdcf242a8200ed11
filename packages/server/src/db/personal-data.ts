/**
 * The effect of an erasure of a person on the columns of all tables, and the exports that have their
 * values. The deletion of users reads it (rule D5). A table or column without an entry does not
 * compile.
 */
import type { Schema } from './schema.js'

/**
 * The exports with the values: `portable` in both, `move` only in one that moves an installation,
 * `derived` in none because the values are made again, `never` in none.
 */
type Transfer = 'portable' | 'move' | 'derived' | 'never'

export interface PersonalColumn {
  /**
   * The effect of an erasure: `delete` removes the row with its person, `anonymise` sets `value`,
   * `keep` keeps the value for `reason`, `none` means that the column is of no person.
   */
  readonly erase: 'delete' | 'anonymise' | 'keep' | 'none'
  readonly transfer: Transfer
  /** The column names the person with whom the row is removed. */
  readonly isOwner?: true
  readonly value?: '' | 0 | null
  readonly reason?: string
  /** The reason for which the deletion of a user leaves the value, unlike an erasure (rule D5). */
  readonly left?: string | undefined
}

/** Returns the entries of columns with a transfer, and with a reason to be left by the deletion of a user. */
function columns<const Left extends string | undefined = undefined>(
  transfer: Transfer,
  left?: Left,
) {
  return {
    none: { erase: 'none', transfer },
    owner: { erase: 'delete', transfer, isOwner: true, left: left as Left },
    delete: { erase: 'delete', transfer, left: left as Left },
    empty: <const Value extends '' | 0 | null>(value: Value) =>
      ({ erase: 'anonymise', transfer, value }) as const,
    keep: (reason: string) => ({ erase: 'keep', transfer, reason }) as const,
  } as const
}

const portable = columns('portable')
const move = columns('move')
const derived = columns('derived')
const never = columns('never')

const message = columns('portable', 'Messages stay for the other parties.')
const reader = columns(
  'portable',
  'The other party sees what was read; all other rows are deleted.',
)
const shared = columns('portable', 'It belongs to the group.')
const file = columns('portable', 'It belongs to the conversation in which it was sent.')
const token = columns('move', 'Revoked tokens say why they ended until they expire.')
const send = columns('move', 'IDs and times, until they expire.')
const pushed = columns('move', 'The audience and the notification, until tasks expire.')
const event = columns('never', 'Without the texts of the user, for three days.')
const job = columns('never', 'IDs, until finished jobs expire.')
const waiting = columns('never', 'Without the texts of the user, until it is delivered.')
const session = columns('never', 'IDs and times, until half a minute after the session has closed.')
const attempt = columns('never', 'The last requests and the answers of receivers.')

/** Every column of every table. */
export const personalData = {
  apps: {
    app_id: portable.none,
    name: portable.none,
    status: portable.none,
    open_registration: portable.none,
    registration_secret: move.none,
    file_link_key: move.none,
    settings: portable.none,
    created_at: portable.none,
  },
  admin_tokens: {
    token_id: move.none,
    app_id: move.none,
    name: move.none,
    token_hash: move.none,
    scopes: move.none,
    created_at: move.none,
    expires_at: move.none,
    revoked_at: move.none,
  },
  operator_tokens: {
    token_hash: move.none,
    created_at: move.none,
  },
  users: {
    app_id: portable.none,
    user_id: portable.keep('The ID stays known as deleted.'),
    username: portable.empty(''),
    username_key: derived.empty(null),
    password_hash: move.empty(''),
    status: portable.empty(0),
    nick_name: portable.empty(''),
    avatar: portable.empty(''),
    description: portable.empty(''),
    public_info: portable.empty(''),
    private_info: portable.empty(''),
    mobile: portable.empty(null),
    mobile_key: derived.empty(null),
    email: portable.empty(null),
    email_key: derived.empty(null),
    last_device_sn: portable.empty(0),
    devices_changed_at: portable.empty(0),
    credential_epoch: move.empty(0),
    created_at: portable.empty(0),
    deleted_at: portable.keep('Tells deleted users from unknown ones.'),
    broadcasts_after: portable.empty(0),
    is_bot: portable.empty(0),
    assertions_after: move.empty(0),
    newest_assertion: move.empty(0),
  },
  user_badges: {
    app_id: portable.none,
    user_id: portable.owner,
    badge: portable.delete,
  },
  user_counts: {
    app_id: portable.none,
    users: derived.none,
    last_broadcast_id: portable.none,
  },
  user_settings: {
    app_id: portable.none,
    user_id: portable.owner,
    auth_answer: portable.delete,
    auth_mode: portable.delete,
    auth_question: portable.delete,
    auto_download: portable.delete,
    group_confirm: portable.delete,
    no_push: portable.delete,
    no_push_detail: portable.delete,
    no_push_end_hour: portable.delete,
    no_push_start_hour: portable.delete,
    no_sounds: portable.delete,
    push_nick_name: portable.delete,
    push_token: move.delete,
    silence_end_time: portable.delete,
    silence_start_time: portable.delete,
    stranger_chat: portable.delete,
    vibratory: portable.delete,
  },
  user_tokens: {
    app_id: move.none,
    token_hash: token.delete,
    user_id: token.owner,
    device_sn: token.delete,
    created_at: token.delete,
    expires_at: token.delete,
    revoked_at: token.delete,
    issued: token.delete,
  },
  user_identities: {
    app_id: portable.none,
    issuer: portable.delete,
    subject: portable.delete,
    user_id: portable.owner,
    linked_at: portable.delete,
  },
  login_networks: {
    app_id: move.none,
    user_id: move.owner,
    network: move.delete,
    logged_in_at: move.delete,
  },
  push_aliases: {
    app_id: portable.none,
    alias: portable.delete,
    user_id: portable.owner,
  },
  devices: {
    app_id: portable.none,
    user_id: portable.owner,
    device_sn: portable.delete,
    device_guid: portable.delete,
    platform: portable.delete,
    user_agent: portable.delete,
    push_token: move.delete,
    credential_epoch: move.delete,
    created_at: portable.delete,
    last_used_at: portable.delete,
  },
  push_tags: {
    app_id: portable.none,
    user_id: portable.owner,
    tag: portable.delete,
  },
  push_bindings: {
    app_id: move.none,
    user_id: move.owner,
    device_sn: move.delete,
    notifier_name: move.delete,
    device_token: move.delete,
    bound_at: move.delete,
    paused_until: move.delete,
  },
  silent_push_bindings: {
    app_id: move.none,
    user_id: move.owner,
    device_guid: move.delete,
    notifier_name: move.delete,
    device_token: move.delete,
    bound_at: move.delete,
    paused_until: move.delete,
    silent_since: move.delete,
  },
  push_certificates: {
    app_id: move.none,
    certificate_id: move.none,
    name: move.none,
    channel: move.none,
    environment: move.none,
    gateway_app_id: move.none,
    app_key: move.none,
    sealed: move.none,
    options: move.none,
    expires_at: move.none,
    last_accepted_at: move.none,
    pauses: move.none,
    created_at: move.none,
    updated_at: move.none,
  },
  push_tasks: {
    app_id: move.none,
    task_id: move.none,
    msg_id: move.none,
    request_id: move.none,
    content: pushed.delete,
    state: move.none,
    page: move.none,
    page_batch_id: move.none,
    position: move.none,
    estimated_users: move.none,
    devices: move.none,
    finished: move.none,
    begins_at: move.none,
    expires_at: move.none,
    created_at: move.none,
    updated_at: move.none,
  },
  push_task_counts: {
    app_id: move.none,
    task_id: move.none,
    channel: move.none,
    target: move.none,
    sent: move.none,
    received: move.none,
  },
  push_deliveries: {
    app_id: move.none,
    task_id: move.none,
    user_id: move.owner,
    device_sn: move.delete,
    batch_id: move.none,
    state: move.delete,
    channel: move.delete,
    certificate_id: move.none,
    token_hash: move.delete,
    message_id: move.delete,
    attempts: move.delete,
    failures: move.delete,
    waits: move.delete,
    next_at: move.delete,
    badge: move.delete,
    is_silent: move.delete,
    hides_details: move.delete,
    received_at: move.delete,
    steps: move.delete,
  },
  contacts: {
    app_id: portable.none,
    user_id: portable.owner,
    peer_id: portable.owner,
    state: portable.delete,
    is_blocked: portable.delete,
    is_unasked: portable.delete,
    alias: portable.delete,
    ext: portable.delete,
    mute_notification: portable.delete,
    updated_at: portable.delete,
  },
  contact_requests: {
    app_id: portable.none,
    user_id: portable.owner,
    applicant_id: portable.owner,
    alias: portable.delete,
    reason: portable.delete,
    status: portable.delete,
    created_at: portable.delete,
    expires_at: portable.delete,
    updated_at: portable.delete,
  },
  pinned_conversations: {
    app_id: portable.none,
    user_id: portable.owner,
    conversation_id: portable.keep('Others keep their pins of the conversation.'),
    pinned_at: portable.delete,
  },
  conversations: {
    app_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    seq: portable.none,
    last_msg_id: portable.none,
    created_at: portable.none,
    closed: portable.none,
    alterations: portable.none,
    changes_kept_from: portable.none,
    removed_seq: portable.none,
    removed_msg_id: portable.none,
    furthest_id: portable.keep('The ID alone.'),
    furthest_seq: portable.keep('The other party sees what was read.'),
    others_seq: portable.keep('The other party sees what was read.'),
    last_recalled_seq: portable.none,
    last_notified_seq: portable.none,
    ids_ahead_ms: portable.none,
  },
  readers: {
    app_id: portable.none,
    user_id: reader.owner,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    closed: portable.none,
    start_msg_id: reader.delete,
    seen_seq: reader.delete,
    read_seq: reader.delete,
    acked_seq: reader.delete,
    delivered_seq: reader.delete,
    hidden_msg_id: reader.delete,
    muted_seq: reader.delete,
    gaps_end_seq: reader.delete,
  },
  messages: {
    app_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    msg_id: portable.none,
    seq: portable.none,
    sender_id: message.owner,
    sender_device_sn: message.delete,
    content_type: message.delete,
    content: message.delete,
    attachment: message.delete,
    config: message.delete,
    ext: message.delete,
    is_system: message.delete,
    edited_at: message.delete,
    sent_at: message.delete,
    transaction_id: message.delete,
  },
  recalled_messages: {
    app_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    msg_id: portable.none,
    seq: portable.none,
    sender_id: portable.keep('A tombstone has IDs and times alone.'),
    is_system: portable.none,
    recalled_by: portable.keep('A tombstone has IDs and times alone.'),
    recalled_at: portable.keep('A tombstone has IDs and times alone.'),
    sent_at: portable.keep('A tombstone has IDs and times alone.'),
  },
  own_notifications: {
    app_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    user_id: message.owner,
    seq: portable.none,
    msg_id: portable.none,
  },
  message_changes: {
    app_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    change: portable.none,
    alteration: portable.none,
    msg_id: portable.none,
    kind: portable.none,
  },
  outbox: {
    app_id: never.none,
    position: never.none,
    kind: never.none,
    payload: event.delete,
    created_at: never.none,
  },
  outbox_heads: {
    app_id: move.none,
    position: move.none,
    first_msg_id: move.none,
    last_msg_id: move.none,
    last_broadcast_id: move.none,
  },
  outbox_positions: {
    consumer: never.none,
    app_id: never.none,
    position: never.none,
  },
  jobs: {
    app_id: never.none,
    job_id: never.none,
    kind: never.none,
    key: job.delete,
    payload: job.delete,
    run_at: never.none,
    deadline_at: never.none,
    attempts: never.none,
    owner: never.none,
    is_again: never.none,
    outcome: never.none,
    created_at: never.none,
    updated_at: never.none,
  },
  groups: {
    app_id: portable.none,
    group_id: portable.none,
    type: portable.none,
    status: portable.none,
    name: portable.keep('It is the group’s, and the author is not recorded.'),
    avatar: portable.keep('It is the group’s, and the author is not recorded.'),
    description: portable.keep('It is the group’s, and the author is not recorded.'),
    ext: portable.keep('It is the group’s, and the author is not recorded.'),
    owner_id: portable.keep('The ID alone, in a dissolved group; others have a new owner.'),
    capacity: portable.none,
    member_count: derived.none,
    ban_count: derived.none,
    block_count: derived.none,
    join_request_count: derived.none,
    apply_approval: portable.none,
    hide_member_info: portable.none,
    history_visible: portable.none,
    member_invite: portable.none,
    member_modify: portable.none,
    read_ack: portable.none,
    ban_expires_at: portable.none,
    created_at: portable.none,
    updated_at: portable.none,
    members_changed_at: portable.none,
    bans_changed_at: portable.none,
    blocks_changed_at: portable.none,
    version: portable.none,
  },
  group_members: {
    app_id: portable.none,
    group_id: portable.none,
    user_id: portable.owner,
    role: portable.delete,
    display_name: portable.delete,
    ban_expires_at: portable.delete,
    msg_mute_mode: portable.delete,
    msg_push_mode: portable.delete,
    joined_at: portable.delete,
    is_added: portable.delete,
  },
  group_mute_gaps: {
    app_id: portable.none,
    group_id: portable.none,
    user_id: portable.owner,
    to_seq: portable.delete,
    from_seq: portable.delete,
  },
  group_removals: {
    app_id: portable.none,
    group_id: portable.none,
    user_id: portable.owner,
    kicks: portable.delete,
    ban_expires_at: portable.delete,
  },
  group_blocks: {
    app_id: portable.none,
    group_id: portable.none,
    user_id: portable.owner,
    created_at: portable.delete,
  },
  group_join_requests: {
    app_id: portable.none,
    group_id: portable.none,
    applicant_id: portable.owner,
    reason: portable.delete,
    status: portable.delete,
    created_at: portable.delete,
    expires_at: portable.delete,
    updated_at: portable.delete,
  },
  group_invitations: {
    app_id: portable.none,
    group_id: portable.none,
    invitee_id: portable.owner,
    inviter_id: portable.owner,
    reason: portable.delete,
    status: portable.delete,
    created_at: portable.delete,
    expires_at: portable.delete,
    updated_at: portable.delete,
  },
  group_invitation_counts: {
    app_id: derived.none,
    user_id: derived.owner,
    invitations: derived.delete,
  },
  group_announcements: {
    app_id: portable.none,
    group_id: portable.none,
    announcement_id: portable.none,
    author_id: shared.owner,
    title: shared.delete,
    content: shared.delete,
    created_at: shared.delete,
  },
  group_files: {
    app_id: portable.none,
    group_id: portable.none,
    file_id: portable.none,
    uploader_id: shared.owner,
    name: shared.delete,
    size: shared.delete,
    type: shared.delete,
    url: shared.delete,
    created_at: shared.delete,
    updated_at: shared.delete,
  },
  files: {
    app_id: portable.none,
    file_id: portable.none,
    upload_id: portable.none,
    owner_id: file.owner,
    purpose: file.delete,
    file_type: file.delete,
    to_type: file.delete,
    to_id: file.delete,
    name: file.delete,
    content_type: file.delete,
    size: file.delete,
    crc32: file.delete,
    created_at: file.delete,
    removal_id: never.none,
  },
  file_usage: {
    app_id: derived.none,
    files: derived.none,
    bytes: derived.none,
  },
  file_references: {
    app_id: derived.none,
    file_id: derived.none,
    kind: derived.none,
    low_id: derived.keep('The key of a conversation, or the ID alone.'),
    high_id: derived.keep('The key of a conversation, or the ID alone.'),
    item_id: derived.none,
  },
  file_withdrawals: {
    app_id: portable.none,
    file_id: portable.none,
    low_id: portable.keep('The key of a conversation.'),
    high_id: portable.keep('The key of a conversation.'),
    msg_id: portable.none,
    sender_id: portable.keep('A tombstone has IDs and times alone.'),
  },
  receipt_requests: {
    app_id: portable.none,
    group_id: portable.none,
    seq: portable.none,
    msg_id: portable.none,
    sender_id: message.owner,
    member_ids: portable.keep('IDs of members who were asked for a receipt.'),
  },
  sent_transactions: {
    app_id: move.none,
    sender_id: send.owner,
    transaction_id: send.delete,
    msg_ids: send.delete,
    created_at: send.delete,
    expires_at: send.delete,
  },
  id_slots: {
    slot: never.none,
    owner: never.none,
    reserved_until: never.none,
  },
  key_checks: {
    check_id: derived.none,
    sealed: derived.none,
  },
  database_identity: {
    identity_id: move.none,
    epoch: move.none,
  },
  identity_issuers: {
    app_id: move.none,
    issuer: move.none,
    settings: move.none,
    sealed: move.none,
    created_at: move.none,
    updated_at: move.none,
  },
  webhook_endpoints: {
    app_id: move.none,
    endpoint_id: move.none,
    url: move.none,
    description: move.none,
    kinds: move.none,
    receivers: move.keep('IDs that the operator of the app chose.'),
    format: move.none,
    sealed: move.none,
    concurrency: move.none,
    batch_size: move.none,
    timeout_ms: move.none,
    state: move.none,
    state_reason: move.none,
    position: move.none,
    failing_since: move.none,
    last_failure_at: move.none,
    failures: move.none,
    retry_at: move.none,
    last_success_at: move.none,
    replay: never.none,
    version: move.none,
    created_at: move.none,
    updated_at: move.none,
  },
  webhook_events: {
    app_id: never.none,
    endpoint_id: never.none,
    position: never.none,
    place: never.none,
    is_last: never.none,
    name: never.none,
    event_key: waiting.delete,
    kind: never.none,
    payload: waiting.delete,
    created_at: never.none,
    state: never.none,
    attempts: never.none,
    next_at: never.none,
    last_status: never.none,
    last_error: waiting.delete,
  },
  webhook_attempts: {
    app_id: never.none,
    endpoint_id: never.none,
    attempt_id: never.none,
    at: never.none,
    event_id: never.none,
    kind: never.none,
    event_key: attempt.delete,
    events: never.none,
    attempt: never.none,
    outcome: never.none,
    status: never.none,
    duration_ms: never.none,
    error: attempt.delete,
    answer: attempt.delete,
    next_at: never.none,
  },
  event_consumers: {
    app_id: move.none,
    name: move.none,
    position: move.none,
    place: move.none,
    used_at: move.none,
    created_at: move.none,
  },
  user_changes: {
    app_id: move.none,
    user_id: move.owner,
    kind: move.delete,
    ref: move.keep('The ID alone, in what others read again.'),
    position: move.delete,
  },
  leases: {
    name: never.none,
    owner: never.none,
    expires_at: never.none,
  },
  sessions: {
    app_id: never.none,
    user_id: session.owner,
    device_sn: session.delete,
    node_id: never.none,
    lease: never.none,
    session_id: never.none,
    is_reader: never.none,
    since: session.delete,
    changed_at: session.delete,
    closed_at: session.delete,
  },
} as const satisfies {
  readonly [Table in keyof Schema]: {
    readonly [Column in keyof Required<Schema[Table]>]: PersonalColumn
  }
}

type PersonalData = typeof personalData

/** A table with rows that are deleted with their user. */
export type ErasedTable = {
  [Table in keyof PersonalData]: Extract<
    PersonalData[Table][keyof PersonalData[Table]],
    { readonly isOwner: true; readonly left: undefined }
  > extends never
    ? never
    : Table
}[keyof PersonalData]

/** The values of a user after an erasure. */
type EmptyUser = {
  [Column in keyof PersonalData['users'] as PersonalData['users'][Column] extends {
    readonly erase: 'anonymise'
  }
    ? Column
    : never]: Extract<PersonalData['users'][Column], { readonly erase: 'anonymise' }>['value']
}

/** Values of a user before any field is set, and after an erasure. */
export const emptyUser = Object.fromEntries(
  Object.entries(personalData.users).flatMap(([column, entry]) =>
    entry.erase === 'anonymise' ? [[column, entry.value]] : [],
  ),
) as EmptyUser
