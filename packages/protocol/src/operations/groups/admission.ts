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

/**
 * apply_approval decides (rule F4): a member at once, an open request, or 20019. Admins and owner
 * are notified of an open request once. An open invitation is accepted by it.
 */
export const applyToGroup = operation({
  id: 'group.apply',
  methods: post,
  path: '/group/apply',
  tag: admission,
  summary: 'Asks to become a member.',
  callers: 'groupUser',
  scopes: ['groups'],
  right: 'join',
  body: { ...group, reason },
  data: UserResult,
  errors: [...oneGroupErrors, ...joiningErrors, 'join_requests_closed'],
})

/**
 * Atomic. A request is answered once: 20014 afterwards and after expiry. The user is notified. Rule
 * F4.
 */
export const handleJoinRequest = operation({
  id: 'group.apply.handle',
  methods: putOrPost,
  path: '/group/apply/handle',
  tag: admission,
  summary: 'Approves or rejects a join request.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'add',
  body: {
    approval: boolean({ description: 'true approves, false rejects' }),
    ...group,
    user_id: id('applicant'),
  },
  data: UserResult,
  errors: [...adminErrors, ...joiningErrors, 'join_request_not_open'],
})

/**
 * Newest first, by default 100, at most 500 a page. Skips groups that the caller may not manage,
 * since clients send all that they know (rule K10).
 */
export const listJoinRequests = operation({
  id: 'group.application_list',
  methods: post,
  path: '/group/application_list',
  tag: admission,
  summary: 'Lists the join requests of the given groups, as far as the caller may manage them.',
  description:
    'Newest first, 100 a page unless asked otherwise, at most 500. Groups that the caller may not manage are passed over.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'add',
  query: versionedPage,
  body: { group_list: lookUpList('group IDs') },
  data: array(GroupApplication),
  extras: totals,
})

/**
 * One commit; each user is decided separately, in order. apply_approval does not apply. Inviting
 * again renews an open invitation. Rules F4 and F4b.
 */
export const inviteToGroup = operation({
  id: 'group.invite',
  methods: post,
  path: '/group/invite',
  tag: admission,
  summary: 'Invites users to a group; those with group_confirm off join at once.',
  description:
    'Admins may, and members when member_invite is true. Users who refuse strangers, or of whose places others have filled half, get an invitation instead of a membership. Users who block the caller fail with code 10006. An Admin token passes over both.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'invite',
  body: { ...groupAndUsers, reason },
  data: array(UserResult, { description: 'one result per user' }),
  errors: adminErrors,
})

/**
 * Atomic. The invitation is found by group and caller, since clients name either party (rule F4).
 * Answered once: 20015 afterwards and after expiry. The inviter is notified.
 */
export const handleGroupInvitation = operation({
  id: 'group.invite.handle',
  methods: putOrPost,
  path: '/group/invite/handle',
  tag: admission,
  summary: 'Accepts or declines an invitation to a group.',
  callers: 'groupUser',
  scopes: ['groups'],
  right: 'join',
  body: {
    approval: boolean({ description: 'true accepts, false declines' }),
    ...group,
    user_id: id('the inviter or the caller; both name the invitation of the caller to the group'),
  },
  data: done,
  errors: [...oneGroupErrors, ...joiningErrors, 'group_invitation_not_open'],
})

/** Newest first, answered ones included, by default 100, at most 500 a page. */
export const listGroupInvitations = operation({
  id: 'group.invitation_list',
  methods: get,
  path: '/group/invitation_list',
  tag: admission,
  summary: 'Lists the invitations that the user received.',
  description:
    'Newest first, answered ones included, 100 a page unless asked otherwise, at most 500.',
  callers: 'groupUser',
  scopes: ['groups'],
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

/**
 * Stores nothing: the text is signed, names its signer, and is valid for group_application_days
 * while the signer may still invite.
 */
export const signGroupQrCode = operation({
  id: 'group.qrcode.sign',
  methods: get,
  path: '/group/qrcode/sign',
  tag: admission,
  summary: 'Makes the text of a QR code that lets users join a group.',
  callers: 'member',
  scopes: ['groups'],
  right: 'invite',
  query: group,
  data: GroupQrSignature,
  errors: adminErrors,
  origin: 'extension',
})

/**
 * Acts like an invitation that is accepted at once: apply_approval does not apply. Users who were
 * kicked too often or blocked are refused (rule F6).
 */
export const joinByQrCode = operation({
  id: 'group.qrcode.invite',
  methods: post,
  path: '/group/qrcode/invite',
  tag: admission,
  summary: 'Joins the group of a QR code.',
  callers: 'groupUser',
  scopes: ['groups'],
  right: 'join',
  body: qrInfo,
  data: JoinedGroup,
  errors: qrErrors,
  origin: 'extension',
})

/** The same code as {@link signGroupQrCode}; kept for older clients (rule K10). */
export const signGroupQrText = operation({
  id: 'app.qrcode.group_sign',
  methods: get,
  path: '/app/qrcode/group_sign',
  tag: admission,
  summary: 'Older form of /group/qrcode/sign.',
  callers: 'member',
  scopes: ['groups'],
  right: 'invite',
  query: group,
  data: GroupQrText,
  errors: adminErrors,
  origin: 'extension',
})

/** The same as {@link joinByQrCode}; kept for older clients, which send a GET (rule K10). */
export const joinByQrText = operation({
  id: 'app.qrcode.group_invite',
  methods: get,
  path: '/app/qrcode/group_invite',
  tag: admission,
  summary: 'Older form of /group/qrcode/invite.',
  callers: 'user',
  scopes: ['groups'],
  right: 'join',
  query: qrInfo,
  data: JoinedGroup,
  errors: qrErrors,
  origin: 'extension',
})
