import type { GroupRightName } from '../group-rights.js'
import { operation } from '../operation.js'
import {
  Announcement,
  BlacklistEntry,
  Group,
  GroupApplication,
  GroupInvitation,
  GroupMember,
  GroupMemberInfo,
  GroupQrSignature,
  GroupQrText,
  GroupSummary,
  groupTypes,
  JoinedGroup,
  Nothing,
  UserResult,
  UserResults,
} from '../resources.js'
import { array, boolean, int64, intEnum, list, optional, string, type TSchema } from '../schema.js'
import {
  avatar,
  banDuration,
  deleteOrPost,
  description,
  done,
  ext,
  get,
  groupAndUsers,
  groupId,
  groupName,
  id,
  lookUpList,
  post,
  putOrPost,
  reason,
  totals,
  versionedPage,
} from './fields.js'

const admission = 'Group admission'
const announcements = 'Group announcements'
const members = 'Group members'
const group = { group_id: groupId }
const oneGroupErrors = ['group_not_found'] as const
/** Errors of what members do, of what admins do, and of what only the owner does. */
const memberErrors = [...oneGroupErrors, 'member_required'] as const
const adminErrors = [...memberErrors, 'group_admin_required'] as const
const ownerErrors = [...memberErrors, 'group_owner_required'] as const
const joiningErrors = [
  'already_group_member',
  'group_full',
  'joined_group_limit_reached',
  'kicked_too_often',
  'in_group_block_list',
] as const

// Groups

export const createGroup = operation({
  id: 'group.create',
  methods: post,
  path: '/group/create',
  tag: 'Groups',
  summary: 'Creates a group; the caller is its owner.',
  description:
    'Users of user_list who cannot come in are left out without a word; /group/invite tells what became of each.',
  callers: 'groupUser',
  body: {
    avatar: optional(avatar),
    description: optional(description),
    name: optional(string({ description: 'group name', maxLength: 128, examples: ['Team'] })),
    type: optional(intEnum(groupTypes, { default: 0 })),
    user_list: optional(list(int64(), { description: 'users invited' })),
  },
  data: Group,
  errors: [
    'application_group_limit_reached',
    'created_group_limit_reached',
    'joined_group_limit_reached',
  ],
})

export const destroyGroup = operation({
  id: 'group.destroy',
  methods: deleteOrPost,
  path: '/group/destroy',
  tag: 'Groups',
  summary:
    'Dissolves a group; its information and history stay readable for those who were members.',
  callers: 'member',
  right: 'dissolve',
  query: group,
  data: done,
  errors: ownerErrors,
})

export const getGroup = operation({
  id: 'group.info',
  methods: get,
  path: '/group/info',
  tag: 'Groups',
  summary: 'Reads a group with its settings.',
  callers: 'member',
  right: 'info',
  query: group,
  data: Group,
  errors: memberErrors,
})

export const listGroups = operation({
  id: 'group.info.batch',
  methods: post,
  path: '/group/info/batch',
  tag: 'Groups',
  summary: 'Reads the short form of several groups; unknown ones are left out.',
  callers: 'groupMember',
  right: 'info',
  body: { group_list: lookUpList('group IDs') },
  data: array(GroupSummary),
})

export const listPublicGroups = operation({
  id: 'group.public_list',
  methods: get,
  path: '/group/public_list',
  tag: 'Groups',
  summary: 'Lists the public groups of the application.',
  callers: 'groupMember',
  data: array(int64(), { description: 'group IDs' }),
  origin: 'extension',
})

export const listJoinedGroups = operation({
  id: 'group.user_joined',
  methods: get,
  path: '/group/user_joined',
  tag: 'Groups',
  summary: 'Lists the groups that the user is in.',
  callers: 'groupUser',
  data: array(int64(), { description: 'group IDs' }),
})

export const transferGroup = operation({
  id: 'group.transfer',
  methods: putOrPost,
  path: '/group/transfer',
  tag: 'Groups',
  summary: 'Passes a group to another member; the old owner becomes an ordinary member.',
  callers: 'groupMember',
  right: 'transfer',
  body: { ...group, new_owner: id('user ID of the new owner') },
  data: UserResult,
  errors: [...ownerErrors, 'new_owner_not_member', 'created_group_limit_reached'],
})

function groupText(name: string, path: string, summary: string, value: typeof description) {
  return operation({
    id: `group.${name}.update`,
    methods: putOrPost,
    path,
    tag: 'Groups',
    summary,
    description: 'Admins may, and members when member_modify is true.',
    callers: 'groupMember',
    right: 'modify',
    body: { ...group, value },
    data: done,
    errors: adminErrors,
  })
}

export const setGroupName = groupText('name', '/group/info/name', 'Names a group.', groupName)
export const setGroupAvatar = groupText(
  'avatar',
  '/group/info/avatar',
  'Sets the avatar of a group.',
  avatar,
)
export const setGroupDescription = groupText(
  'description',
  '/group/info/description',
  'Describes a group.',
  description,
)
export const setGroupExt = groupText(
  'ext',
  '/group/info/ext',
  'Sets the extension information of a group.',
  ext,
)

// Members

/** Something done to several users of a group, each with a result of its own. */
function memberAction(definition: {
  readonly id: string
  readonly path: string
  readonly summary: string
  readonly methods?: typeof post | typeof deleteOrPost
  readonly right: GroupRightName
  readonly errors?: typeof adminErrors | typeof ownerErrors
}) {
  return operation({
    methods: post,
    errors: adminErrors,
    ...definition,
    tag: members,
    callers: 'groupMember',
    body: groupAndUsers,
    data: array(UserResult, { description: 'one result per user' }),
  })
}

export const addGroupAdmins = memberAction({
  id: 'group.admin.add',
  right: 'appoint',
  path: '/group/admin/add',
  summary: 'Makes members admins of a group.',
  errors: ownerErrors,
})
export const removeGroupAdmins = memberAction({
  id: 'group.admin.remove',
  right: 'appoint',
  methods: deleteOrPost,
  path: '/group/admin/remove',
  summary: 'Makes admins of a group ordinary members.',
  errors: ownerErrors,
})
export const unbanGroupMembers = memberAction({
  right: 'moderate',
  id: 'group.unban',
  path: '/group/unban',
  summary: 'Ends the ban of members.',
})
export const blockGroupUsers = memberAction({
  id: 'group.block',
  right: 'moderate',
  path: '/group/block',
  summary: 'Removes users from a group and keeps them out until unblocked.',
})
export const unblockGroupUsers = memberAction({
  id: 'group.unblock',
  right: 'unblock',
  methods: deleteOrPost,
  path: '/group/unblock',
  summary: 'Takes users off the block list of a group.',
})
export const kickGroupMembers = memberAction({
  id: 'group.kick',
  right: 'moderate',
  methods: deleteOrPost,
  path: '/group/kick',
  summary: 'Removes members from a group.',
})

export const banGroupMembers = operation({
  id: 'group.ban',
  methods: post,
  path: '/group/ban',
  tag: members,
  summary: 'Stops members from sending for a while; they still read.',
  callers: 'groupMember',
  right: 'moderate',
  body: { duration: banDuration, ...groupAndUsers },
  data: array(UserResult, { description: 'one result per user' }),
  errors: adminErrors,
})

export const addGroupMembers = operation({
  id: 'group.admin.member_join',
  methods: post,
  path: '/group/admin/member_join',
  tag: members,
  summary: 'Adds users to a group without asking them.',
  callers: 'groupMember',
  right: 'admit',
  body: groupAndUsers,
  data: UserResults,
  errors: adminErrors,
})

export const listGroupAdmins = operation({
  id: 'group.admin_list',
  methods: get,
  path: '/group/admin_list',
  tag: members,
  summary: 'Lists the admins of a group, without the owner.',
  callers: 'member',
  right: 'read',
  query: group,
  data: array(GroupMember),
  errors: memberErrors,
})

/** A paged list of one group. */
function groupList<T extends TSchema>(
  name: string,
  path: string,
  summary: string,
  entry: T,
  right: GroupRightName = 'read',
) {
  return operation({
    id: `group.${name}`,
    methods: get,
    path,
    tag: members,
    summary,
    callers: 'member',
    right,
    query: { ...group, ...versionedPage },
    data: array(entry),
    extras: totals,
    errors: right === 'read' ? memberErrors : adminErrors,
  })
}

export const listBannedMembers = groupList(
  'banned_list',
  '/group/banned_list',
  'Lists the banned members of a group.',
  GroupMember,
)
export const listGroupBlocks = groupList(
  'blocked_list',
  '/group/blocked_list',
  'Lists the block list of a group.',
  BlacklistEntry,
  'unblock',
)
export const listGroupMembers = groupList(
  'member_list',
  '/group/member_list',
  'Lists the members of a group.',
  GroupMember,
)

export const listDisplayNames = operation({
  id: 'group.members.display_name',
  methods: post,
  path: '/group/members/display_name',
  tag: members,
  summary: 'Looks up members of a group; users who are none are left out.',
  callers: 'groupMember',
  right: 'read',
  body: { ...group, user_list: lookUpList('user IDs') },
  data: array(GroupMember),
  errors: memberErrors,
})

export const listMemberInfo = operation({
  id: 'group.members.info',
  methods: post,
  path: '/group/members/info',
  tag: members,
  summary: 'Looks up members of a group with their role; users who are none are left out.',
  callers: 'groupMember',
  right: 'read',
  body: { ...group, user_list: lookUpList('user IDs') },
  data: array(GroupMemberInfo),
  errors: memberErrors,
})

export const leaveGroup = operation({
  id: 'group.leave',
  methods: deleteOrPost,
  path: '/group/leave',
  tag: members,
  summary: 'Leaves a group.',
  callers: 'user',
  right: 'own',
  query: group,
  data: done,
  errors: [...oneGroupErrors, 'not_group_member', 'owner_cannot_leave'],
})

export const setDisplayName = operation({
  id: 'group.display_name.update',
  methods: putOrPost,
  path: '/group/display_name',
  tag: members,
  summary: 'Sets the name of the caller in a group.',
  callers: 'groupUser',
  right: 'own',
  body: { ...group, value: string({ description: 'name in this group', maxLength: 256 }) },
  data: done,
  errors: [...oneGroupErrors, 'not_group_member'],
})

// Admission

export const applyToGroup = operation({
  id: 'group.apply',
  methods: post,
  path: '/group/apply',
  tag: admission,
  summary: 'Asks to become a member.',
  callers: 'groupUser',
  right: 'join',
  body: { ...group, reason },
  data: UserResult,
  errors: [...oneGroupErrors, ...joiningErrors, 'join_requests_closed'],
})

export const handleJoinRequest = operation({
  id: 'group.apply.handle',
  methods: putOrPost,
  path: '/group/apply/handle',
  tag: admission,
  summary: 'Approves or rejects a membership application.',
  callers: 'groupMember',
  right: 'admit',
  body: {
    approval: boolean({ description: 'true approves, false rejects' }),
    ...group,
    user_id: id('applicant'),
  },
  data: UserResult,
  errors: [...adminErrors, ...joiningErrors, 'join_request_not_open'],
})

export const listJoinRequests = operation({
  id: 'group.application_list',
  methods: post,
  path: '/group/application_list',
  tag: admission,
  summary: 'Lists the membership applications of those of the groups that the caller may manage.',
  callers: 'groupMember',
  right: 'admit',
  query: versionedPage,
  body: { group_list: lookUpList('group IDs') },
  data: array(GroupApplication),
  extras: totals,
})

export const inviteToGroup = operation({
  id: 'group.invite',
  methods: post,
  path: '/group/invite',
  tag: admission,
  summary: 'Invites users to a group; those with group_confirm off join at once.',
  description: 'Admins may, and members when member_invite is true.',
  callers: 'groupMember',
  right: 'invite',
  body: { ...groupAndUsers, reason },
  data: array(UserResult, { description: 'one result per user' }),
  errors: adminErrors,
})

export const handleGroupInvitation = operation({
  id: 'group.invite.handle',
  methods: putOrPost,
  path: '/group/invite/handle',
  tag: admission,
  summary: 'Accepts or declines an invitation to a group.',
  callers: 'groupUser',
  right: 'join',
  body: {
    approval: boolean({ description: 'true accepts, false declines' }),
    ...group,
    user_id: id(
      'the inviter or the caller; the invitation is that of the caller to the group, whoever is named',
    ),
  },
  data: done,
  errors: [...oneGroupErrors, ...joiningErrors, 'group_invitation_not_open'],
})

export const listGroupInvitations = operation({
  id: 'group.invitation_list',
  methods: get,
  path: '/group/invitation_list',
  tag: admission,
  summary: 'Lists the invitations that the user received.',
  callers: 'groupUser',
  query: versionedPage,
  data: array(GroupInvitation),
  extras: totals,
})

const qrInfo = {
  qr_info: string({ description: 'the text of the QR code', minLength: 1, maxLength: 2048 }),
}
const qrErrors = [
  'qr_code_invalid',
  'qr_code_expired',
  ...oneGroupErrors,
  ...joiningErrors,
] as const

export const signGroupQrCode = operation({
  id: 'group.qrcode.sign',
  methods: get,
  path: '/group/qrcode/sign',
  tag: admission,
  summary: 'Makes the text of a QR code that lets users join a group.',
  callers: 'member',
  right: 'invite',
  query: group,
  data: GroupQrSignature,
  errors: adminErrors,
  origin: 'extension',
})

export const joinByQrCode = operation({
  id: 'group.qrcode.invite',
  methods: post,
  path: '/group/qrcode/invite',
  tag: admission,
  summary: 'Joins the group of a QR code.',
  callers: 'groupUser',
  right: 'join',
  body: qrInfo,
  data: JoinedGroup,
  errors: qrErrors,
  origin: 'extension',
})

export const signGroupQrText = operation({
  id: 'app.qrcode.group_sign',
  methods: get,
  path: '/app/qrcode/group_sign',
  tag: admission,
  summary: 'Older form of /group/qrcode/sign.',
  callers: 'member',
  right: 'invite',
  query: group,
  data: GroupQrText,
  errors: adminErrors,
  origin: 'extension',
})

export const joinByQrText = operation({
  id: 'app.qrcode.group_invite',
  methods: get,
  path: '/app/qrcode/group_invite',
  tag: admission,
  summary: 'Older form of /group/qrcode/invite.',
  callers: 'user',
  right: 'join',
  query: qrInfo,
  data: JoinedGroup,
  errors: qrErrors,
  origin: 'extension',
})

// Announcements

const announcementId = { announcement_id: id('announcement ID') }

export const getAnnouncement = operation({
  id: 'group.announcement.get',
  methods: get,
  path: '/group/announcement',
  tag: announcements,
  summary: 'Reads an announcement.',
  callers: 'member',
  right: 'read',
  query: { ...announcementId, ...group },
  data: Announcement,
  errors: [...memberErrors, 'announcement_not_found'],
})

export const getLastAnnouncement = operation({
  id: 'group.announcement.last',
  methods: get,
  path: '/group/announcement/last',
  tag: announcements,
  summary: 'Reads the latest announcement.',
  callers: 'member',
  right: 'read',
  query: group,
  data: Announcement,
  errors: [...memberErrors, 'announcement_not_found'],
})

export const listAnnouncements = operation({
  id: 'group.announcement.list',
  methods: get,
  path: '/group/announcement/list',
  tag: announcements,
  summary: 'Lists the announcements of a group, oldest first.',
  callers: 'member',
  right: 'read',
  query: group,
  data: array(Announcement),
  errors: memberErrors,
})

export const publishAnnouncement = operation({
  id: 'group.announcement.edit',
  methods: post,
  path: '/group/announcement/edit',
  tag: announcements,
  summary: 'Publishes a new announcement.',
  callers: 'groupMember',
  right: 'announce',
  body: {
    content: string({ description: 'text', maxLength: 8192 }),
    ...group,
    title: string({ description: 'title', maxLength: 256 }),
  },
  data: Announcement,
  errors: adminErrors,
})

export const deleteAnnouncement = operation({
  id: 'group.announcement.delete',
  methods: deleteOrPost,
  path: '/group/announcement/delete',
  tag: announcements,
  summary: 'Deletes an announcement.',
  callers: 'member',
  right: 'announce',
  query: { ...announcementId, ...group },
  data: Nothing,
  errors: [...adminErrors, 'announcement_not_found'],
})
