import type { AppSettings } from '@hermod/protocol'
import type { Queryable } from '../../db/database.js'
import { parseSettings } from './app-model.js'

/** The stored settings of an app, for a transaction, which must not wait for another connection. */
export async function readAppSettings(db: Queryable, appId: string): Promise<AppSettings> {
  const row = await db
    .selectFrom('apps')
    .select('settings')
    .where('app_id', '=', appId)
    .executeTakeFirst()
  return parseSettings(row?.settings ?? '{}')
}
