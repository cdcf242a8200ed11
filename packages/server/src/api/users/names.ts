import { setEmail, setMobile, setUsername } from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import type { ProfileService, UniqueField } from '../../domain/users/profile-service.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser, actorOf } from '../acting-user.js'

interface NameServices {
  readonly accounts: AccountService
  readonly profiles: ProfileService
}

/** By what a user may log in. */
export function nameHandlers({ accounts, profiles }: NameServices): Handler[] {
  const set = async ({ caller }: CallContext, field: UniqueField, value: string) => {
    const { appId, userId } = await actingUser(accounts, caller)
    await profiles.setUnique(appId, actorOf(caller), { userId, field, value })
    return data(true)
  }
  return [
    handle(setMobile, ({ mobile }, context) => set(context, 'mobile', mobile)),
    handle(setEmail, ({ email }, context) => set(context, 'email', email)),
    handle(setUsername, ({ username }, context) => set(context, 'username', username)),
  ]
}
