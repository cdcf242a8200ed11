import {
  AppError,
  checkUsername,
  registerAnonymousUser,
  registerUser,
  registerUserForPush,
  registerUsers,
} from '@hermod/protocol'
import type {
  Registrar,
  RegistrationService,
} from '../../domain/users/registration/registration-service.js'
import { type CallContext, data, type Handler, handle } from '../../pipeline/call.js'
import { itemResults, toSuccessFields, usernameOf } from '../item-list.js'
import { toSettings } from './settings.js'

export function registrationHandlers({
  registrations,
}: {
  readonly registrations: RegistrationService
}): Handler[] {
  return [
    handle(registerUser, async (params, context) => {
      const { userId, settings } = await registrations.register(registrarOf(context), params)
      return data(toSettings(userId, settings))
    }),
    handle(
      registerUserForPush,
      async ({ device_guid: deviceGuid, push_token: pushToken, ...params }, context) => {
        const { userId, settings } = await registrations.registerForPush(registrarOf(context), {
          ...params,
          userAgent: context.userAgent,
          deviceGuid,
          pushToken,
        })
        return data(toSettings(userId, settings))
      },
    ),
    handle(registerUsers, async ({ list = [] }, { principal }) => {
      const results = await itemResults(list, {
        toEntry: (registration) => registration,
        work: (entries) => registrations.registerMany(principal.appId, entries),
        toResult: (outcome, item) => ({
          user_id: outcome instanceof AppError ? 0 : outcome,
          ...toSuccessFields(outcome),
          username: usernameOf(item),
        }),
      })
      return data(results)
    }),
    handle(
      registerAnonymousUser,
      async ({ username: prefix, password, cid: contactId }, context) => {
        const { userId, username } = await registrations.registerAnonymous(registrarOf(context), {
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

function registrarOf({ principal: { kind, appId }, address }: CallContext<'anyone'>): Registrar {
  return { kind, appId, address }
}
