import { operation } from '../../operation.js'
import { GroupMember, GroupMemberInfo } from '../../resources/groups.js'
import { UserResults } from '../../resources/results.js'
import { array, string } from '../../schema.js'
import { deleteOrPost, done, get, groupAndUsers, lookUpList, post, putOrPost } from '../fields.js'
import { adminErrors, group, memberErrors, oneGroupErrors } from './fields.js'
import { groupList } from './shapes.js'

const members = 'Group members'

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
