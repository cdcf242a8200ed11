/**
 * All named values: numbers and words on the wire, in rows and in rules. Each is defined here once.
 * Schemas take lists and descriptions from it, and code compares with `groupType.chatroom`, never
 * with 2.
 */

const meanings = Symbol('meanings')

/**
 * Numbers by their names in code; {@link meaningsOf} gives their meanings for readers of the
 * reference.
 */
export type Enumeration<
  Values extends Readonly<Record<string, number>> = Readonly<Record<string, number>>,
  Meaning extends string = string,
> = Values & { readonly [meanings]: Readonly<Record<number, Meaning>> }

/** Meanings by value; other numbers may have none. */
export type Meanings<Value extends number, Meaning extends string> = Readonly<
  Record<number, Meaning> & Record<Value, Meaning>
>

/** A table of numbers: name in code, value on the wire, meaning in the reference. */
type EnumerationTable = Readonly<Record<string, readonly [value: number, meaning: string]>>

function enumeration<const Table extends EnumerationTable>(table: Table) {
  const values = Object.fromEntries(Object.entries(table).map(([name, [value]]) => [name, value]))
  // Not enumerable, so that Object.values(groupType) returns only the numbers.
  Object.defineProperty(values, meanings, { value: Object.fromEntries(Object.values(table)) })
  return Object.freeze(values) as Enumeration<
    { readonly [Name in keyof Table]: Table[Name][0] },
    Table[keyof Table][1]
  >
}

/**
 * The meanings of an enumeration by their numbers, for schemas, the reference and the command line.
 *
 * @returns for example `{ 0: 'normal', 1: 'dissolved' }`
 */
export function meaningsOf<Values extends Readonly<Record<string, number>>, Meaning extends string>(
  values: Enumeration<Values, Meaning>,
): Meanings<Values[keyof Values & string], Meaning> {
  return values[meanings]
}

// Applications and users

/** Status of an application; calls answer 40003 while it is disabled. */
export const appStatus = enumeration({ normal: [0, 'normal'], disabled: [1, 'disabled'] })

/** Status of a user; a disabled user can neither log in nor send (rule D4). */
export const userStatus = enumeration({ normal: [0, 'normal'], disabled: [1, 'ban'] })

/** Platform of a device; `unknown` until a connection states it (rule D6). */
export const platform = enumeration({
  unknown: [0, 'not known'],
  ios: [1, 'ios'],
  android: [2, 'android'],
  windows: [3, 'windows'],
  mac: [4, 'mac'],
  linux: [5, 'linux'],
  web: [6, 'web'],
})

/**
 * auth_mode: how a user confirms contact requests (docs/reference/operations/user-settings.md).
 */
export const authMode = enumeration({
  open: [0, 'anyone can add'],
  consent: [1, 'consent required'],
  question: [2, 'question answered correctly'],
  closed: [3, 'all refused'],
})

/**
 * stranger_chat: whether users who are not contacts may write to a user (rule E11); `unset` follows
 * the application.
 */
export const strangerChat = enumeration({
  unset: [0, 'not set'],
  allow: [1, 'allow'],
  reject: [2, 'reject'],
})

/** stranger_chat_default of an application, for users with {@link strangerChat} unset. */
export const strangerChatDefault = enumeration({
  allow: [strangerChat.allow, 'allow'],
  reject: [strangerChat.reject, 'reject'],
})

/** Result of one entry of an import; `exists` counts as a success. */
export const userImportResults = ['created', 'exists', 'updated', 'failed'] as const

/** The outcome of one item of an import of groups, members or messages; `known`: it was there. */
export const importResults = ['stored', 'known', 'failed'] as const

/** Result for one user or file of a group operation (rule F4a). */
export const itemOutcomes = ['success', 'fail'] as const

// Contacts

/**
 * relation: relation of another user to the caller. `blocked` takes precedence; a row of contacts
 * stores the other values.
 */
export const relation = enumeration({
  contact: [0, 'contact'],
  former: [1, 'deleted (former contact)'],
  stranger: [2, 'stranger'],
  blocked: [3, 'blocked'],
})

/** Status of a request to become a contact (`apply` on the wire). */
export const contactRequestStatus = enumeration({
  waiting: [0, 'waiting'],
  accepted: [1, 'accepted'],
  rejected: [2, 'rejected'],
})

// Messages

/**
 * reaction_mode of an application: users have several reactions to a message, or one, whose place a
 * new one takes.
 */
export const reactionModes = ['distinct', 'one'] as const
/** One of {@link reactionModes}. */
export type ReactionMode = (typeof reactionModes)[number]

/** Status of a message for the caller: stored, on a device of the receiver, or read (rule E6). */
export const messageStatus = enumeration({
  stored: [0, 'UNREAD'],
  delivered: [1, 'DELIVERED'],
  read: [2, 'READ'],
})

/** Changed parts of a user: clients read it again by the existing operations. */
export const userChangeKind = enumeration({
  contact: [0, 'a contact; ref: the other user'],
  contactRequest: [1, 'a contact request; ref: the other user'],
  group: [2, 'own membership, role or settings in a group; ref: the group'],
  joinRequests: [
    3,
    'the join requests to a group and its block list, for owner and admins; ref: the group',
  ],
  invitation: [4, 'an invitation; ref: the group'],
  profile: [5, 'the own profile; ref: 0'],
  settings: [6, 'the own settings; ref: 0'],
  devices: [7, 'the list of own devices; ref: 0'],
  pins: [8, 'the list of pinned conversations; ref: 0'],
})

/** Kinds of changes to a stored message (rules E7, E8); `updated` changes other fields than texts. */
export const alterationKind = enumeration({
  edited: [0, 'edited'],
  recalled: [1, 'recalled'],
  updated: [2, 'updated'],
})

const broadcastContentTable = {
  text: [0, 'TEXT'],
  image: [1, 'IMAGE'],
  audio: [2, 'AUDIO'],
  video: [3, 'VIDEO'],
  file: [4, 'FILE'],
  location: [5, 'LOCATION'],
  command: [6, 'COMMAND'],
} as const

const contentTable = { ...broadcastContentTable, forward: [7, 'FORWARD'] } as const

const operationTable = {
  readAck: [9, 'READ_ACK'],
  recall: [10, 'RECALL'],
  append: [11, 'APPEND'],
  replace: [12, 'REPLACE'],
} as const

/** Content types of a broadcast (docs/reference/operations/messages.md). */
export const broadcastContentType = enumeration(broadcastContentTable)

/**
 * Content types of a message: the number is `content_type` of a sent message, the meaning `ctype`
 * of a stored one.
 */
export const contentType = enumeration(contentTable)

/**
 * Values of content_type that act on another message, which related_mid names (rule E8). 8 is not
 * accepted.
 */
export const operationType = enumeration(operationTable)

/** All values of content_type of a send: {@link contentType} and {@link operationType}. */
export const sendContentType = enumeration({ ...contentTable, ...operationTable })

/**
 * type of a send and to_type of an upload: kind of the target IDs. One call has targets of one
 * kind.
 */
export const targetType = enumeration({ user: [1, 'user'], group: [2, 'group'] })

/** The kind of the text of a stream (rule E19). */
export const streamKinds = ['text', 'markdown'] as const

/** The states of a stream; all but `open` are ends. */
export const streamStates = ['open', 'done', 'failed', 'cancelled', 'interrupted'] as const

/** The ends of a stream that its sender gives. */
export const streamEnds = ['done', 'failed', 'cancelled'] as const

/** type of a broadcast, with a single value (docs/reference/operations/messages.md). */
export const broadcastTarget = enumeration({ users: [targetType.user, 'regular user'] })

// Groups

/** Type of a group (rule F1), fixed at creation. */
export const groupType = enumeration({
  private: [0, 'private group'],
  public: [1, 'public group'],
  chatroom: [2, 'chatroom'],
  temporary: [3, 'temporary group'],
})

/** Status of a group; its former members can still read a dissolved one (rule F8). */
export const groupStatus = enumeration({ normal: [0, 'normal'], dissolved: [1, 'dissolved'] })

/** Role of a member, in ascending order (rule F3). */
export const memberRole = enumeration({
  member: [0, 'member'],
  admin: [1, 'admin'],
  owner: [2, 'owner'],
})

/**
 * apply_approval: handling of requests to join a group; does not apply to invitations (rule F4).
 */
export const applyApproval = enumeration({
  agree: [0, 'agree all'],
  confirm: [1, 'needs Admin confirmation'],
  reject: [2, 'reject all'],
})

/** Status of a request to join a group and, with the same numbers, of an invitation. */
export const admissionStatus = enumeration({
  pending: [0, 'pending'],
  agreed: [1, 'agreed'],
  rejected: [2, 'rejected'],
})

/** {@link admissionStatus} of an invitation, which the invited user answers. */
export const invitationStatus = enumeration({
  pending: [admissionStatus.pending, 'pending'],
  agreed: [admissionStatus.agreed, 'user agreed'],
  rejected: [admissionStatus.rejected, 'user rejected'],
})

/** msg_mute_mode: messages of a group that a member receives (rule F8a). */
export const muteMode = enumeration({
  none: [0, 'not blocking'],
  silent: [1, 'block local message notifications'],
  notReceived: [2, 'block messages (not received)'],
})

/** msg_push_mode: messages of a group that are pushed to a member. */
export const pushMode = enumeration({
  all: [0, 'all pushes'],
  none: [1, 'no pushes'],
  adminsAndMentions: [2, 'Admin and @message pushes'],
  admins: [3, 'only Admin pushes'],
  mentions: [4, 'only @message pushes'],
})

// Push

/**
 * Channels of push, by the neutral names of the contract; `core` is the service's own. In the order
 * of the task statistics.
 */
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

/** One of {@link pushChannels}. */
export type PushChannel = (typeof pushChannels)[number]

/** The product that the neutral name of each channel stands for. */
export const pushChannelProducts: Readonly<Record<PushChannel, string>> = {
  ios_gw: 'Apple Push Notification service (APNs)',
  cloud_gw: 'Firebase Cloud Messaging (FCM)',
  vendor_h: 'Huawei Push Kit',
  vendor_x: 'Xiaomi Push (Mi Push)',
  vendor_f: 'Meizu Push (Flyme)',
  vendor_v: 'vivo Push',
  vendor_o: 'HeyTap Push (OPPO, OnePlus, realme)',
  vendor_n: 'Honor Push',
  core: 'the own channel of Hermod, for connected apps',
}

/** Channels of external gateways, which need a certificate. */
export const gatewayChannels = [
  'ios_gw',
  'vendor_h',
  'vendor_x',
  'vendor_f',
  'vendor_v',
  'vendor_o',
  'cloud_gw',
  'vendor_n',
] as const satisfies readonly PushChannel[]

/** Channels of Android devices. */
export const androidChannels = [
  'vendor_h',
  'vendor_x',
  'vendor_f',
  'vendor_o',
  'vendor_v',
  'vendor_n',
  'cloud_gw',
] as const satisfies readonly PushChannel[]

/** State of a push task. */
export const pushTaskState = enumeration({
  waiting: [0, 'waiting'],
  expanding: [1, 'expanding'],
  expanded: [2, 'expanded'],
  cancelled: [3, 'cancelled'],
})

/**
 * State of a push on one device: waiting, accepted, refused for good, or ended without having been
 * sent.
 */
export const pushDeliveryState = enumeration({
  pending: [0, 'pending'],
  accepted: [1, 'accepted'],
  refused: [2, 'refused'],
  suppressed: [3, 'suppressed'],
  expired: [4, 'expired'],
  cancelled: [5, 'cancelled'],
})

/**
 * Values of ospush_sequence: vendor channels, and `ups` for all handset vendors together (rule G2).
 */
export const vendorSequence = [
  'ups',
  'cloud_gw',
  'vendor_h',
  'vendor_x',
  'vendor_o',
  'vendor_v',
  'vendor_f',
  'vendor_n',
] as const

/** Choice of a push task between the own channel and those of vendors (rule G2). */
export const distributionStrategies = ['combined', 'corepush_only', 'ospush_only'] as const

/** Kinds of push; `cmd` is passed to the app and never displayed. */
export const pushMessageTypes = ['text', 'image', 'cmd'] as const

/** Action on a tap on a notification. */
export const clickActions = ['intent', 'open_app'] as const

/** Push types of ios_gw: shown by the system, a call, or a change of a live activity. */
export const apnsPushTypes = ['alert', 'voip', 'liveactivity'] as const

/** Tokens of ios_gw by the pushes that they are for; a device has another one to start live activities. */
export const apnsTokenTypes = [...apnsPushTypes, 'liveactivity_start'] as const

/** Urgency of a notification of ios_gw on the device. */
export const interruptionLevels = ['passive', 'active', 'time-sensitive', 'critical'] as const

/** Changes of a live activity of ios_gw. */
export const liveActivityEvents = ['start', 'update', 'end'] as const

/** Importance of a notification of vendor_h and vendor_n. */
export const notificationImportances = ['low', 'normal', 'high'] as const

/** notify_level of vendor_o. */
export const vendorNotifyLevel = enumeration({
  bar: [1, 'in the bar'],
  lock_screen: [2, 'in the bar and on the lock screen'],
  banner: [16, 'in the bar, on the lock screen and as a banner, with vibration and sound'],
})

/** Environment of a push gateway that a certificate is for. */
export const pushEnvironment = enumeration({
  development: [0, 'development'],
  production: [1, 'production'],
})

/** provider: the push gateways that need a certificate, by number. */
export const pushProvider = enumeration({
  iosGateway: [1, 'ios_gw'],
  vendorH: [2, 'vendor_h'],
  vendorX: [3, 'vendor_x'],
  vendorF: [4, 'vendor_f'],
  vendorV: [5, 'vendor_v'],
  vendorO: [6, 'vendor_o'],
  cloudGateway: [7, 'cloud_gw'],
  vendorN: [8, 'vendor_n'],
})

/** push_mode of vendor_v. */
export const vendorPushMode = enumeration({
  production: [0, 'production'],
  testing: [1, 'testing'],
})

/** classification of vendor_v: class of the notification at the vendor. */
export const vendorClassification = enumeration({
  operational: [0, 'operational'],
  system: [1, 'system'],
})

// Files

/** file_type of an upload ticket: below 200 for one chat, from 200 on shared in a group. */
export const fileType = enumeration({
  plain: [100, 'plain chat file'],
  voiceAmr: [101, 'voice (amr)'],
  picture: [102, 'picture'],
  video: [103, 'video'],
  voiceMp3: [104, 'voice (mp3)'],
  sharedPlain: [200, 'shared plain file'],
  sharedVoice: [201, 'shared voice'],
  sharedPicture: [202, 'shared picture'],
  sharedVideo: [203, 'shared video'],
})

/** Purpose of an uploaded file. */
export const filePurpose = enumeration({
  chat: [0, 'file of a chat'],
  userAvatar: [1, 'avatar of a user'],
  groupAvatar: [2, 'avatar of a group'],
})

/** Kinds of references that keep a file. */
export const fileReferenceKind = enumeration({
  message: [0, 'message'],
  userAvatar: [1, 'avatar of a user'],
  groupAvatar: [2, 'avatar of a group'],
  sharedFile: [3, 'shared file of a group'],
})

/** image_type of a download: rendition of a picture. */
export const imageType = enumeration({
  original: [1, 'original'],
  thumbnail: [2, 'thumbnail'],
  cover: [3, 'cover'],
})

/** thumbnail_strategy: origin of the thumbnail. */
export const thumbnailStrategy = enumeration({
  objectStore: [1, 'produced by the object store'],
  server: [2, 'produced by this server'],
})

/** format of a downloaded voice file. */
export const voiceFormats = ['amr', 'mp3'] as const

/** HTTP methods of an upload ticket. */
export const uploadMethods = ['POST', 'PUT'] as const

/** State of a node: it works, it finishes and leaves, or it gives no sign of life. */
export const nodeStates = ['live', 'draining', 'dead'] as const

/**
 * States of the service: `serving`; `maintenance`, in which reads work and writes are refused;
 * `restored`, in which users are refused until an operator finishes the restore.
 */
export const serviceStates = ['serving', 'maintenance', 'restored'] as const

/** Kinds of alerts to the operator: the conditions that the service watches. */
export const alertKinds = [
  'backup_failed',
  'backup_late',
  'backup_unverified',
  'disk_low',
  'certificate_expiring',
  'endpoint_disabled',
  'node_dead',
  'lost_history',
  'integrity_fault',
] as const

/** States of a long job; the last three are final. */
export const longJobStates = ['waiting', 'running', 'done', 'failed', 'cancelled'] as const

/**
 * The messages of a person after an erasure: as they were, without what names the sender beside the
 * text, or replaced by tombstones.
 */
export const erasureModes = ['keep', 'anonymise', 'delete'] as const
/** The subject of a hold. */
export const holdKinds = ['user', 'conversation'] as const

/** Location of the secret key: secret.key in the data folder, or HERMOD_SECRET_KEY. */
export const keySources = ['file', 'settings'] as const

/**
 * User ID of the service itself: sender of messages without a user, actor of an Admin token without
 * a user.
 */
export const systemUserId = 0

/** Stands for all users in the key of a broadcast stream; no user has this ID. */
export const broadcastUserId = -1

/** Algorithms of assertions that are signed with a private key. */
export const assertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const
/** Sources of the keys of an issuer. */
export const issuerKeySources = ['discovery', 'jwks_url', 'jwks', 'hmac_secret'] as const
/** When an assertion makes a user. */
export const issuerCreations = ['never', 'first_login'] as const
/** Lives of tokens that assertions are exchanged for. */
export const issuerSessions = ['own', 'follow'] as const

/** Forms of the body of webhooks. */
export const webhookFormats = ['standard', 'callback'] as const

/** States of an endpoint of webhooks. */
export const webhookStates = ['enabled', 'disabled'] as const

/**
 * Reasons why an endpoint is disabled: a caller, an answer 410, or three days of nothing but
 * failures; "": it is not.
 */
export const webhookStateReasons = ['', 'caller', 'gone', 'failing'] as const

/**
 * Outcomes of a request to an endpoint. `refused`: a 4xx answer about the events; `unavailable`: the
 * endpoint is down or slows us down; `gone`: 410; `forbidden`: the address is not allowed.
 */
export const webhookOutcomes = ['delivered', 'refused', 'unavailable', 'gone', 'forbidden'] as const
