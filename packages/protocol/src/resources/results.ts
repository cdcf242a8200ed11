import { itemOutcomes } from '../enums.js'
import { resource } from '../resource.js'
import { array, boolean, int64, optional, type Static, stringEnum, text } from '../schema.js'

/** Fields of a per-item result, for results with further fields. */
export const itemResultFields = {
  user_id: int64({ description: 'user the item refers to; 0 when there is none' }),
  success: boolean({ description: 'success or not' }),
  reason: optional(text('cause of failure; absent on success')),
}

/** Per-item result of the contract for batches of users. Absent reason means success (rule A6). */
export const ItemResult = resource(
  'ItemResult',
  'The result of one entry of a batch.',
  itemResultFields,
)
/** The result of one entry; a list of them is in the order of the entries. */
export type ItemResult = Static<typeof ItemResult>

/** Fields of a per-user or per-file result of groups. */
export const outcomeFields = {
  result: stringEnum(itemOutcomes, { description: 'success or fail' }),
  reason: optional(text('error message; absent on success')),
}

/**
 * Per-user result of the contract for groups, with a word instead of the boolean of {@link
 * ItemResult}.
 */
export const UserResult = resource('UserResult', 'The result for one user of a group operation.', {
  user_id: int64({ description: 'user ID' }),
  ...outcomeFields,
})
/** The result for one user; lists have the order of the request, without repetitions. */
export type UserResult = Static<typeof UserResult>

/** Data of /group/admin/member_join; the contract leaves its shape open (rule F7). */
export const UserResults = resource(
  'UserResults',
  'The results for the users of a group operation.',
  {
    list: array(UserResult, { description: 'one entry per user' }),
  },
)
/** The results in the order of the request, without repetitions. */
export type UserResults = Static<typeof UserResults>

/** Data of operations for which the contract states only "object" (rules D8, F7). */
export const Nothing = resource('Nothing', 'An object without members.', {})
/** An empty object. */
export type Nothing = Static<typeof Nothing>
