/**
 * The error catalogue. The numbers up to 40003 of families 1xxxx, 2xxxx and 4xxxx are those known
 * to clients of this API family (rule A3). Other conditions have the next free number of their
 * family. A code is never reused or renumbered.
 */

/** One condition that a caller can meet. */
export interface ErrorEntry {
  readonly code: number
  /**
   * The HTTP class of the failure. Sent only where `always` says so, or with
   * HERMOD_HTTP_STATUS=mirror (rules A1, A2).
   */
  readonly http: number
  /** The failure never answers an operation, so its HTTP status is always real (rule A2). */
  readonly always: boolean
  /** The unchanged call may succeed later. */
  readonly retryable: boolean
  /** `message` of the envelope; details may follow it. */
  readonly text: string
  /** Meaning for the caller. */
  readonly meaning: string
}

function entry(
  code: number,
  http: number,
  text: string,
  meaning: string,
  options: { always?: boolean; retryable?: boolean } = {},
): ErrorEntry {
  return {
    code,
    http,
    always: options.always ?? false,
    retryable: options.retryable ?? false,
    text,
    meaning,
  }
}

/**
 * Every condition by name (rule A3). Numbers and texts are contract: clients compare both (rule
 * A5).
 */
export const errorCatalogue = {
  token_expired: entry(
    402,
    401,
    'access-token expired or revoked',
    'The login is no longer valid; log in again.',
  ),

  user_not_found: entry(10000, 404, 'user does not exist', 'No user has this ID, name or address.'),
  wrong_verification_code: entry(
    10001,
    403,
    'wrong verification code',
    'The verification code does not match.',
  ),
  invalid_parameter: entry(
    10002,
    400,
    'invalid request parameter',
    'The message names every invalid parameter and what it must be.',
  ),
  token_missing: entry(
    10003,
    401,
    'access-token is missing',
    'The operation needs a token in the access-token header.',
  ),
  user_exists: entry(
    10004,
    409,
    'user already exists',
    'The username is taken; logging in with it is possible.',
  ),
  already_contact: entry(
    10005,
    409,
    'already in the contact list',
    'The user is already a contact.',
  ),
  in_block_list: entry(
    10006,
    403,
    'in the block list',
    'One of the two users has blocked the other.',
  ),
  contact_request_not_found: entry(
    10007,
    404,
    'contact application does not exist or has expired',
    'There is no open request to answer.',
  ),
  token_invalid: entry(
    10008,
    401,
    'access-token is invalid',
    'The token is malformed, unknown or belongs to another application.',
  ),
  object_storage_failed: entry(
    10009,
    502,
    'object storage failed',
    'The file store failed or did not answer.',
    { retryable: true },
  ),
  no_permission: entry(
    10010,
    403,
    'no permission',
    'The token does not allow this call, or not for this user or group, or an Admin token lacks a scope.',
  ),
  user_already_bound: entry(
    10011,
    409,
    'user is already bound',
    'The user is already bound to something else.',
  ),
  contact_requests_refused: entry(
    10012,
    403,
    'user refuses contact applications',
    'The user accepts no contact requests.',
  ),
  password_incorrect: entry(10013, 403, 'password is incorrect', 'The password does not match.'),
  user_disabled: entry(
    10014,
    403,
    'user is disabled',
    'The user can neither log in nor send until enabled again.',
  ),
  mobile_taken: entry(
    10015,
    409,
    'mobile number is taken',
    'Another user of the application has this mobile number.',
  ),
  email_taken: entry(
    10016,
    409,
    'e-mail address is taken',
    'Another user of the application has this e-mail address.',
  ),
  device_not_found: entry(
    10017,
    404,
    'device does not exist',
    'The user has no device with this serial number.',
  ),
  wrong_auth_answer: entry(
    10018,
    403,
    'wrong answer to the verification question',
    'The answer does not match that of the user.',
  ),
  not_contact: entry(
    10019,
    404,
    'not in the contact list',
    'The user is not a contact of the caller.',
  ),
  registration_signature_invalid: entry(
    10020,
    403,
    'sign is invalid',
    'The registration signature is not the one that the secret of the application gives.',
  ),
  user_deleted: entry(
    10021,
    410,
    'user has been deregistered',
    'The user existed and was deleted.',
  ),
  contact_limit_reached: entry(
    10022,
    409,
    'contact list is full',
    'The contact list of one of the two users has reached its maximum.',
  ),
  assertion_refused: entry(
    10023,
    401,
    'assertion was refused',
    'The log of the service, its metric and `hermod identity test` have the reason.',
  ),
  identity_not_found: entry(
    10024,
    404,
    'identity is not linked to the user',
    'The user has no identity with this issuer and subject.',
  ),
  identity_limit_reached: entry(
    10025,
    409,
    'user has too many identities',
    'A user has at most 10 identities.',
  ),
  last_identity: entry(
    10026,
    409,
    'identity is the only one of a user without a password',
    'Without it the user could not log in; link another one or set a password first.',
  ),
  issuer_not_found: entry(
    10027,
    404,
    'issuer does not exist',
    'The application has no such issuer of assertions.',
  ),
  issuer_limit_reached: entry(
    10028,
    409,
    'application has too many issuers',
    'An application has at most 10 issuers of assertions.',
  ),
  issuer_exists: entry(
    10029,
    409,
    'new issuer exists already',
    'The application has an issuer or identities of this name.',
  ),
  username_taken: entry(
    11011,
    409,
    'username is taken',
    'Another user of the application has this username.',
  ),

  push_image_upload_failed: entry(
    12001,
    502,
    'push image could not be uploaded',
    'A handset vendor refused the push image.',
  ),
  push_image_too_large: entry(
    12002,
    400,
    'push image must be smaller than 1 MB',
    'The image behind attachment_url is too large.',
  ),
  push_image_upload_rejected: entry(
    12003,
    502,
    'push image was rejected',
    'A handset vendor rejected the push image.',
  ),
  push_image_unreachable: entry(
    12004,
    400,
    'push image cannot be fetched',
    'The image behind attachment_url cannot be read.',
  ),
  audience_too_long: entry(
    12005,
    400,
    'audience list holds more than 500 items',
    'Split the audience into several tasks. The message names all other invalid parameters too.',
  ),
  push_not_enabled: entry(
    12006,
    403,
    'push is not enabled for the application',
    'The operator has to enable push first.',
  ),
  push_certificate_not_found: entry(
    12007,
    404,
    'push certificate does not exist',
    'No certificate is set for this provider and environment.',
  ),
  push_alias_taken: entry(
    12008,
    409,
    'push alias is bound to another user',
    'An alias belongs to one user at a time.',
  ),
  push_token_mismatch: entry(
    12009,
    403,
    'push alias and push token do not match',
    'The push token belongs to another user.',
  ),
  push_tag_limit_reached: entry(
    12010,
    409,
    'user has too many tags',
    'A user has at most 100 tags.',
  ),
  push_task_not_found: entry(12011, 404, 'push task does not exist', 'No push task has this ID.'),

  message_not_found: entry(
    13000,
    404,
    'message does not exist',
    'The conversation holds no such message that the caller may see.',
  ),
  conversation_not_found: entry(
    13001,
    404,
    'conversation does not exist',
    'The caller has no such conversation.',
  ),
  recall_too_late: entry(
    13002,
    403,
    'exceed recall time limit',
    'The message is too old to be recalled.',
  ),
  recall_disabled: entry(
    13003,
    403,
    'recall is disabled',
    'The application does not allow recalls.',
  ),
  blocked_by_recipient: entry(
    13004,
    403,
    'you have been blocked by the recipient',
    'The recipient has blocked the sender.',
  ),
  stranger_refused: entry(
    13005,
    403,
    'your relation with target does not allow chat',
    'The recipient accepts no messages from strangers.',
  ),
  message_censored: entry(
    13006,
    403,
    'antispam: the content was refused',
    'A rule of the application refused the content. No such rule exists yet, so no operation answers this code.',
  ),
  message_too_large: entry(
    13007,
    400,
    'message is too large',
    'content, attachment, ext and config together exceed the limit.',
  ),
  member_banned: entry(
    13008,
    403,
    'member is banned in the group',
    'The sender may not send to the group until the ban ends.',
  ),
  message_type_refused: entry(
    13009,
    400,
    'operation not allowed for this message type',
    'Messages of this type cannot be changed in this way.',
  ),
  pin_limit_reached: entry(
    13010,
    409,
    'too many pinned conversations',
    'A user pins at most 1000 conversations.',
  ),
  reply_unavailable: entry(
    13011,
    404,
    'reply target is not available',
    'The conversation has no such message, or the sender may not see it.',
  ),
  stream_refused: entry(
    13012,
    409,
    'stream index or state',
    'The message is not being written, or another index is next; the answer has next_index and state.',
  ),
  reaction_or_pin_limit_reached: entry(
    13013,
    409,
    'too many reactions or pinned messages',
    'A message has at most 50 different reactions and 20 of one user, a conversation at most 50 pinned messages.',
  ),
  edited_meanwhile: entry(
    13014,
    409,
    'message was edited meanwhile',
    'The message has another edit_timestamp than the edit names.',
  ),

  file_signature_invalid: entry(
    14000,
    403,
    'file signature is invalid',
    'The file link was changed, is incomplete, has expired, or was ended by the operator.',
  ),
  file_not_found: entry(14001, 404, 'file does not exist', 'No file is behind this link or name.'),
  file_type_invalid: entry(
    14002,
    400,
    'file type is invalid',
    'The file type is unknown or not allowed.',
  ),
  file_too_large: entry(
    14003,
    413,
    'file is too large',
    'The file exceeds the limit of the application.',
  ),
  upload_form_invalid: entry(
    14004,
    400,
    'upload form is invalid',
    'The body is no multipart/form-data of a few short fields and, after them, one file.',
  ),
  file_missing: entry(
    14005,
    400,
    'upload has no file',
    'The form has no field named file, or nothing is in it.',
  ),
  file_name_invalid: entry(
    14006,
    400,
    'file name is invalid',
    'The name of the file is longer than 255 characters, or has control characters or bytes that are no UTF-8.',
  ),
  file_quota_reached: entry(
    14007,
    413,
    'file quota is reached',
    'The files of the application have the size that its operator allows.',
  ),
  upload_ticket_invalid: entry(
    14008,
    403,
    'upload ticket is invalid',
    'The ticket was changed, is incomplete or has expired, or the logins of its user were ended; ask for another one.',
  ),
  upload_ticket_used: entry(
    14009,
    409,
    'upload ticket was used',
    'A file was uploaded with this ticket; a ticket is for one file.',
  ),
  rendition_unavailable: entry(
    14010,
    400,
    'file has no such form',
    'The file is no picture that can be made smaller, or no voice that can be made mp3.',
  ),
  picture_too_complex: entry(
    14011,
    413,
    'file is too complex',
    'The picture has more pixels, frames or scans than are decoded, the voice more seconds than are converted, or the conversion took too much time or memory; the original can be downloaded.',
  ),
  voice_conversion_unavailable: entry(
    14012,
    501,
    'voice conversion is not available',
    'The service has no ffmpeg; the voice can be downloaded as amr.',
  ),
  file_storage_full: entry(
    14013,
    503,
    'file storage is full',
    'There is no room for more files until the operator makes some; the disk keeps free space for the database.',
    { always: true, retryable: true },
  ),
  files_on_other_node: entry(
    14014,
    503,
    'files are on another node',
    'The files are in a folder that this node of the service does not have; the operator has to give all nodes a common store.',
    { always: true, retryable: true },
  ),

  storage_failed: entry(
    20000,
    503,
    'server database failure',
    'The database did not confirm the change. Repeat the call after Retry-After; a send with the same transaction_id is stored once.',
    {
      always: true,
      retryable: true,
    },
  ),
  group_not_found: entry(
    20001,
    404,
    'group does not exist',
    'No group has this ID, or it was dissolved.',
  ),
  not_group_member: entry(
    20002,
    403,
    'user is not a member of the group',
    'Only members may do this; for a list, the user named is not a member.',
  ),
  push_mode_out_of_range: entry(
    20003,
    400,
    'msg_push_mode is out of range',
    'msg_push_mode is 0 to 4.',
  ),
  owner_cannot_leave: entry(
    20004,
    403,
    'the owner cannot leave the group',
    'Transfer or dissolve the group first.',
  ),
  new_owner_not_member: entry(
    20005,
    403,
    'the new owner is not a member of the group',
    'A group can be transferred to a member only.',
  ),
  group_under_repair: entry(20006, 503, 'group is under repair', 'Try again later.', {
    retryable: true,
  }),
  app_group_limit_reached: entry(
    20007,
    403,
    'application has too many groups',
    'The application has reached its maximum number of groups.',
  ),
  created_group_limit_reached: entry(
    20008,
    403,
    'user has created too many groups',
    'The user owns the maximum number of groups.',
  ),
  joined_group_limit_reached: entry(
    20009,
    403,
    'user has joined too many groups',
    'The user is in the maximum number of groups.',
  ),
  group_full: entry(20010, 403, 'group is full', 'The group has reached its capacity.'),
  member_required: entry(20011, 403, 'member permission needed', 'Only members may do this.'),
  group_admin_required: entry(
    20012,
    403,
    'admin permission needed',
    'Only admins and the owner may do this.',
  ),
  group_owner_required: entry(20013, 403, 'owner permission needed', 'Only the owner may do this.'),
  join_request_not_open: entry(
    20014,
    409,
    'membership application has expired or was handled',
    'There is no open request to answer.',
  ),
  group_invitation_not_open: entry(
    20015,
    409,
    'invitation has expired or was handled',
    'There is no open invitation to answer.',
  ),
  kicked_too_often: entry(
    20016,
    403,
    'user was kicked too often and cannot join',
    'An admin has to add the user.',
  ),
  already_group_member: entry(
    20017,
    409,
    'user is already a member of the group',
    'Nothing to do.',
  ),
  in_group_block_list: entry(
    20018,
    403,
    'user is on the block list of the group',
    'An admin has to unblock the user first.',
  ),
  join_requests_closed: entry(
    20019,
    403,
    'group takes no membership applications',
    'apply_approval is 2.',
  ),
  announcement_not_found: entry(
    20020,
    404,
    'announcement does not exist',
    'The group has no such announcement.',
  ),
  announcements_disabled: entry(
    20021,
    403,
    'announcements are disabled',
    'An administrator disabled announcements.',
  ),
  shared_file_not_found: entry(
    20022,
    404,
    'shared file does not exist',
    'The group has no such file.',
  ),
  shared_file_forbidden: entry(
    20023,
    403,
    'no permission for the shared file',
    'Only the uploader, admins and the owner may change a file.',
  ),
  qr_code_invalid: entry(
    20024,
    400,
    'group QR code is invalid',
    'The text was not made by this service.',
  ),
  qr_code_expired: entry(20025, 403, 'group QR code has expired', 'Ask for a new one.'),
  capacity_invalid: entry(
    20026,
    400,
    'capacity is below the member count or above the maximum',
    'Choose a capacity within these bounds.',
  ),
  shared_file_limit_reached: entry(
    20027,
    403,
    'group has too many shared files',
    'Delete shared files first.',
  ),
  admin_limit_reached: entry(
    20028,
    403,
    'group has too many admins',
    'A group has at most 500 admins.',
  ),

  webhook_not_found: entry(
    15000,
    404,
    'webhook does not exist',
    'The application has no such endpoint.',
  ),
  webhook_limit_reached: entry(
    15001,
    409,
    'too many webhooks',
    'An application has at most 20 endpoints.',
  ),
  webhook_replay_gone: entry(
    15002,
    410,
    'events are gone',
    'The log does not hold the first of the events any more.',
  ),
  event_cursor_invalid: entry(
    15003,
    400,
    'cursor is not valid',
    'The cursor is of another application or database, is after the place up to which a backup was restored, or is no cursor.',
  ),
  event_consumer_not_found: entry(
    15004,
    404,
    'consumer does not exist',
    'The application has no consumer of this name.',
  ),
  event_consumer_limit_reached: entry(
    15005,
    409,
    'too many consumers',
    'An application has at most 20 consumers of the log.',
  ),
  too_many_event_readers: entry(
    15006,
    429,
    'too many readers of events',
    'At most 10 calls of an application wait for events at the same time; 2 calls read, and 20 wait for their turn.',
    { retryable: true },
  ),

  app_not_found: entry(
    40000,
    404,
    'app_id does not exist',
    'The app_id header names no application of this service.',
  ),
  registration_closed: entry(
    40001,
    403,
    'application does not allow open registration',
    'Register users with an Admin token.',
  ),
  user_limit_reached: entry(
    40002,
    403,
    'application reached its user limit',
    'The application has reached its maximum number of users.',
  ),
  app_inactive: entry(
    40003,
    403,
    'application is not in a normal state',
    'The operator has disabled the application.',
  ),
  app_exists: entry(40004, 409, 'app_id is taken', 'Another application has this app_id.'),
  token_not_found: entry(40005, 404, 'token does not exist', 'No Admin token has this ID.'),
  node_not_found: entry(40006, 404, 'node does not exist', 'No node of the service has this ID.'),
  node_lives: entry(40007, 409, 'node lives', 'Only a dead node can be removed; drain it first.'),
  other_nodes_live: entry(
    40008,
    409,
    'other nodes live',
    'The key in a data folder can be changed only while no other node lives. Give all nodes the key in HERMOD_SECRET_KEY instead.',
  ),
  job_not_found: entry(
    40009,
    404,
    'job does not exist',
    'No job has this ID. Jobs are kept for 30 days after their end.',
  ),
  backup_refused: entry(40019, 409, 'backup is refused', 'The message says why, and what to do.'),
  restore_unfinished: entry(
    40012,
    409,
    'the restore is unfinished',
    'The data is that of a backup; finish the restore first.',
  ),
  alerts_unset: entry(
    40013,
    409,
    'alerts have no receiver: set HERMOD_ALERT_URL and HERMOD_ALERT_SECRET, and start the service again',
    'Set HERMOD_ALERT_URL and HERMOD_ALERT_SECRET, and start the service again.',
  ),
  too_many_jobs: entry(
    40011,
    409,
    'such a job is unfinished',
    'Wait for the end of the job of this kind, or cancel it.',
  ),
  erasure_held: entry(
    40015,
    409,
    'a hold forbids the erasure',
    'The message names the hold of the user, or of a conversation of the user. Release it first.',
  ),
  erasure_unfinished: entry(
    40016,
    409,
    'another erasure of the user is unfinished',
    'An erasure of the user with another mode of messages has begun and not ended. Order that one again first.',
  ),
  hold_not_found: entry(
    40017,
    404,
    'hold does not exist',
    'The application has no hold of this name.',
  ),
  not_restored: entry(
    40018,
    409,
    'the data is not that of a backup, or the restore is finished already',
    'The service runs on its own data, or the restore is finished.',
  ),
  import_not_found: entry(
    40020,
    404,
    'import does not exist',
    'The application has no import with this source.',
  ),
  import_finished: entry(
    40021,
    409,
    'the import is finished',
    'Its external IDs are forgotten, so a repeat would store everything again. Give another import another source, such as stream-2.',
  ),
  import_order: entry(
    40022,
    409,
    'the conversation has a later message',
    'Messages of a conversation are imported by ascending created_at, the oldest first.',
  ),
  import_after_live: entry(
    40023,
    409,
    'the conversation has messages that were sent live',
    'History comes before the first live message of a conversation.',
  ),
  import_conflict: entry(
    40024,
    409,
    'the external_id has another content',
    'A message with this external_id and another sender, conversation, time or text was imported before, or is in the same call.',
  ),

  origin_refused: entry(
    40300,
    403,
    'origin is not allowed',
    'The service takes no connections from pages of this web origin.',
  ),
  malformed_request: entry(40010, 400, 'malformed HTTP request', 'The request is not valid HTTP.', {
    always: true,
  }),
  path_not_found: entry(40400, 404, 'unknown path', 'No operation has this path.', {
    always: true,
  }),
  operation_unknown: entry(40401, 404, 'unknown operation', 'No operation has this name.'),
  method_not_accepted: entry(
    40500,
    405,
    'method not accepted',
    'The Allow header lists the accepted methods.',
    { always: true },
  ),
  body_too_large: entry(
    41300,
    413,
    'request body is too large',
    'The message names the most bytes of a body, which differ by operation: 8 KiB to 1 MiB.',
    {
      always: true,
    },
  ),
  upgrade_required: entry(
    42600,
    426,
    'WebSocket upgrade is required',
    'The address takes WebSocket connections only.',
  ),
  too_many_requests: entry(
    42900,
    429,
    'too many requests',
    'Wait for the seconds in Retry-After.',
    { retryable: true },
  ),
  address_limited: entry(
    42901,
    429,
    'too many requests from this address',
    'Wait for the seconds in Retry-After.',
    {
      always: true,
      retryable: true,
    },
  ),

  session_limit_reached: entry(
    42902,
    429,
    'user has too many open sessions',
    'Close a connection of the user first.',
  ),

  internal_error: entry(
    50000,
    500,
    'internal error',
    'An unexpected error of the service; its log has the details under the request ID.',
    { always: true },
  ),
  transfer_coding_unknown: entry(
    50101,
    501,
    'transfer coding is not known',
    'A body comes whole or in chunks (transfer-encoding: chunked), and in no other coding.',
    { always: true },
  ),
  not_built: entry(
    50100,
    501,
    'operation is not available yet',
    'This version of the service does not offer the operation.',
  ),
  http_needed: entry(
    50102,
    501,
    'operation is available over HTTP only',
    'This connection does not carry the operation; call it over HTTP.',
  ),
  socket_needed: entry(
    50103,
    501,
    'operation is available over the socket only',
    'The operation belongs to a session of the gateway; call it over the WebSocket at /gateway.',
  ),
  unavailable: entry(
    50300,
    503,
    'service is not available',
    'The service is starting, shutting down or overloaded.',
    {
      always: true,
      retryable: true,
    },
  ),
} as const satisfies Record<string, ErrorEntry>

/** The name of a condition in code; the wire carries its number. */
export type ErrorName = keyof typeof errorCatalogue

/** A failure that the API's caller sees, as an envelope on every transport. */
export class AppError extends Error {
  readonly entry: ErrorEntry

  /**
   * @param errorName entry of the catalogue
   * @param detail follows the catalogue's text after a colon; shown to the caller, so never a
   * secret or an internal fact
   * @param options.retryAfterSeconds sent as Retry-After
   * @param options.members stand beside `data`, as failureMembers says
   */
  constructor(
    readonly errorName: ErrorName,
    detail?: string,
    readonly options: {
      readonly cause?: unknown
      readonly retryAfterSeconds?: number
      readonly members?: Readonly<Record<string, unknown>>
    } = {},
  ) {
    // A refusal is an ordinary answer. Collecting its stack (V8) would cost more than the rest of
    // the call. A cause keeps its own stack.
    const limited = Error as object as { stackTraceLimit?: number | undefined }
    const { stackTraceLimit } = limited
    limited.stackTraceLimit = 0
    super(
      detail === undefined
        ? errorCatalogue[errorName].text
        : `${errorCatalogue[errorName].text}: ${detail}`,
      { cause: options.cause },
    )
    limited.stackTraceLimit = stackTraceLimit
    this.name = 'AppError'
    this.entry = errorCatalogue[errorName]
  }
}
