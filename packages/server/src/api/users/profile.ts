import {
  AppError,
  getProfile,
  type Int64,
  type Item,
  setAvatar,
  setNickname,
  setPrivateInfo,
  setPublicInfo,
  type UserProfile,
  updateAvatars,
  updateProfile,
  updateProfiles,
} from '@hermod/protocol'
import type { AccountService } from '../../domain/users/account-service.js'
import type { ProfileChanges, ProfileService } from '../../domain/users/profile-service.js'
import type { User } from '../../domain/users/user-model.js'
import { type CallContext, data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { itemResults, rawUserId, toSuccessFields } from '../item-list.js'

/** A changed profile in a list; without user_id it is the caller's profile. */
interface ProfileEntry extends ProfileChanges {
  readonly user_id?: Int64
}

export function profileHandlers({
  accounts,
  profiles,
}: {
  readonly accounts: AccountService
  readonly profiles: ProfileService
}): Handler[] {
  const change = ({ principal }: CallContext<'user'>, changes: ProfileChanges) =>
    whenDone(profiles.update(principal, changes))
  const changeMany = async (
    { principal }: CallContext<'userOrAdmin'>,
    list: readonly Item<ProfileEntry>[],
  ) => {
    // 0, which no user has, where an Admin token acts for no user.
    const ownId = principal.userId ?? 0
    const results = await itemResults(list, {
      toEntry: ({ user_id: userId = ownId, ...changes }) => ({ userId, changes }),
      work: (updates) => profiles.updateMany(principal, updates),
      toResult: (outcome, item) => ({
        user_id: listedUser(item, ownId),
        ...toSuccessFields(outcome),
      }),
    })
    return data(results)
  }
  return [
    handle(getProfile, async ({ user_id }, { principal: { appId, userId } }) => {
      const ownerId = user_id ?? userId
      if (ownerId === null)
        throw new AppError(
          'invalid_parameter',
          'user_id or header user_id is required with an Admin token',
        )
      return data(toProfile(await accounts.get(appId, ownerId)))
    }),
    handle(updateProfile, (changes, context) => change(context, changes)),
    handle(setAvatar, (changes, context) => change(context, changes)),
    handle(setNickname, (changes, context) => change(context, changes)),
    handle(setPrivateInfo, ({ value: private_info }, context) => change(context, { private_info })),
    handle(setPublicInfo, ({ value: public_info }, context) => change(context, { public_info })),
    handle(updateProfiles, ({ list = [] }, context) => changeMany(context, list)),
    handle(updateAvatars, ({ list = [] }, context) => changeMany(context, list)),
  ]
}

function listedUser(item: Item<ProfileEntry>, ownId: Int64): Int64 {
  return 'value' in item ? (item.value.user_id ?? ownId) : rawUserId(item)
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
    is_bot: user.isBot,
  }
}
