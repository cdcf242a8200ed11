import { operation } from '../../operation.js'
import { BlacklistEntry, GroupMember } from '../../resources/groups.js'
import { UserResult } from '../../resources/results.js'
import { array } from '../../schema.js'
import { banDuration, deleteOrPost, groupAndUsers, post } from '../fields.js'
import { adminErrors, ownerErrors } from './fields.js'
import { groupList, memberAction } from './shapes.js'

const members = 'Group members'

/**
 * One commit; users who are not members fail separately, existing admins succeed. Promotion ends a
 * ban of the member. At most 500 admins (20028). Rule F3.
 */
export const addGroupAdmins = memberAction({
  id: 'group.admin.add',
  right: 'appoint',
  path: '/group/admin/add',
  summary: 'Makes members admins of a group.',
  errors: ownerErrors,
})

/** One commit; users who are not members fail separately, ordinary members succeed. Rule F3. */
export const removeGroupAdmins = memberAction({
  id: 'group.admin.remove',
  right: 'appoint',
  methods: deleteOrPost,
  path: '/group/admin/remove',
  summary: 'Makes admins of a group ordinary members.',
  errors: ownerErrors,
})

/**
 * One commit; each user is decided separately, and only members of a lower role can be kicked.
 * After more than 3 kicks a user returns only with an admin's help. Rules F3 and F6.
 */
export const kickGroupMembers = memberAction({
  id: 'group.kick',
  right: 'moderate',
  methods: deleteOrPost,
  path: '/group/kick',
  summary: 'Removes members from a group.',
})

/**
 * One commit; replaces an earlier ban. Only members of a lower role. A ban outlives leaving. Rule
 * F5.
 */
export const banGroupMembers = operation({
  id: 'group.ban',
  methods: post,
  path: '/group/ban',
  tag: members,
  summary: 'Stops members from sending for a while; they still read.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'moderate',
  body: { duration: banDuration, ...groupAndUsers },
  data: array(UserResult, { description: 'one result per user' }),
  errors: adminErrors,
})

/**
 * One commit; succeeds for members who are not banned, and ends bans of users who have left. Rule
 * F5.
 */
export const unbanGroupMembers = memberAction({
  right: 'moderate',
  id: 'group.unban',
  path: '/group/unban',
  summary: 'Ends the ban of members.',
})

/** By user ID, default and maximum of a page 1,000; ended bans are left out. Rule F5. */
export const listBannedMembers = groupList(
  'banned_list',
  '/group/banned_list',
  'Lists the banned members of a group.',
  GroupMember,
)

/**
 * One commit; users need not be members. Their open requests and invitations end. Only users of a
 * lower role. Rule F6.
 */
export const blockGroupUsers = memberAction({
  id: 'group.block',
  right: 'moderate',
  path: '/group/block',
  summary: 'Removes users from a group and keeps them out until unblocked.',
})

/** One commit; former members do not return. Rule F6. */
export const unblockGroupUsers = memberAction({
  id: 'group.unblock',
  right: 'unblock',
  methods: deleteOrPost,
  path: '/group/unblock',
  summary: 'Takes users off the block list of a group.',
})

/** By user ID, default and maximum of a page 1,000. Admins only. */
export const listGroupBlocks = groupList(
  'blocked_list',
  '/group/blocked_list',
  'Lists the block list of a group.',
  BlacklistEntry,
  'unblock',
)
