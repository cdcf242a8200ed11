import { PushPreferenceService } from '../../domain/push/preferences/push-preference-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import type { Foundation } from '../foundation.js'

export function createPush(
  { database, stores }: Foundation,
  { accounts }: { readonly accounts: AccountService },
): { readonly pushPreferences: PushPreferenceService } {
  return {
    pushPreferences: new PushPreferenceService({
      database,
      store: stores.pushPreferences,
      users: stores.users,
      accounts,
    }),
  }
}
