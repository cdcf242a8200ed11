import { camelCase } from '../../db/columns.js'
import { sql } from '../../db/kysely.js'
import { lostHistoriesTable } from '../../db/schema.js'
import type { IntegrityCheck } from './integrity-check.js'

/** Losses of history that no operator has acknowledged. */
export const historyChecks: readonly IntegrityCheck[] = [
  {
    name: 'lost_history',
    count: sql`select count(*) as count from lost_histories`,
    async faults(db, limit) {
      const rows = await db
        .selectFrom('lost_histories')
        .select(camelCase(lostHistoriesTable))
        .orderBy('epoch')
        .orderBy('app_id')
        .limit(limit)
        .execute()
      return rows.map(({ appId, epoch, position, time, head, timeNow }) => ({
        app_id: appId,
        subject: epoch,
        detail: `a node had the event ${position} of ${timeText(time)}, and the database ${
          timeNow === null ? `ended at ${head}` : `had another event there, of ${timeText(timeNow)}`
        }; events up to it may be lost, as after a failover to a standby that lagged`,
      }))
    },
  },
]

function timeText(time: number): string {
  return time === 0 ? 'an unknown time' : new Date(time).toISOString()
}
