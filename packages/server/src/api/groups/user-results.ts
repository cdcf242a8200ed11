import type { Int64, UserResult } from '@hermod/protocol'
import type { ItemOutcome } from '../../domain/item-outcome.js'
import { idResults, toOutcomeFields } from '../item-list.js'

/**
 * Returns the result of each user of a list.
 * @param work gives one outcome for each of the distinct users, in their order
 */
export function userResults(
  userIds: readonly Int64[],
  work: (userIds: readonly Int64[]) => Promise<readonly ItemOutcome[]>,
): Promise<UserResult[]> {
  return idResults(userIds, work, toUserResult)
}

/** The result for one user; success unless the outcome is a refusal. */
export function toUserResult(userId: Int64, outcome: ItemOutcome = null): UserResult {
  return { user_id: userId, ...toOutcomeFields(outcome) }
}
