/**
 * The resources that answers carry. A title names the schema in the OpenAPI document. An unset string is "", an unset number 0, an unset
 * boolean false; a field is optional only where the contract ties it to a condition (decision A6).
 */
import {
  allOptional,
  array,
  boolean,
  freeObject,
  int32,
  int64,
  intEnum,
  object,
  optional,
  type Static,
  string,
  stringEnum,
  type TProperties,
  text,
} from './schema.js'

function resource<P extends TProperties>(title: string, description: string, properties: P) {
  return object(properties, { title, description })
}

/** A point in time of an answer, in milliseconds. */
function instant(description: string) {
  return int64({ description: `${description}, ms` })
}

function hour(description: string) {
  return int32({ minimum: 0, maximum: 23, description: `${description}, hour 0-23` })
}

// Meanings of the enumerated numbers and words, in one place for resources and parameters.

export const authModes = {
  0: 'anyone can add',
  1: 'consent required',
  2: 'question answered correctly',
  3: 'all refused',
} as const
export const strangerChats = { 0: 'not set', 1: 'allow', 2: 'reject' } as const
export const platforms = {
  0: 'not known',
  1: 'ios',
  2: 'android',
  3: 'windows',
  4: 'mac',
  5: 'linux',
  6: 'web',
} as const
export const userStatuses = { 0: 'normal', 1: 'ban' } as const
export const groupStatuses = { 0: 'normal', 1: 'dissolved' } as const
export const groupTypes = {
  0: 'private group',
  1: 'public group',
  2: 'chatroom',
  3: 'temporary group',
} as const
export const memberRoles = { 0: 'member', 1: 'admin', 2: 'owner' } as const
export const applyApprovals = {
  0: 'agree all',
  1: 'needs Admin confirmation',
  2: 'reject all',
} as const
export const muteModes = {
  0: 'not blocking',
  1: 'block local message notifications',
  2: 'block messages (not received)',
} as const
export const pushModes = {
  0: 'all pushes',
  1: 'no pushes',
  2: 'Admin and @message pushes',
  3: 'only Admin pushes',
  4: 'only @message pushes',
} as const
export const relations = {
  0: 'contact',
  1: 'deleted (former contact)',
  2: 'stranger',
  3: 'blocked',
} as const
export const appStatuses = { 0: 'normal', 1: 'disabled' } as const

/** What a broadcast may hold. */
export const broadcastContentTypes = {
  0: 'TEXT',
  1: 'IMAGE',
  2: 'AUDIO',
  3: 'VIDEO',
  4: 'FILE',
  5: 'LOCATION',
  6: 'COMMAND',
} as const
/** What a message may hold; the word is `ctype` of a stored message, the number `content_type` of a sent one. */
export const contentTypes = { ...broadcastContentTypes, 7: 'FORWARD' } as const
/** Values of content_type that act on another message, named by related_mid (decision E8). */
export const operationTypes = { 9: 'READ_ACK', 10: 'RECALL', 11: 'APPEND', 12: 'REPLACE' } as const
export const targetTypes = { 1: 'user', 2: 'group' } as const
export const messageStatuses = ['UNREAD', 'DELIVERED', 'READ'] as const

export const pushChannels = [
  'ios_gw',
  'cloud_gw',
  'vendor_f',
  'vendor_n',
  'vendor_h',
  'core',
  'vendor_o',
  'vendor_v',
  'vendor_x',
] as const
export type PushChannel = (typeof pushChannels)[number]

// Results of operations on several users or files

const itemResultFields = {
  user_id: int64({ description: 'user the item refers to; 0 when there is none' }),
  success: boolean({ description: 'success or not' }),
  reason: optional(text('cause of failure; absent on success')),
}

export const ItemResult = resource(
  'ItemResult',
  'What became of one entry of a batch.',
  itemResultFields,
)
export type ItemResult = Static<typeof ItemResult>

export const RegistrationResult = resource(
  'RegistrationResult',
  'What became of one entry of a batch registration.',
  {
    ...itemResultFields,
    username: text('username of the entry'),
  },
)
export type RegistrationResult = Static<typeof RegistrationResult>

const outcomeFields = {
  result: stringEnum(['success', 'fail'], { description: 'success or fail' }),
  reason: optional(text('error message; absent on success')),
}

export const UserResult = resource('UserResult', 'What became of one user of a group operation.', {
  user_id: int64({ description: 'user ID' }),
  ...outcomeFields,
})
export type UserResult = Static<typeof UserResult>

export const UserResults = resource(
  'UserResults',
  'What became of the users of a group operation.',
  {
    list: array(UserResult, { description: 'one entry per user' }),
  },
)
export type UserResults = Static<typeof UserResults>

export const FileResult = resource('FileResult', 'What became of one file of a group operation.', {
  file_id: int64({ description: 'file ID' }),
  ...outcomeFields,
})
export type FileResult = Static<typeof FileResult>

export const Nothing = resource('Nothing', 'An object without members.', {})
export type Nothing = Static<typeof Nothing>

// Tokens and users

export const TokenRecord = resource('TokenRecord', 'What a login gives.', {
  access_key_secret: text('file key'),
  encrypt_type: int32({ description: 'whether encrypted connection is enabled' }),
  expire: instant('expiration timestamp'),
  public_key: text('public key'),
  push_token: optional(text('push token; returned when device_guid was sent')),
  store_token: text('file token'),
  token: text('access token; the value to send later in the access-token header'),
  user_id: int64({ description: 'user ID' }),
})
export type TokenRecord = Static<typeof TokenRecord>

export const UserProfile = resource('UserProfile', 'The profile that a user sees of himself.', {
  avatar: text('avatar URL'),
  description: text('description'),
  email: text('e-mail'),
  mobile: text('mobile number'),
  nick_name: text('nickname'),
  private_info: text('private information, visible only to the user'),
  public_info: text('public information, visible to contacts and strangers'),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
})
export type UserProfile = Static<typeof UserProfile>

export const UserListEntry = resource('UserListEntry', 'One user of the application.', {
  status: intEnum(userStatuses),
  user_id: int64({ description: 'user ID' }),
  username: text('username'),
})
export type UserListEntry = Static<typeof UserListEntry>

/** The settings of a user, apart from whose they are; `words` makes a string field from its description and its longest value. */
function settingFields<S extends ReturnType<typeof text>>(
  words: (description: string, maxLength: number) => S,
) {
  return {
    auth_answer: words('answer of the verification question', 256),
    auth_mode: intEnum(authModes, { description: 'friend-add verification' }),
    auth_question: words('verification question', 256),
    auto_download: boolean({ description: 'true automatic download, false none' }),
    group_confirm: boolean({
      description:
        'true: user consent needed when invited to a group; false: invitation agreed automatically',
    }),
    id: int64({ description: 'the user ID; ignored when sent' }),
    no_push: boolean({ description: 'true turns push messages off' }),
    no_push_detail: boolean({ description: 'true hides the text of pushes' }),
    no_push_end_hour: hour('do-not-disturb end'),
    no_push_start_hour: hour('do-not-disturb start; equal to the end means no quiet time'),
    no_sounds: boolean({ description: 'true mute on message receipt' }),
    push_nick_name: words('push display name', 256),
    push_token: words('push token', 1024),
    silence_end_time: hour('end of no-reminder period'),
    silence_start_time: hour('start of no-reminder period'),
    stranger_chat: intEnum(strangerChats, { description: 'chats from unknown users' }),
    vibratory: boolean({ description: 'true vibrate on message receipt' }),
  }
}

export const UserSettings = resource(
  'UserSettings',
  'How a user wants to be found, reached and notified.',
  {
    ...settingFields((description) => text(description)),
    user_id: int64({ description: 'user ID' }),
  },
)
export type UserSettings = Static<typeof UserSettings>

/** The settings as a caller changes them: what is absent stays as it is. */
export const userSettingChanges = allOptional(
  settingFields((description, maxLength) => string({ description, maxLength })),
)

export const DeviceEntry = resource('DeviceEntry', 'A device of the user.', {
  device_sn: int32({ description: 'device serial number' }),
  platform: intEnum(platforms),
  user_agent: text('device information'),
  user_id: int64({ description: 'user ID' }),
})
export type DeviceEntry = Static<typeof DeviceEntry>

export const PinnedConversations = resource(
  'PinnedConversations',
  'The conversations that the user pinned.',
  {
    conversation_ids: array(int64(), { description: 'IDs of users and groups' }),
  },
)
export type PinnedConversations = Static<typeof PinnedConversations>

export const OnlineStatus = resource('OnlineStatus', 'Whether the user is online.', {
  online: boolean({ description: 'true while a device of the user is connected' }),
})
export type OnlineStatus = Static<typeof OnlineStatus>

export const AnonymousUser = resource('AnonymousUser', 'A user whose full name the server chose.', {
  user_id: int64({ description: 'user ID' }),
  username: text('the full username: the prefix that was sent and what the server added'),
})
export type AnonymousUser = Static<typeof AnonymousUser>

// Messages

export const Xid = resource('Xid', 'One end of a message.', {
  device_sn: int32({ description: 'device serial number; 0 when no device is meant' }),
  uid: int64({ description: 'user or group ID; 0 is the system' }),
})
export type Xid = Static<typeof Xid>

export const Message = resource('Message', 'A message as the caller sees it.', {
  attachment: text(
    'for image, voice, video and file messages: a JSON object that holds the file URL',
  ),
  config: text('extension fields used by the SDK layer, JSON'),
  content: text('message content'),
  ctype: stringEnum(Object.values(contentTypes), { description: 'what the message holds' }),
  edit_timestamp: instant('last edit, 0 when never edited'),
  ext: text('extension data'),
  from_xid: Xid,
  is_system: boolean({ description: 'true: a system notification' }),
  msg_id: int64({ description: 'message ID; grows with time inside a conversation' }),
  status: stringEnum(messageStatuses, { description: 'how far the message got' }),
  timestamp: instant('delivery timestamp'),
  to_xid: Xid,
})
export type Message = Static<typeof Message>

export const MessagePage = resource('MessagePage', 'A page of history, newest message first.', {
  is_last: boolean({ description: 'true: no more messages' }),
  messages: array(Message, { description: 'newest first' }),
  next_msg_id: int64({ description: 'use as msg_id_start to continue; 0 when is_last' }),
})
export type MessagePage = Static<typeof MessagePage>

export const ConversationRef = resource('ConversationRef', 'Names a conversation.', {
  uid: int64({ description: 'conversation ID: the other user, or the group' }),
})
export type ConversationRef = Static<typeof ConversationRef>

export const ConversationEntry = resource('ConversationEntry', 'A conversation of the caller.', {
  conversation_id: ConversationRef,
  create_timestamp: instant('creation timestamp'),
  latest_msg_id: int64({ description: 'latest message ID' }),
  update_timestamp: instant('most recent activity timestamp'),
})
export type ConversationEntry = Static<typeof ConversationEntry>

export const ConversationPage = resource(
  'ConversationPage',
  'A page of conversations, most recent activity first.',
  {
    conversations: array(ConversationEntry, { description: 'most recent activity first' }),
    has_more: boolean({ description: 'true: another page follows' }),
    next_cursor: text('cursor of the next page; "" on the last one'),
  },
)
export type ConversationPage = Static<typeof ConversationPage>

export const UnreadEntry = resource('UnreadEntry', 'A conversation with unread messages.', {
  conversation_id: ConversationRef,
  num: int32({ description: 'unread message number' }),
})
export type UnreadEntry = Static<typeof UnreadEntry>

export const BroadcastResult = resource('BroadcastResult', 'What became of a broadcast.', {
  send_num: int64({ description: 'number of users that the broadcast is for' }),
  success: boolean({ description: 'success or not' }),
})
export type BroadcastResult = Static<typeof BroadcastResult>

// Push

export const PushCertificate = resource(
  'PushCertificate',
  'What a push gateway asks an application for.',
  {
    app_id: text('application ID at the gateway'),
    app_key: text('application key at the gateway'),
    app_secret: text('secret; "" unless asked for with an Admin token'),
    certificate: text('certificate; "" unless asked for with an Admin token'),
    name: text('certificate name'),
  },
)
export type PushCertificate = Static<typeof PushCertificate>

export const PushTask = resource('PushTask', 'A push task on its way.', {
  task_id: int64({ description: 'push task ID' }),
})
export type PushTask = Static<typeof PushTask>

const pushCounts = {
  received: 'delivered count',
  sent: 'sent count',
  target: 'valid target count',
} as const
type PushCounter = `${PushChannel}_${keyof typeof pushCounts}`

const pushCounters = Object.fromEntries(
  pushChannels.flatMap((channel) =>
    Object.entries(pushCounts).map(([count, meaning]) => [
      `${channel}_${count}`,
      int64({ description: `${meaning} of ${channel}` }),
    ]),
  ),
) as Record<PushCounter, ReturnType<typeof int64>>

export const PushTaskStatistics = resource(
  'PushTaskStatistics',
  'How far a push task got on each channel.',
  {
    task_id: int64({ description: 'push task ID' }),
    ...pushCounters,
  },
)
export type PushTaskStatistics = Static<typeof PushTaskStatistics>

// Groups

const groupModes = {
  msg_mute_mode: intEnum(muteModes, { description: 'of the caller' }),
  msg_push_mode: intEnum(pushModes, { description: 'of the caller' }),
}

export const MuteMode = resource('MuteMode', "The caller's message blocking in a group.", {
  msg_mute_mode: groupModes.msg_mute_mode,
})
export type MuteMode = Static<typeof MuteMode>

export const PushMode = resource('PushMode', "The caller's pushes of a group.", {
  msg_push_mode: groupModes.msg_push_mode,
})
export type PushMode = Static<typeof PushMode>

const banExpireTime = int64({
  description:
    'seconds; until then only Admins may send messages; 0 or earlier than now: no ban; -1: permanent',
})

export const Group = resource('Group', 'A group with its settings.', {
  apply_approval: intEnum(applyApprovals, { description: 'membership application setting' }),
  avatar: text('group avatar'),
  ban_expire_time: banExpireTime,
  capacity: int64({ description: 'group capacity' }),
  count: int64({ description: 'current member count' }),
  created_at: instant('creation time'),
  description: text('description'),
  ext: text('extension information'),
  group_id: int64({ description: 'group ID' }),
  hide_member_info: boolean({ description: 'true hides member details, false shows them' }),
  history_visible: boolean({
    description: 'true: new members see chat history; false: they do not',
  }),
  member_invite: boolean({ description: 'true: members may invite others; false: not' }),
  member_modify: boolean({ description: 'true: members may modify group information; false: not' }),
  ...groupModes,
  name: text('group name'),
  owner_id: int64({ description: 'owner ID' }),
  read_ack: boolean({ description: 'true enables the read function of group messages' }),
  status: intEnum(groupStatuses),
  type: intEnum(groupTypes),
  updated_at: instant('update time'),
})
export type Group = Static<typeof Group>

export const GroupSummary = resource('GroupSummary', 'The short form of a group.', {
  apply_approval: Group.properties.apply_approval,
  avatar: Group.properties.avatar,
  capacity: Group.properties.capacity,
  count: Group.properties.count,
  group_id: Group.properties.group_id,
  ...groupModes,
  name: Group.properties.name,
  owner: Group.properties.owner_id,
  status: Group.properties.status,
  type: Group.properties.type,
})
export type GroupSummary = Static<typeof GroupSummary>

export const GroupBan = resource('GroupBan', 'A group-wide ban.', {
  ban_expire_time: banExpireTime,
})
export type GroupBan = Static<typeof GroupBan>

const memberFields = {
  display_name: text('name of the member in this group'),
  expired_time: instant('ban expiration; 0 not banned, -1 permanent'),
  join_time: instant('when the user joined'),
  user_id: int64({ description: 'user ID' }),
}

export const GroupMember = resource('GroupMember', 'A member of a group.', memberFields)
export type GroupMember = Static<typeof GroupMember>

export const GroupMemberInfo = resource('GroupMemberInfo', 'A member of a group with its role.', {
  ...memberFields,
  role: intEnum(memberRoles),
})
export type GroupMemberInfo = Static<typeof GroupMemberInfo>

export const BlacklistEntry = resource('BlacklistEntry', 'A user whom a group keeps out.', {
  created_at: text('when the user was blocked, ISO 8601 in UTC with milliseconds'),
  group_id: int64({ description: 'group ID' }),
  user_id: int64({ description: 'user ID' }),
})
export type BlacklistEntry = Static<typeof BlacklistEntry>

export const Announcement = resource('Announcement', 'An announcement to a group.', {
  author: int64({ description: 'publisher' }),
  content: text('text'),
  created_at: instant('when it was published'),
  group_id: int64({ description: 'group ID' }),
  id: int64({ description: 'announcement ID' }),
  title: text('title'),
})
export type Announcement = Static<typeof Announcement>

export const GroupApplication = resource('GroupApplication', 'A wish to become a member.', {
  applicant_id: int64({ description: 'who applied' }),
  expired_time: instant('when the application runs out'),
  group_id: int64({ description: 'group ID' }),
  reason: text('text given by the applicant'),
  status: intEnum({ 0: 'pending', 1: 'agreed', 2: 'rejected' }),
})
export type GroupApplication = Static<typeof GroupApplication>

export const GroupInvitation = resource('GroupInvitation', 'An invitation to become a member.', {
  expired_time: instant('when the invitation runs out'),
  group_id: int64({ description: 'group ID' }),
  invitee_id: int64({ description: 'who is invited' }),
  inviter_id: int64({ description: 'who invited' }),
  reason: text('text given by the inviter'),
  status: intEnum({ 0: 'pending', 1: 'user agreed', 2: 'user rejected' }),
  updated_at: text('last change, ISO 8601 in UTC with milliseconds'),
})
export type GroupInvitation = Static<typeof GroupInvitation>

export const SharedFile = resource('SharedFile', 'A file shared in a group.', {
  created_at: instant('when it was shared'),
  file_id: int64({ description: 'file ID' }),
  group_id: int64({ description: 'group ID' }),
  name: text('file name'),
  size: int64({ description: 'size in bytes' }),
  type: text('file type'),
  updated_at: instant('last change'),
  uploader: int64({ description: 'who shared it' }),
  url: text('where the file is'),
})
export type SharedFile = Static<typeof SharedFile>

export const GroupQrSignature = resource('GroupQrSignature', 'What a group QR code holds.', {
  qr_info: text('opaque signed text to put in the QR code'),
  create_at: instant('creation time'),
  expire_at: instant('expiry time'),
})
export type GroupQrSignature = Static<typeof GroupQrSignature>

export const GroupQrText = resource(
  'GroupQrText',
  'What a group QR code holds, in the older form.',
  {
    qr_info: text('opaque signed text to put in the QR code'),
    expired: instant('expiry time'),
  },
)
export type GroupQrText = Static<typeof GroupQrText>

export const JoinedGroup = resource('JoinedGroup', 'The group that the caller joined.', {
  group_id: int64({ description: 'group ID' }),
})
export type JoinedGroup = Static<typeof JoinedGroup>

// Contacts

export const RosterEntry = resource('RosterEntry', 'A user as another user sees him.', {
  alias: text('remark name the caller gave this user'),
  auth_mode: intEnum(authModes, { description: 'friend-add verification of that user' }),
  auth_question: text('verification question of that user (the answer is never returned)'),
  avatar: text('avatar URL or stored object name'),
  description: text('description'),
  ext: text('extension data the caller stored on this contact'),
  mute_notification: boolean({
    description: 'true: the caller silenced message notifications of this contact',
  }),
  nick_name: text('nickname'),
  public_info: text('public extension information'),
  relation: intEnum(relations),
  user_id: int64({ description: 'user ID of that user' }),
  username: text('username'),
})
export type RosterEntry = Static<typeof RosterEntry>

export const RosterApplication = resource('RosterApplication', 'A wish to become a contact.', {
  expired_time: instant('when the application expires'),
  reason: text('text given by the applicant'),
  status: intEnum({ 0: 'waiting', 1: 'accepted', 2: 'rejected' }),
  user_id: int64({ description: 'applicant' }),
})
export type RosterApplication = Static<typeof RosterApplication>

export const RosterApplicationFailure = resource(
  'RosterApplicationFailure',
  'An application that did not go through.',
  {
    user_id: int64({ description: 'user ID' }),
    reason: text('cause of failure'),
  },
)
export type RosterApplicationFailure = Static<typeof RosterApplicationFailure>

export const RosterBatchResult = resource(
  'RosterBatchResult',
  'What became of several contact applications.',
  {
    success: array(int64(), { description: 'users for whom the application went through' }),
    fails: array(RosterApplicationFailure, { description: 'users for whom it did not' }),
  },
)
export type RosterBatchResult = Static<typeof RosterBatchResult>

export const RosterName = resource('RosterName', 'A contact and its name.', {
  user_id: int64({ description: 'user ID' }),
  name: text('nickname, else username'),
})
export type RosterName = Static<typeof RosterName>

// Files and applications

export const UploadTicket = resource('UploadTicket', 'Where and how to send one file.', {
  upload_url: text('where to send the file'),
  upload_method: stringEnum(['POST', 'PUT'], { description: 'HTTP method of the upload' }),
  oss_body_param: freeObject({
    description: 'form fields to send along with the file; may be empty',
  }),
  download_url: text(
    'address to store in a message attachment, avatar or shared file; ends with its signature',
  ),
})
export type UploadTicket = Static<typeof UploadTicket>

export const ApplicationFlags = resource(
  'ApplicationFlags',
  'What clients need to know of the application.',
  {
    hide_member_info: boolean({ description: 'true: groups may hide member details' }),
    message_forward_max_message_num: int32({
      description: 'how many messages may be forwarded at once',
    }),
    message_forward_max_user_num: int32({
      description: 'to how many users a message may be forwarded at once',
    }),
  },
)
export type ApplicationFlags = Static<typeof ApplicationFlags>

// Operator side

/** The settings of an application; on the wire, in the store and in the code they have these names. */
export const appSettingFields = {
  contact_application_days: int32({
    minimum: 1,
    maximum: 365,
    description: 'days that a contact application stays open',
  }),
  contact_limit: int32({ minimum: 1, maximum: 100_000, description: 'most contacts of a user' }),
  group_application_days: int32({
    minimum: 1,
    maximum: 365,
    description: 'days that group applications and invitations stay open',
  }),
  group_capacity_limit: int32({
    minimum: 1,
    maximum: 1_000_000,
    description: 'greatest capacity of a group',
  }),
  group_limit: int32({
    minimum: 0,
    description: 'most groups of the application, dissolved ones left out; 0: no limit',
  }),
  group_owner_limit: int32({
    minimum: 1,
    maximum: 100_000,
    description: 'most groups that a user owns',
  }),
  group_member_limit: int32({
    minimum: 1,
    maximum: 100_000,
    description: 'most groups that a user is in',
  }),
  hide_member_info: boolean({ description: 'true: groups may hide member details' }),
  message_forward_max_message_num: int32({
    minimum: 1,
    maximum: 500,
    description: 'how many messages clients forward at once',
  }),
  message_forward_max_user_num: int32({
    minimum: 1,
    maximum: 500,
    description: 'to how many users clients forward a message at once',
  }),
  recall_enabled: boolean({ description: 'true: senders may recall their messages' }),
  recall_seconds: int32({ minimum: 1, description: 'how long a sender may recall a message' }),
  stranger_chat_default: intEnum(
    { 1: 'allow', 2: 'reject' },
    { description: 'chats from unknown users where a user has set nothing' },
  ),
  time_zone: string({
    description: 'IANA name of the time zone of quiet hours',
    maxLength: 64,
    pattern: '^[A-Za-z][A-Za-z0-9_+/-]*$',
    examples: ['Europe/Berlin'],
  }),
  user_limit: int32({ minimum: 0, description: 'most users of the application; 0: no limit' }),
}

export const AppSettings = resource(
  'ApplicationSettings',
  'Settings of an application.',
  appSettingFields,
)
export type AppSettings = Static<typeof AppSettings>

export const Application = resource('Application', 'An application of this service.', {
  app_id: text('application ID, the value of the app_id header'),
  name: text('display name'),
  status: intEnum(appStatuses),
  open_registration: boolean({ description: 'true: users may register without a token' }),
  has_registration_secret: boolean({ description: 'true: /user/register/push asks for `sign`' }),
  settings: AppSettings,
  created_at: instant('creation time'),
})
export type Application = Static<typeof Application>

export const CreatedApp = resource(
  'CreatedApplication',
  'A new application with its first Admin token.',
  {
    app_id: text('application ID'),
    name: text('display name'),
    admin_token: text('Admin token; shown this once'),
  },
)
export type CreatedApp = Static<typeof CreatedApp>

const adminTokenFields = {
  token_id: int64({ description: 'token ID' }),
  app_id: text('application that the token is for'),
  name: text('what the operator calls the token'),
  expires_at: instant('when it expires, 0 never'),
}

export const AdminToken = resource('AdminToken', 'An Admin token, without the token itself.', {
  ...adminTokenFields,
  created_at: instant('creation time'),
  revoked_at: instant('when it was revoked, 0 not'),
})
export type AdminToken = Static<typeof AdminToken>

export const CreatedAdminToken = resource('CreatedAdminToken', 'A new Admin token.', {
  ...adminTokenFields,
  token: text('the token; shown this once'),
})
export type CreatedAdminToken = Static<typeof CreatedAdminToken>

const ownedBy = { user_id: int64({ description: 'user ID' }), username: text('username') }

export const OperatorUser = resource('OperatorUser', 'A user and whether it may log in.', {
  ...ownedBy,
  status: intEnum(userStatuses),
})
export type OperatorUser = Static<typeof OperatorUser>

export const UserWithPassword = resource('UserWithPassword', 'A user whose password was set.', {
  ...ownedBy,
  password: text(
    'the password that the service made, shown this once; "" when the caller chose it',
  ),
})
export type UserWithPassword = Static<typeof UserWithPassword>

export const DeletedUser = resource('DeletedUser', 'A user that is deleted.', {
  user_id: ownedBy.user_id,
  deleted: boolean({ description: 'true: by this call; false: before it' }),
})
export type DeletedUser = Static<typeof DeletedUser>

export const userImportResults = ['created', 'exists', 'updated', 'failed'] as const

export const ImportedUser = resource('ImportedUser', 'What became of one entry of an import.', {
  username: text('the username as it was sent'),
  result: stringEnum(userImportResults, {
    description: 'exists: a user with this username is there already and stays as it is',
  }),
  user_id: optional(int64({ description: 'user ID; absent when the entry failed' })),
  reason: optional(text('why the entry failed; absent otherwise')),
})
export type ImportedUser = Static<typeof ImportedUser>

export const ExportedUser = resource('ExportedUser', 'A user as an import takes it.', {
  ...ownedBy,
  nick_name: text('nickname'),
  avatar: text('avatar URL'),
  description: text('description'),
  mobile: text('mobile number'),
  email: text('e-mail'),
  public_info: text('public information, visible to contacts and strangers'),
  private_info: text('private information, visible only to the user'),
  status: intEnum(userStatuses),
  created_at: instant('creation time'),
  password_hash: optional(
    text('PHC string or bcrypt; "" for a user without a password; absent unless asked for'),
  ),
})
export type ExportedUser = Static<typeof ExportedUser>

export const UserExport = resource('UserExport', 'A page of users by user ID.', {
  users: array(ExportedUser, { description: 'by user ID; deleted users are left out' }),
  next_cursor: text('cursor of the next page; "" on the last one'),
})
export type UserExport = Static<typeof UserExport>

export const CheckFault = resource(
  'CheckFault',
  'A derived fact that does not agree with its log.',
  {
    check: text('which check found it'),
    app_id: text('application concerned'),
    subject: text('what is wrong'),
    detail: text('what was found and what was expected'),
  },
)
export type CheckFault = Static<typeof CheckFault>

export const CheckReport = resource('CheckReport', 'What an integrity check found.', {
  checked: int64({ description: 'number of facts that were checked' }),
  faults: array(CheckFault, { description: 'what does not agree' }),
  truncated: boolean({ description: 'true: there are more faults than listed' }),
})
export type CheckReport = Static<typeof CheckReport>

/** Where the secret key is kept. */
export const keySources = ['file', 'settings'] as const

export const SecretKeyRotation = resource(
  'SecretKeyRotation',
  'The secret keys after a rotation or a retirement.',
  {
    key_id: string({ description: 'key that secrets are encrypted with' }),
    previous_key_id: string({
      description: 'key that is still accepted; "": none',
    }),
    key_source: stringEnum(keySources, {
      description: 'file: secret.key in the data folder; settings: HERMOD_SECRET_KEY',
    }),
    resealed: int32({ description: 'number of secrets that were encrypted again' }),
    unreadable: int32({
      description: 'number of secrets that no key opens; they stay as they are',
    }),
  },
)
export type SecretKeyRotation = Static<typeof SecretKeyRotation>
