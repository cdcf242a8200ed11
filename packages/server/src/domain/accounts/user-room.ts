import type { Tx } from '../../db/database.js'
import type { Application } from '../applications/application-model.js'
import type { ApplicationService } from '../applications/application-service.js'
import type { UserStore } from './user-store.js'

/**
 * How many more users the application may have; a limit is kept by counting under a lock.
 * @param known the application as it was before the transaction; without a limit nothing is locked
 * @throws AppError application_not_found
 */
export async function userRoom(
  tx: Tx,
  known: Application,
  { applications, users }: { readonly applications: ApplicationService; readonly users: UserStore },
): Promise<number> {
  if (known.settings.user_limit === 0) return Number.POSITIVE_INFINITY
  const { appId, settings } = await applications.lock(tx, known.appId)
  return settings.user_limit === 0
    ? Number.POSITIVE_INFINITY
    : settings.user_limit - (await users.count(tx, appId))
}
