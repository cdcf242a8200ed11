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
import { boolean, int64, intEnum, type Static, text } from '../schema.js'
import { instant, resource } from './fields.js'
import { outcomeFields } from './results.js'

const groupModes = {
  msg_mute_mode: intEnum(meaningsOf(muteMode), { description: 'of the caller' }),
  msg_push_mode: intEnum(meaningsOf(pushMode), { description: 'of the caller' }),
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
  apply_approval: intEnum(meaningsOf(applyApproval), {
    description: 'membership application setting',
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
  role: intEnum(meaningsOf(memberRole)),
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
  status: intEnum(meaningsOf(admissionStatus)),
})
export type GroupApplication = Static<typeof GroupApplication>

export const GroupInvitation = resource('GroupInvitation', 'An invitation to become a member.', {
  expired_time: instant('when the invitation runs out'),
  group_id: int64({ description: 'group ID' }),
  invitee_id: int64({ description: 'who is invited' }),
  inviter_id: int64({ description: 'who invited' }),
  reason: text('text given by the inviter'),
  status: intEnum(meaningsOf(invitationStatus)),
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

export const FileResult = resource('FileResult', 'What became of one file of a group operation.', {
  file_id: int64({ description: 'file ID' }),
  ...outcomeFields,
})
export type FileResult = Static<typeof FileResult>

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
