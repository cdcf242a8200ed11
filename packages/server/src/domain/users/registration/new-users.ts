import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { UserStore } from '../user-store.js'
import type { UserCountStore } from './user-count-store.js'

/**
 * Counts the users that the transaction has added. Call it last: broadcasts wait from then on (rule
 * E9).
 * @param seen the last broadcast that their rows name
 */
export async function countNewUsers(
  tx: Tx,
  { counts, users }: { readonly counts: UserCountStore; readonly users: UserStore },
  {
    appId,
    userIds,
    seen,
  }: { readonly appId: string; readonly userIds: readonly Int64[]; readonly seen: number },
): Promise<void> {
  if (userIds.length === 0) return
  const { lastBroadcastId } = await counts.add(tx, appId, userIds.length)
  // A broadcast was sent after the rows were written.
  if (lastBroadcastId > seen) await users.setBroadcastsAfter(tx, appId, userIds, lastBroadcastId)
}
