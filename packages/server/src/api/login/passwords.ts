import { changePassword, changePasswordAsAdmin } from '@hermod/protocol'
import type { PasswordService } from '../../domain/login/password-service.js'
import { type Handler, handle, whenDone } from '../../pipeline/call.js'

export function passwordHandlers({
  passwords,
}: {
  readonly passwords: PasswordService
}): Handler[] {
  return [
    handle(
      changePassword,
      ({ new_password: newPassword, old_password: password }, { principal, address: from }) => {
        const { appId, userId, tokenOwnerId: actorId } = principal
        const [tokenHash, address] =
          principal.kind === 'user' ? [principal.tokenHash, from] : [null, null]
        return whenDone(
          passwords.change(
            { appId, userId, newPassword, field: 'new_password' },
            { password, address, tokenHash, actorId },
          ),
        )
      },
    ),
    handle(changePasswordAsAdmin, ({ password: newPassword }, { principal: { appId, userId } }) =>
      whenDone(passwords.reset({ appId, userId, newPassword, field: 'password' })),
    ),
  ]
}
