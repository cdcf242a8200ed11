import { operation } from '../../operation.js'
import {
  GroupApplication,
  GroupInvitation,
  GroupQrSignature,
  GroupQrText,
  JoinedGroup,
} from '../../resources/groups.js'
import { UserResult } from '../../resources/results.js'
import { array, boolean, string } from '../../schema.js'
import {
  done,
  get,
  groupAndUsers,
  id,
  lookUpList,
  post,
  putOrPost,
  reason,
  totals,
  versionedPage,
} from '../fields.js'
import { adminErrors, group, joiningErrors, oneGroupErrors } from './fields.js'

const admission = 'Group admission'

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
