import type { Tx } from '../../../db/database.js'
import { lockKeyShare } from '../../../db/locking.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import type { EndpointKey } from './endpoint-model.js'

/**
 * Returns those rows whose endpoints exist, and keeps these until the end of the transaction. A
 * request may end after its endpoint was deleted.
 */
export async function ofExistingEndpoints<Row extends EndpointKey>(
  tx: Tx,
  rows: readonly Row[],
): Promise<Row[]> {
  const distinct = <Value>(values: readonly Value[]) => paddedForPlanCache([...new Set(values)])
  const found = await lockKeyShare(
    tx,
    tx
      .selectFrom('webhook_endpoints')
      .select(['app_id', 'endpoint_id'])
      .where('app_id', 'in', distinct(rows.map(({ appId }) => appId)))
      .where('endpoint_id', 'in', distinct(rows.map(({ endpointId }) => endpointId))),
  ).execute()
  const known = new Set(found.map(({ app_id, endpoint_id }) => `${app_id}/${endpoint_id}`))
  return rows.filter(({ appId, endpointId }) => known.has(`${appId}/${endpointId}`))
}
