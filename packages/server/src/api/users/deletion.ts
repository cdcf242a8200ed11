import { AppError, deleteUser } from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import type { DeletionService } from '../../domain/users/deletion/deletion-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser, actorOf } from '../acting-user.js'

interface DeletionServices {
  readonly accounts: AccountService
  readonly deletions: DeletionService
}

export function deletionHandlers({ accounts, deletions }: DeletionServices): Handler[] {
  return [
    handle(deleteUser, async ({ password = '' }, { caller, address }) => {
      if (caller.kind === 'user' && password === '')
        throw new AppError('invalid_parameter', 'password is required')
      const acting = await actingUser(accounts, caller)
      const proof = caller.kind === 'user' ? { password, address } : null
      await deletions.delete({ ...acting, actorId: actorOf(caller), proof })
      return data(true)
    }),
  ]
}
