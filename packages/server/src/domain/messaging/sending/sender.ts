import { AppError, type Int64 } from '@hermod/protocol'
import type { AccountService } from '../../users/account-service.js'
import { systemUserId } from '../../users/system-user.js'

/** The caller of a send: a user, or an Admin token, alone or for a user. */
export type SendingCaller = { readonly appId: string } & (
  | { readonly isAdminToken: false; readonly userId: Int64; readonly deviceSn: number | null }
  | { readonly isAdminToken: true; readonly userId: Int64 | null; readonly deviceSn: null }
)

/**
 * The sender of a message (rule C5).
 * @throws AppError no_permission, user_not_found, user_deleted
 */
export async function senderOf(
  accounts: AccountService,
  caller: SendingCaller,
  fromUserId: Int64 | undefined,
): Promise<Int64> {
  if (!caller.isAdminToken) {
    if (fromUserId !== undefined && fromUserId !== caller.userId)
      throw new AppError('no_permission', 'from_user_id names another user')
    return caller.userId
  }
  const senderId = fromUserId ?? caller.userId ?? systemUserId
  return senderId === systemUserId ? senderId : presentSender(accounts, caller.appId, senderId)
}

async function presentSender(
  accounts: AccountService,
  appId: string,
  senderId: Int64,
): Promise<Int64> {
  const state = await accounts.findState(appId, senderId)
  if (!state || state.isDeleted)
    throw new AppError(state ? 'user_deleted' : 'user_not_found', `sender ${senderId}`)
  return senderId
}
