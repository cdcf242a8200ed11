import { changePassword, changePasswordAsAdmin } from '@hermod/protocol'
import type { PasswordService } from '../../domain/login/password-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser, actorOf } from '../acting-user.js'

interface PasswordServices {
  readonly accounts: AccountService
  readonly passwords: PasswordService
}

export function passwordHandlers({ accounts, passwords }: PasswordServices): Handler[] {
  return [
    handle(
      changePassword,
      async ({ new_password: newPassword, old_password: password }, { caller, address: from }) => {
        const acting = await actingUser(accounts, caller)
        const [keptToken, address] =
          caller.kind === 'user' ? [caller.tokenHash, from] : [null, null]
        await passwords.change(
          { ...acting, newPassword, field: 'new_password' },
          { password, address, keptToken, actorId: actorOf(caller) },
        )
        return data(true)
      },
    ),
    handle(changePasswordAsAdmin, async ({ password: newPassword }, { caller }) => {
      await passwords.reset({
        ...(await actingUser(accounts, caller)),
        newPassword,
        field: 'password',
      })
      return data(true)
    }),
  ]
}
