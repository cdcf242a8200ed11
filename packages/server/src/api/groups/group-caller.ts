import {
  type AppCaller,
  AppError,
  type ErrorName,
  errorCatalogue,
  type Int64,
  type UserResult,
} from '@hermod/protocol'
import type { GroupCaller } from '../../domain/groups/core/group-access.js'
import type { Outcomes } from '../../domain/groups/membership/membership-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { systemUserId } from '../../domain/users/system-user.js'
import { actingUser } from '../acting-user.js'

/**
 * Who calls about a group: the user of the token, the user that an Admin token acts for, or the Admin token itself.
 * @param groupId the group that the call is about, when it is about one
 * @throws AppError user_not_found, user_deleted; no_permission when the group_id header names another group (decision C5)
 */
export async function groupCaller(
  accounts: AccountService,
  caller: AppCaller,
  groupId?: Int64,
): Promise<GroupCaller> {
  const { appId } = caller
  const adminOf = caller.kind === 'admin' ? caller.groupId : null
  if (adminOf !== null && groupId !== undefined && adminOf !== groupId)
    throw new AppError('no_permission', 'header group_id names another group')
  const isForNobody = caller.kind === 'admin' && caller.userId === null
  const userId = isForNobody ? null : (await actingUser(accounts, caller)).userId
  return {
    appId,
    userId,
    isAdminToken: caller.kind === 'admin',
    adminOf,
    actorId: userId ?? systemUserId,
  }
}

/** As {@link groupCaller}, of an operation that is about the user. */
export async function groupUser(
  accounts: AccountService,
  caller: AppCaller,
  groupId?: Int64,
): Promise<GroupCaller & { readonly userId: Int64 }> {
  const { userId } = await actingUser(accounts, caller)
  return { ...(await groupCaller(accounts, caller, groupId)), userId }
}

export function toUserResults(outcomes: Outcomes): UserResult[] {
  return [...outcomes].map(([userId, refusal]) => toUserResult(userId, refusal))
}

export function toUserResult(userId: Int64, refusal: ErrorName | null = null): UserResult {
  return refusal === null
    ? { user_id: userId, result: 'success' }
    : { user_id: userId, result: 'fail', reason: errorCatalogue[refusal].text }
}
