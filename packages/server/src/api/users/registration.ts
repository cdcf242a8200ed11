import {
  AppError,
  checkUsername,
  type Item,
  registerAnonymousUser,
  registerUser,
  registerUserForPush,
  registerUsers,
} from '@hermod/protocol'
import type {
  Outcome,
  Registration,
  RegistrationService,
} from '../../domain/users/registration-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { inOrder, rawUsername, validOnly } from '../item-list.js'
import { toSettings } from './settings.js'

export function registrationHandlers({
  registrations,
}: {
  readonly registrations: RegistrationService
}): Handler[] {
  return [
    handle(registerUser, async (params, { caller }) => {
      const { userId, settings } = await registrations.register(caller, params)
      return data(toSettings(userId, settings))
    }),
    handle(
      registerUserForPush,
      async (
        { device_guid: deviceGuid, push_token: pushToken, ...params },
        { caller, userAgent },
      ) => {
        const { userId, settings } = await registrations.registerForPush(caller, {
          ...params,
          userAgent,
          deviceGuid,
          pushToken,
        })
        return data(toSettings(userId, settings))
      },
    ),
    handle(registerUsers, async ({ list = [] }, { caller }) => {
      const outcomes = await registrations.registerMany(caller.appId, validOnly(list))
      return data(inOrder(list, outcomes, toResult))
    }),
    handle(
      registerAnonymousUser,
      async ({ username: prefix, password, cid: contactId }, { caller }) => {
        const { userId, username } = await registrations.registerAnonymous(caller, {
          prefix,
          password,
          contactId,
        })
        return data({ user_id: userId, username })
      },
    ),
    handle(checkUsername, async ({ username }, { caller }) =>
      data(await registrations.isFree(caller.appId, username)),
    ),
  ]
}

function toResult(outcome: Outcome, item: Item<Registration>) {
  const username = 'value' in item ? item.value.username : rawUsername(item)
  return outcome instanceof AppError
    ? { user_id: 0, success: false, reason: outcome.message, username }
    : { user_id: outcome, success: true, username }
}
