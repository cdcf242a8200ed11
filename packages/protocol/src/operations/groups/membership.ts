import { operation } from '../../operation.js'
import { GroupMember, GroupMemberInfo } from '../../resources/groups.js'
import { UserResults } from '../../resources/results.js'
import { array, string } from '../../schema.js'
import {
  deleteOrPost,
  done,
  get,
  groupAndUsers,
  lookUpList,
  nameForm,
  post,
  putOrPost,
} from '../fields.js'
import { adminErrors, group, memberErrors, oneGroupErrors } from './fields.js'
import { groupList } from './shapes.js'

const members = 'Group members'

/** By user ID, always the whole list: at most 500. Rule F4a. */
export const listGroupAdmins = operation({
  id: 'group.admin_list',
  methods: get,
  path: '/group/admin_list',
  tag: members,
  summary: 'Lists the admins of a group, without the owner.',
  description: 'By user ID, always the whole list: at most 500.',
  callers: 'member',
  scopes: ['groups'],
  right: 'read',
  query: group,
  data: array(GroupMember),
  errors: memberErrors,
})

/**
 * By user ID, default and maximum of a page 1,000; a deep page of a large group costs as much as
 * the first. Display names may be hidden (rule F9).
 */
export const listGroupMembers = groupList(
  'member_list',
  '/group/member_list',
  'Lists the members of a group.',
  GroupMember,
)

/**
 * In the order of the list, without repetitions. Clients send every member of a group at once (rule
 * D9). Display names may be hidden (rule F9).
 */
export const listDisplayNames = operation({
  id: 'group.members.display_name',
  methods: post,
  path: '/group/members/display_name',
  tag: members,
  summary: 'Looks up members of a group; users who are not members are left out.',
  description: 'In the order of the request, each member once; at most 10,000.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'read',
  body: { ...group, user_list: lookUpList('user IDs') },
  data: array(GroupMember),
  errors: memberErrors,
})

/**
 * Same as {@link listDisplayNames}, with roles. Rule F7 gives the shape, since the contract gives
 * none.
 */
export const listMemberInfo = operation({
  id: 'group.members.info',
  methods: post,
  path: '/group/members/info',
  tag: members,
  summary: 'Looks up members of a group with their role; users who are not members are left out.',
  description: 'In the order of the request, each member once; at most 10,000.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'read',
  body: { ...group, user_list: lookUpList('user IDs') },
  data: array(GroupMemberInfo),
  errors: memberErrors,
})

/**
 * Each user is decided separately, the call is one commit. Results are in the order of user_list,
 * duplicates once. Ignores earlier kicks, but not the block list and the capacity; with an Admin
 * token also group_confirm. Rules F4b and F7.
 */
export const addGroupMembers = operation({
  id: 'group.admin.member_join',
  methods: post,
  path: '/group/admin/member_join',
  tag: members,
  summary: 'Adds users to a group without asking them.',
  description:
    'Users with group_confirm on, who refuse strangers, or of whose places others have filled half, get an invitation instead. Users who block the caller fail with code 10006. An Admin token passes over all of these.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'add',
  body: groupAndUsers,
  data: UserResults,
  errors: adminErrors,
})

/** A ban continues if the user comes back. The group is notified. */
export const leaveGroup = operation({
  id: 'group.leave',
  methods: deleteOrPost,
  path: '/group/leave',
  tag: members,
  summary: 'Leaves a group.',
  callers: 'user',
  scopes: ['groups'],
  right: 'own',
  query: group,
  data: done,
  errors: [...oneGroupErrors, 'not_group_member', 'owner_cannot_leave'],
})

/** "" means none. */
export const setDisplayName = operation({
  id: 'group.display_name.update',
  methods: putOrPost,
  path: '/group/display_name',
  tag: members,
  summary: 'Sets the name of the caller in a group.',
  callers: 'groupUser',
  scopes: ['groups'],
  right: 'own',
  body: {
    ...group,
    value: string({ description: `name in this group: ${nameForm}`, maxLength: 256 }),
  },
  data: done,
  errors: [...oneGroupErrors, 'not_group_member'],
})
