import { disableUsers, enableUsers, listUsers } from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'

export function userAdministrationHandlers({
  accounts,
}: {
  readonly accounts: AccountService
}): Handler[] {
  return [
    handle(listUsers, async ({ cursor, page_num: number, page_size: size }, { principal }) => {
      const { users, nextCursor } = await accounts.list(principal.appId, { cursor, number, size })
      return {
        data: users.map(({ userId, username, status }) => ({ user_id: userId, username, status })),
        extras: nextCursor === null ? {} : { cursor: nextCursor },
      }
    }),
    handle(disableUsers, ({ list }, { principal }) =>
      whenDone(accounts.setEnabled(principal.appId, list, false)),
    ),
    handle(enableUsers, ({ list }, { principal }) =>
      whenDone(accounts.setEnabled(principal.appId, list, true)),
    ),
  ]
}
