import {
  admissionStatus,
  applyApproval,
  groupStatus,
  groupType,
  invitationStatus,
  meaningsOf,
  memberRole,
  muteMode,
  pushMode,
} from '../enums.js'
import { instant, resource } from '../resource.js'
import { boolean, int64, intEnum, type Static, text } from '../schema.js'
import { outcomeFields } from './results.js'

const groupModes = {
  msg_mute_mode: intEnum(meaningsOf(muteMode), { description: 'of the caller' }),
  msg_push_mode: intEnum(meaningsOf(pushMode), { description: 'of the caller' }),
}

/** Data of /group/msg/mute_mode; the contract leaves its shape open. */
export const MuteMode = resource('MuteMode', "The caller's message blocking in a group.", {
  msg_mute_mode: groupModes.msg_mute_mode,
})
/** The caller's msg_mute_mode after the call. */
export type MuteMode = Static<typeof MuteMode>

/** Data of /group/msg/push_mode; the contract leaves its shape open. */
export const PushMode = resource('PushMode', "The caller's pushes of a group.", {
  msg_push_mode: groupModes.msg_push_mode,
})
/** The caller's msg_push_mode after the call. */
export type PushMode = Static<typeof PushMode>

const banExpireTime = int64({
  description:
    'seconds; until then only Admins may send messages; 0 or earlier than now: no ban; -1: permanent',
})

/** Group of the contract. ban_expire_time is in seconds, all other times in ms (rule B6). */
export const GroupRecord = resource('Group', 'A group with its settings.', {
  apply_approval: intEnum(meaningsOf(applyApproval), {
    description: 'how join requests are answered',
  }),
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
  status: intEnum(meaningsOf(groupStatus)),
  type: intEnum(meaningsOf(groupType)),
  updated_at: instant('update time'),
  version: int64({ description: 'number of changes that all members see, as in events' }),
})
/** A group with its settings; msg_mute_mode and msg_push_mode are the caller's, 0 for outsiders. */
export type GroupRecord = Static<typeof GroupRecord>

/**
 * Group summary of the contract, with `owner`, and the other fields of {@link GroupRecord}: one call
 * reads everything that a list of groups shows.
 */
export const GroupSummary = resource('GroupSummary', 'A group in a list of groups.', {
  ...GroupRecord.properties,
  owner: int64({ description: 'the same as owner_id' }),
})
/** A group in a list of groups; the two modes are the caller's. */
export type GroupSummary = Static<typeof GroupSummary>

/** Data of /group/settings/ban_all, in seconds (rule B6). */
export const GroupBan = resource('GroupBan', 'A group-wide ban.', {
  ban_expire_time: banExpireTime,
})
/** End of a group-wide ban; -1: permanent. */
export type GroupBan = Static<typeof GroupBan>

const memberFields = {
  display_name: text('name of the member in this group'),
  expired_time: instant('ban expiration; 0 not banned, -1 permanent'),
  join_time: instant('when the user joined'),
  user_id: int64({ description: 'user ID' }),
  is_bot: boolean({ description: 'true: a program' }),
}

/** Group member entry of the contract. Times in ms; an ended ban shows as 0. */
export const GroupMember = resource('GroupMember', 'A member of a group.', memberFields)
/** A member; display_name is "" when unset or hidden (rule F9). */
export type GroupMember = Static<typeof GroupMember>

/** {@link GroupMember} with the role (rule F7). */
export const GroupMemberInfo = resource('GroupMemberInfo', 'A member of a group with its role.', {
  ...memberFields,
  role: intEnum(meaningsOf(memberRole)),
})
/** A member with its role. */
export type GroupMemberInfo = Static<typeof GroupMemberInfo>

/** Blacklist entry of the contract; created_at is a string (rule B6a). */
export const BlacklistEntry = resource('BlacklistEntry', 'A user on the block list of a group.', {
  created_at: text('when the user was blocked, ISO 8601 in UTC with milliseconds'),
  group_id: int64({ description: 'group ID' }),
  user_id: int64({ description: 'user ID' }),
})
/** A user on a group's block list. */
export type BlacklistEntry = Static<typeof BlacklistEntry>

/** Announcement of the contract; it never changes once published (rule F4a). */
export const Announcement = resource('Announcement', 'An announcement to a group.', {
  author: int64({ description: 'publisher' }),
  content: text('text'),
  created_at: instant('when it was published'),
  group_id: int64({ description: 'group ID' }),
  id: int64({ description: 'announcement ID' }),
  title: text('title'),
})
/** An announcement; created_at in ms. */
export type Announcement = Static<typeof Announcement>

/** A join request; group_id distinguishes the groups of one list. */
export const GroupApplication = resource('GroupApplication', 'A request to become a member.', {
  applicant_id: int64({ description: 'applicant' }),
  expired_time: instant('when the request expires'),
  group_id: int64({ description: 'group ID' }),
  reason: text('text given by the applicant'),
  status: intEnum(meaningsOf(admissionStatus)),
})
/** A join request; expired_time in ms, also of answered ones. */
export type GroupApplication = Static<typeof GroupApplication>

/** Invitation entry of the contract; updated_at is a string (rule B6a). */
export const GroupInvitation = resource('GroupInvitation', 'An invitation to become a member.', {
  expired_time: instant('when the invitation expires'),
  group_id: int64({ description: 'group ID' }),
  invitee_id: int64({ description: 'who is invited' }),
  inviter_id: int64({ description: 'who invited' }),
  reason: text('text given by the inviter'),
  status: intEnum(meaningsOf(invitationStatus)),
  updated_at: text('last change, ISO 8601 in UTC with milliseconds'),
})
/** An invitation that the caller received; the latest inviter is named. */
export type GroupInvitation = Static<typeof GroupInvitation>

/** Shared file of the contract. size in bytes. */
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
/** Metadata of a shared file; times in ms. */
export type SharedFile = Static<typeof SharedFile>

/** {@link UserResult} for shared files. */
export const FileResult = resource('FileResult', 'The result for one file of a group operation.', {
  file_id: int64({ description: 'file ID' }),
  ...outcomeFields,
})
/** The result for one file. */
export type FileResult = Static<typeof FileResult>

/** Data of /group/qrcode/sign. Times in ms. */
export const GroupQrSignature = resource('GroupQrSignature', 'The content of a group QR code.', {
  qr_info: text('opaque signed text to put in the QR code'),
  create_at: instant('creation time'),
  expire_at: instant('expiry time'),
})
/** A signed text for a QR code, and its lifetime. */
export type GroupQrSignature = Static<typeof GroupQrSignature>

/** {@link GroupQrSignature} with the field names of /app/qrcode/group_sign. */
export const GroupQrText = resource(
  'GroupQrText',
  'The content of a group QR code, in the older form.',
  {
    qr_info: text('opaque signed text to put in the QR code'),
    expired: instant('expiry time'),
  },
)
/** A signed text for a QR code, in the older form. */
export type GroupQrText = Static<typeof GroupQrText>

/** Data of the two operations that join by QR code. */
export const JoinedGroup = resource('JoinedGroup', 'The group that the caller joined.', {
  group_id: int64({ description: 'group ID' }),
})
/** The group that the caller joined. */
export type JoinedGroup = Static<typeof JoinedGroup>
