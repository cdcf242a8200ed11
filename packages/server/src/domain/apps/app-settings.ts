import type { AppSettings } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import { parseSettings } from './app-model.js'

/** The settings of an application, for a transaction, which must not wait for another connection. */
export async function readAppSettings(tx: Tx, appId: string): Promise<AppSettings> {
  const row = await tx
    .selectFrom('apps')
    .select('settings')
    .where('app_id', '=', appId)
    .executeTakeFirst()
  return parseSettings(row?.settings ?? '{}')
}
