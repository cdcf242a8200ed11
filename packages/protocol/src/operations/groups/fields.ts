/** Parameters and errors that operations about groups share. */
import { groupId } from '../fields.js'

/** The group that the call is about. */
export const group = { group_id: groupId }

/** Errors of every call about one group. */
export const oneGroupErrors = ['group_not_found'] as const

/** Errors of operations for members. */
export const memberErrors = [...oneGroupErrors, 'member_required'] as const

/** Errors of operations for admins. */
export const adminErrors = [...memberErrors, 'group_admin_required'] as const

/** Errors of operations for the owner. */
export const ownerErrors = [...memberErrors, 'group_owner_required'] as const

/** Reasons why a user cannot become a member. */
export const joiningErrors = [
  'already_group_member',
  'group_full',
  'joined_group_limit_reached',
  'kicked_too_often',
  'in_group_block_list',
] as const
