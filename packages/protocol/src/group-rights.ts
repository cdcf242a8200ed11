/** Rights in a group (rules F3, F9, F10). All group operations use this one table. */
import type { ErrorName } from './errors.js'

/** In ascending order; an outsider is a user of the application who is not a member. */
export const groupRoles = ['outsider', 'member', 'admin', 'owner'] as const
/** One of {@link groupRoles}. */
export type GroupRole = (typeof groupRoles)[number]

/** Error for a caller with a lower role than required. */
export const roleErrors = {
  member: 'member_required',
  admin: 'group_admin_required',
  owner: 'group_owner_required',
} as const satisfies Record<Exclude<GroupRole, 'outsider'>, ErrorName>

/** Group settings that give ordinary members a right of admins. */
export type MemberSetting = 'member_invite' | 'member_modify'

/** A right: the roles that have it, and the error for the others. */
export interface GroupRight {
  readonly meaning: string
  /** The lowest role that has the right. */
  readonly from: GroupRole
  /** Members also have the right while this setting of the group is on. */
  readonly membersWith?: MemberSetting
  /** Outsiders also have the right in public groups and chatrooms, and with an invitation. */
  readonly opensToOutsiders?: true
  /** The action applies to users with a lower role than the caller's. */
  readonly overLower?: true
  /**
   * Members also have the right over things that they added; this error applies to things of
   * others.
   */
  readonly ownThings?: ErrorName
  /** Concerns one user, so that user's own role decides, not the rights of an Admin token. */
  readonly isPersonal?: true
  /** Error for callers without the right, if other than that of the role. */
  readonly refusal?: ErrorName
}

const right = <const R extends GroupRight>(definition: R) => definition

/**
 * An Admin token alone has the role of the owner. With a group_id header it has the role of an
 * admin of that group, or the higher role of the user in its user_id header, and no rights in other
 * groups. With a user_id header alone it has the role of that user.
 */
export const groupRights = {
  info: right({
    meaning: 'read the group and its settings',
    from: 'member',
    opensToOutsiders: true,
  }),
  read: right({ meaning: 'read members, announcements, shared files and history', from: 'member' }),
  join: right({
    meaning: 'apply, answer an invitation, join by QR code',
    from: 'outsider',
    isPersonal: true,
  }),
  own: right({
    meaning: 'leave; set the own display name and message settings',
    from: 'member',
    isPersonal: true,
    refusal: 'not_group_member',
  }),
  invite: right({
    meaning: 'invite users, make QR codes',
    from: 'admin',
    membersWith: 'member_invite',
  }),
  modify: right({
    meaning: 'change name, avatar, description and ext',
    from: 'admin',
    membersWith: 'member_modify',
  }),
  settings: right({ meaning: 'change settings, ban the whole group', from: 'admin' }),
  add: right({ meaning: 'handle join requests, add users without asking them', from: 'admin' }),
  moderate: right({ meaning: 'kick, ban, unban, block', from: 'admin', overLower: true }),
  unblock: right({ meaning: 'read the block list and take users off it', from: 'admin' }),
  announce: right({ meaning: 'publish and delete announcements', from: 'admin' }),
  pin: right({
    meaning: 'pin and unpin messages',
    from: 'admin',
    membersWith: 'member_modify',
  }),
  share: right({ meaning: 'share files', from: 'member' }),
  files: right({
    meaning: 'rename and delete shared files',
    from: 'admin',
    ownThings: 'shared_file_forbidden',
  }),
  recall: right({ meaning: 'recall messages of others', from: 'admin', overLower: true }),
  appoint: right({ meaning: 'make admins and make them members again', from: 'owner' }),
  capacity: right({ meaning: 'set the capacity', from: 'owner' }),
  transfer: right({ meaning: 'pass the group to another member', from: 'owner' }),
  dissolve: right({ meaning: 'dissolve the group', from: 'owner' }),
} as const satisfies Record<string, GroupRight>

/**
 * Name of a right in {@link groupRights}; each operation about a group names the right that it
 * needs.
 */
export type GroupRightName = keyof typeof groupRights
