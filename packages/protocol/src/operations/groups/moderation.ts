import { operation } from '../../operation.js'
import { BlacklistEntry, GroupMember } from '../../resources/groups.js'
import { UserResult } from '../../resources/results.js'
import { array } from '../../schema.js'
import { banDuration, deleteOrPost, groupAndUsers, post } from '../fields.js'
import { adminErrors, ownerErrors } from './fields.js'
import { groupList, memberAction } from './shapes.js'

const members = 'Group members'

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

export const unbanGroupMembers = memberAction({
  right: 'moderate',
  id: 'group.unban',
  path: '/group/unban',
  summary: 'Ends the ban of members.',
})

export const listBannedMembers = groupList(
  'banned_list',
  '/group/banned_list',
  'Lists the banned members of a group.',
  GroupMember,
)

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

export const listGroupBlocks = groupList(
  'blocked_list',
  '/group/blocked_list',
  'Lists the block list of a group.',
  BlacklistEntry,
  'unblock',
)
