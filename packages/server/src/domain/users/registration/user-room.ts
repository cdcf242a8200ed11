import type { Tx } from '../../../db/database.js'
import type { App } from '../../apps/app-model.js'
import type { AppService } from '../../apps/app-service.js'
import type { UserCountStore } from './user-count-store.js'

/**
 * Returns how many more users the app may have; a limit locks the app.
 * @param known the app before the transaction; without a limit nothing is locked
 * @throws AppError app_not_found
 */
export async function userRoom(
  tx: Tx,
  known: App,
  { apps, counts }: { readonly apps: AppService; readonly counts: UserCountStore },
): Promise<number> {
  if (known.settings.user_limit === 0) return Number.POSITIVE_INFINITY
  const { appId, settings } = await apps.lockForUpdate(tx, known.appId)
  return settings.user_limit === 0
    ? Number.POSITIVE_INFINITY
    : settings.user_limit - (await counts.find(tx, appId)).users
}
