import { disableUsers, enableUsers, listUsers } from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function userAdministrationHandlers({
  accounts,
}: {
  readonly accounts: AccountService
}): Handler[] {
  return [
    handle(listUsers, async ({ page_num: number, page_size: size }, { caller }) => {
      const users = await accounts.list(caller.appId, { number, size })
      return data(
        users.map(({ userId, username, status }) => ({ user_id: userId, username, status })),
      )
    }),
    handle(disableUsers, async ({ list }, { caller }) => {
      await accounts.setEnabled(caller.appId, list, false)
      return data(true)
    }),
    handle(enableUsers, async ({ list }, { caller }) => {
      await accounts.setEnabled(caller.appId, list, true)
      return data(true)
    }),
  ]
}
