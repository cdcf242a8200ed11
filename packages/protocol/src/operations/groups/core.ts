import { groupType, meaningsOf } from '../../enums.js'
import { operation } from '../../operation.js'
import { GroupRecord, GroupSummary } from '../../resources/groups.js'
import { UserResult } from '../../resources/results.js'
import { array, int64, intEnum, list, optional } from '../../schema.js'
import {
  avatar,
  deleteOrPost,
  description,
  done,
  ext,
  get,
  groupName,
  id,
  lookUpList,
  post,
  putOrPost,
} from '../fields.js'
import { adminErrors, group, memberErrors, ownerErrors } from './fields.js'

/**
 * Atomic: group, owner and users who join at once. Users of user_list are invited as by {@link
 * inviteToGroup}; those who decide themselves get an invitation. Rules F1, F2, F4 and F4b.
 */
export const createGroup = operation({
  id: 'group.create',
  methods: post,
  path: '/group/create',
  tag: 'Groups',
  summary: 'Creates a group; the caller is its owner.',
  description:
    'Users of user_list who cannot become members, or block the caller, are left out without an error; /group/invite answers a result for each.',
  callers: 'groupUser',
  scopes: ['groups'],
  body: {
    avatar: optional(avatar),
    description: optional(description),
    name: optional(groupName),
    type: optional(intEnum(meaningsOf(groupType), { default: 0 })),
    user_list: optional(list(int64(), { description: 'users invited' })),
  },
  data: GroupRecord,
  errors: ['app_group_limit_reached', 'created_group_limit_reached', 'joined_group_limit_reached'],
})

/**
 * Cannot be undone. Open requests and invitations end, members are notified, their rows and
 * messages stay (rule F8).
 */
export const destroyGroup = operation({
  id: 'group.destroy',
  methods: deleteOrPost,
  path: '/group/destroy',
  tag: 'Groups',
  summary:
    'Dissolves a group; its information and history stay readable for those who were members.',
  callers: 'member',
  scopes: ['groups'],
  right: 'dissolve',
  query: group,
  data: done,
  errors: ownerErrors,
})

/**
 * msg_mute_mode and msg_push_mode are the caller's own. Outsiders may read public groups, chatrooms
 * and groups with an invitation for them.
 */
export const getGroup = operation({
  id: 'group.info',
  methods: get,
  path: '/group/info',
  tag: 'Groups',
  summary: 'Reads a group with its settings.',
  callers: 'member',
  scopes: ['groups'],
  right: 'info',
  query: group,
  data: GroupRecord,
  errors: memberErrors,
})

/**
 * In the order of the list, without repetitions; groups that the caller may not see are left out.
 * At most 10,000 (rule D9).
 */
export const listGroups = operation({
  id: 'group.info.batch',
  methods: post,
  path: '/group/info/batch',
  tag: 'Groups',
  summary: 'Reads several groups with their settings.',
  description:
    'In the order of the request, each group once; at most 10,000. Unknown groups, and those that the caller may not see, are left out.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'info',
  body: { group_list: lookUpList('group IDs') },
  data: array(GroupSummary),
})

/** The newest 10,000, newest first. */
export const listPublicGroups = operation({
  id: 'group.public_list',
  methods: get,
  path: '/group/public_list',
  tag: 'Groups',
  summary: 'Lists the public groups of the application.',
  description: 'Newest first: the newest 10,000.',
  callers: 'groupMember',
  scopes: ['groups'],
  data: array(int64(), { description: 'group IDs' }),
  origin: 'extension',
})

/** Oldest first, dissolved ones left out, always the whole list. */
export const listJoinedGroups = operation({
  id: 'group.user_joined',
  methods: get,
  path: '/group/user_joined',
  tag: 'Groups',
  summary: 'Lists the groups that the user is in.',
  description: 'Oldest first, always the whole list. Dissolved groups are left out.',
  callers: 'groupUser',
  scopes: ['groups'],
  data: array(int64(), { description: 'group IDs' }),
})

/**
 * Atomic. A ban of the new owner ends. Transfer to the present owner succeeds and changes nothing.
 * Members are notified. Rule F4a.
 */
export const transferGroup = operation({
  id: 'group.transfer',
  methods: putOrPost,
  path: '/group/transfer',
  tag: 'Groups',
  summary: 'Passes a group to another member; the old owner becomes an ordinary member.',
  callers: 'groupMember',
  scopes: ['groups'],
  right: 'transfer',
  body: { ...group, new_owner: id('user ID of the new owner') },
  data: UserResult,
  errors: [...ownerErrors, 'new_owner_not_member', 'created_group_limit_reached'],
})

function groupText<const Name extends string>(
  name: Name,
  path: string,
  summary: string,
  value: typeof description,
) {
  return operation({
    id: `group.${name}.update` as const,
    methods: putOrPost,
    path,
    tag: 'Groups',
    summary,
    description: 'Admins may, and members when member_modify is true.',
    callers: 'groupMember',
    scopes: ['groups'],
    right: 'modify',
    body: { ...group, value },
    data: done,
    errors: adminErrors,
  })
}

/** The present value changes nothing and notifies no member; a change notifies the whole group. */
export const setGroupName = groupText('name', '/group/info/name', 'Names a group.', groupName)

/** Same as {@link setGroupName}; "" removes it. Rule F8b. */
export const setGroupAvatar = groupText(
  'avatar',
  '/group/info/avatar',
  'Sets the avatar of a group.',
  avatar,
)

/** Same as {@link setGroupName}. */
export const setGroupDescription = groupText(
  'description',
  '/group/info/description',
  'Describes a group.',
  description,
)

/** Same as {@link setGroupName}. The service does not interpret it. */
export const setGroupExt = groupText(
  'ext',
  '/group/info/ext',
  'Sets the extension information of a group.',
  ext,
)
