import {
  addPushTags,
  clearPushTags,
  listPushTags,
  removePushTags,
  setPushAlias,
  setPushBadge,
} from '@hermod/protocol'
import type { PushPreferenceService } from '../../domain/push/push-preference-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly pushPreferences: PushPreferenceService
}

export function pushPreferenceHandlers({ accounts, pushPreferences }: Services): Handler[] {
  return [
    handle(setPushAlias, async ({ alias, push_token: pushToken = '' }, { caller }) => {
      await pushPreferences.setAlias(await actingUser(accounts, caller), alias, pushToken)
      return data(true)
    }),
    handle(setPushBadge, async ({ badge }, { caller }) => {
      await pushPreferences.setBadge(await actingUser(accounts, caller), badge)
      return data(true)
    }),
    handle(listPushTags, async (_, { caller }) =>
      data(await pushPreferences.listTags(await actingUser(accounts, caller))),
    ),
    handle(addPushTags, async ({ tags }, { caller }) => {
      await pushPreferences.addTags(await actingUser(accounts, caller), tags)
      return data(true)
    }),
    handle(removePushTags, async ({ tags }, { caller }) => {
      await pushPreferences.removeTags(await actingUser(accounts, caller), tags)
      return data(true)
    }),
    handle(clearPushTags, async (_, { caller }) => {
      await pushPreferences.clearTags(await actingUser(accounts, caller))
      return data(true)
    }),
  ]
}
