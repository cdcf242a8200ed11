import {
  AppError,
  checkUsername,
  type Item,
  registerAnonymousUser,
  registerUser,
  registerUserForPush,
  registerUsers,
} from '@hermod/protocol'
import type { Outcome, Registration } from '../../domain/users/registration-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { inOrder, rawUsername, validOnly } from '../item-list.js'
import type { HandlerServices } from '../services.js'
import { toSettings } from './settings.js'

export function registrationHandlers({
  registrations,
}: Pick<HandlerServices, 'registrations'>): Handler[] {
  return [
    handle(registerUser, async (params, { principal }) => {
      const { userId, settings } = await registrations.register(principal, params)
      return data(toSettings(userId, settings))
    }),
    handle(
      registerUserForPush,
      async (
        { device_guid: deviceGuid, push_token: pushToken, ...params },
        { principal, userAgent },
      ) => {
        const { userId, settings } = await registrations.registerForPush(principal, {
          ...params,
          userAgent,
          deviceGuid,
          pushToken,
        })
        return data(toSettings(userId, settings))
      },
    ),
    handle(registerUsers, async ({ list = [] }, { principal }) => {
      const outcomes = await registrations.registerMany(principal.appId, validOnly(list))
      return data(inOrder(list, outcomes, toRegistered))
    }),
    handle(
      registerAnonymousUser,
      async ({ username: prefix, password, cid: contactId }, { principal }) => {
        const { userId, username } = await registrations.registerAnonymous(principal, {
          prefix,
          password,
          contactId,
        })
        return data({ user_id: userId, username })
      },
    ),
    handle(checkUsername, async ({ username }, { principal }) =>
      data(await registrations.isFree(principal.appId, username)),
    ),
  ]
}

function toRegistered(outcome: Outcome, item: Item<Registration>) {
  const username = 'value' in item ? item.value.username : rawUsername(item)
  return outcome instanceof AppError
    ? { user_id: 0, success: false, reason: outcome.message, username }
    : { user_id: outcome, success: true, username }
}
