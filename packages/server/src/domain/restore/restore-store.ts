import type { Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'

/** Events that are going to be sent to the endpoints of an application. */
export interface UnsentEvents {
  readonly appId: string
  readonly count: number
  /** Milliseconds since 1970; 0: not known, since the row of the oldest one is gone. */
  readonly oldestAt: number
}

/** The contents of restored data, for its operator. */
export class RestoreStore {
  /** The newest message of all applications; 0: there is none. */
  async newestMessageId(db: Queryable): Promise<number> {
    const { id } = await db
      .selectFrom('outbox_heads')
      .select(
        sql<
          number | null
        >`max(case when last_msg_id > last_broadcast_id then last_msg_id else last_broadcast_id end)`.as(
          'id',
        ),
      )
      .executeTakeFirstOrThrow()
    return Number(id ?? 0)
  }

  /**
   * Lists what enabled endpoints have not got: positions after theirs, and events that wait for
   * another attempt. A position may have several messages, or events that the endpoint does not want.
   */
  async listUnsentEvents(db: Queryable): Promise<UnsentEvents[]> {
    const { rows } = await sql<UnsentEvents>`
      select e.app_id as "appId",
        sum(coalesce(h.position, 0) - e.position
          + (select count(*) from webhook_events w where w.app_id = e.app_id
            and w.endpoint_id = e.endpoint_id and w.state = 'waiting')) as count,
        min(coalesce((select min(w.created_at) from webhook_events w where w.app_id = e.app_id
            and w.endpoint_id = e.endpoint_id and w.state = 'waiting'),
          (select o.created_at from outbox o where o.app_id = e.app_id and o.position > e.position
            order by o.position limit 1), 0)) as "oldestAt"
      from webhook_endpoints e
      join apps a on a.app_id = e.app_id and a.status = 0
      left join outbox_heads h on h.app_id = e.app_id
      where e.state = 'enabled'
      group by e.app_id
      order by e.app_id`.execute(db)
    return rows
      .map(({ appId, count, oldestAt }) => ({
        appId,
        count: Number(count),
        oldestAt: Number(oldestAt),
      }))
      .filter(({ count }) => count > 0)
  }
}
