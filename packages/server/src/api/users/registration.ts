import { AppError, type Item, registerUser, registerUserForPush, registerUsers, type UserSettings } from '@hermod/protocol'
import type { AccountService, Registration, RegistrationResult } from '../../domain/accounts/account-service.js'
import type { UserSettings as StoredSettings } from '../../domain/accounts/user-model.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function registrationHandlers({ accounts }: { readonly accounts: AccountService }): Handler[] {
  return [
    handle(registerUser, async (params, { caller }) => {
      const { userId, settings } = await accounts.register(caller, params)
      return data(toSettings(userId, settings))
    }),
    handle(registerUserForPush, async ({ device_guid, push_token, ...params }, { caller, userAgent }) => {
      const { userId, settings } = await accounts.registerForPush(caller, {
        ...params,
        userAgent,
        ...(device_guid === undefined ? {} : { deviceGuid: device_guid }),
        ...(push_token === undefined ? {} : { pushToken: push_token }),
      })
      return data(toSettings(userId, settings))
    }),
    handle(registerUsers, async ({ list = [] }, { caller }) => {
      const results = (await accounts.registerMany(caller.appId, list.flatMap(validOnly))).values()
      return data(list.map((item) => ('fault' in item ? malformed(item) : toResult(results.next().value as RegistrationResult))))
    }),
  ]
}

function validOnly<T>(item: Item<T>): T[] {
  return 'value' in item ? [item.value] : []
}

function malformed({ fault, raw }: { readonly fault: string; readonly raw: unknown }) {
  const { username } = (typeof raw === 'object' && raw !== null ? raw : {}) as Partial<Registration>
  const reason = new AppError('invalid_parameter', fault).message
  return { user_id: 0, success: false, reason, username: typeof username === 'string' ? username : '' }
}

function toResult(result: RegistrationResult) {
  const { username } = result
  return 'reason' in result
    ? { user_id: 0, success: false, reason: result.reason, username }
    : { user_id: result.userId, success: true, username }
}

/** The User settings resource; flags are 0 or 1 in the store. */
export function toSettings(userId: UserSettings['user_id'], stored: StoredSettings): UserSettings {
  const { auto_download, group_confirm, no_push, no_push_detail, no_sounds, vibratory, ...rest } = stored
  return {
    ...rest,
    auto_download: auto_download === 1,
    group_confirm: group_confirm === 1,
    no_push: no_push === 1,
    no_push_detail: no_push_detail === 1,
    no_sounds: no_sounds === 1,
    vibratory: vibratory === 1,
    id: userId,
    user_id: userId,
  }
}
