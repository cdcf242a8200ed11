import {
  type AppCaller,
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
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser, actorOf } from '../acting-user.js'
import { inOrder, rawUserId, validOnly } from '../item-list.js'

interface ProfileServices {
  readonly accounts: AccountService
  readonly profiles: ProfileService
}

/** A changed profile as it comes in a list; without user_id it is the caller's own. */
interface Entry extends ProfileChanges {
  readonly user_id?: Int64
}

export function profileHandlers({ accounts, profiles }: ProfileServices): Handler[] {
  const change = async (caller: AppCaller, changes: ProfileChanges) => {
    const { appId, userId } = await actingUser(accounts, caller)
    await profiles.update(appId, actorOf(caller), { userId, changes })
    return data(true)
  }
  const changeMany = async (caller: AppCaller, list: readonly Item<Entry>[]) => {
    const entries = validOnly(list).map(({ user_id: userId = callerId(caller), ...changes }) => ({
      userId,
      changes,
    }))
    const refused = entries.map(({ userId }) => refusal(caller, userId))
    const allowed = entries.filter((_, index) => refused[index] === null)
    const outcomes = (await profiles.updateMany(caller.appId, actorOf(caller), allowed)).values()
    const results = refused.map((error) => error ?? (outcomes.next().value as AppError | null))
    return data(inOrder(list, results, (error, item) => toResult(error, userOf(item, caller))))
  }
  return [
    handle(getProfile, async (_, { caller }) => {
      const { appId, userId } = await actingUser(accounts, caller)
      return data(toProfile(await accounts.get(appId, userId)))
    }),
    handle(updateProfile, (changes, { caller }) => change(caller, changes)),
    handle(setAvatar, (changes, { caller }) => change(caller, changes)),
    handle(setNickname, (changes, { caller }) => change(caller, changes)),
    handle(setPrivateInfo, ({ value: private_info }, { caller }) =>
      change(caller, { private_info }),
    ),
    handle(setPublicInfo, ({ value: public_info }, { caller }) => change(caller, { public_info })),
    handle(updateProfiles, ({ list = [] }, { caller }) => changeMany(caller, list)),
    handle(updateAvatars, ({ list = [] }, { caller }) => changeMany(caller, list)),
  ]
}

/** 0, whom nobody is, where an Admin token acts for no user. */
function callerId(caller: AppCaller): Int64 {
  return (caller.kind === 'anonymous' ? null : caller.userId) ?? 0
}

/** A user token may name only its own user (decision C6a). */
function refusal(caller: AppCaller, userId: Int64): AppError | null {
  if (caller.kind === 'user' && userId !== caller.userId) return new AppError('no_permission')
  return userId === 0 ? new AppError('invalid_parameter', 'user_id is required') : null
}

function userOf(item: Item<Entry>, caller: AppCaller): Int64 {
  return 'value' in item ? (item.value.user_id ?? callerId(caller)) : rawUserId(item)
}

function toResult(error: AppError | null, userId: Int64) {
  return error
    ? { user_id: userId, success: false, reason: error.message }
    : { user_id: userId, success: true }
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
