import { type AppCaller, AppError, type Int64 } from '@hermod/protocol'
import type { AccountService } from '../domain/users/account-service.js'
import { systemUserId } from '../domain/users/system-user.js'

/**
 * The user that a user-centric call is about: the token's own, or the one that an Admin token names.
 * @throws AppError user_not_found, user_deleted when an Admin token names somebody who is not there
 */
export async function actingUser(
  accounts: AccountService,
  caller: AppCaller,
): Promise<{ appId: string; userId: Int64 }> {
  const { appId } = caller
  if (caller.kind === 'user') return { appId, userId: caller.userId }
  const userId = caller.kind === 'admin' ? caller.userId : null
  if (userId === null) throw new AppError('no_permission')
  await accounts.requireUser(appId, userId)
  return { appId, userId }
}

/** Who presses the button: the user, or the system where an Admin token is used. */
export function actorOf(caller: AppCaller): Int64 {
  return caller.kind === 'user' ? caller.userId : systemUserId
}
