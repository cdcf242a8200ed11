import { getProfile, type UserProfile, updateProfile } from '@hermod/protocol'
import type { AccountService } from '../../domain/accounts/account-service.js'
import type { User } from '../../domain/accounts/user-model.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

export function profileHandlers({ accounts }: { readonly accounts: AccountService }): Handler[] {
  return [
    handle(getProfile, async (_, { caller }) => {
      const { appId, userId } = await actingUser(accounts, caller)
      return data(toProfile(await accounts.get(appId, userId)))
    }),
    handle(updateProfile, async ({ description, nick_name: nickName, private_info: privateInfo, public_info: publicInfo }, { caller }) => {
      const { appId, userId } = await actingUser(accounts, caller)
      await accounts.updateProfile(appId, userId, { description, nickName, privateInfo, publicInfo })
      return data(true)
    }),
  ]
}

function toProfile(user: User): UserProfile {
  return {
    avatar: user.avatar,
    description: user.description,
    email: user.email,
    mobile: user.mobile,
    nick_name: user.nickName,
    private_info: user.privateInfo,
    public_info: user.publicInfo,
    user_id: user.userId,
    username: user.username,
  }
}
