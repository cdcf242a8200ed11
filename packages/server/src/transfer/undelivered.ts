import type { Queryable } from '../db/database.js'
import { sql } from '../db/kysely.js'

/** Work in progress that no export has, such as events that a webhook has not received. */
export interface Undelivered {
  readonly what: string
  readonly count: number
}

/** A long job counts by its own kind, not by that of the job behind it. */
const unfinishedJobs = sql<{ kind: string }>`
  select kind, app_id from jobs where outcome = '' and kind <> 'long_job'
  union all
  select kind, null from long_jobs where state in ('waiting', 'running')`

/**
 * Lists the kinds of unfinished jobs that no export may leave out: they change its rows, such as
 * those that remove the texts and reactions of deleted users.
 * @param apps the exported applications, whose jobs count; null = all. Long jobs always count.
 */
export async function findUnfinishedChanges(
  db: Queryable,
  droppableJobs: readonly string[],
  apps: readonly string[] | null = null,
): Promise<readonly string[]> {
  const { rows } = await sql<{ kind: string; app: string | null }>`
    select distinct kind, app_id as app from (${unfinishedJobs}) j order by kind`.execute(db)
  const isOfThem = (app: string | null) => app === null || (apps?.includes(app) ?? true)
  const kinds = rows.filter(({ app }) => isOfThem(app)).map(({ kind }) => kind)
  return [...new Set(kinds)].filter((kind) => !droppableJobs.includes(kind))
}

/**
 * Lists what an export would drop: the outbox and jobs are not exported, so every follower of the
 * outbox must be at its end. A consumer that is behind reads the current state after an import.
 */
export async function findUndelivered(db: Queryable): Promise<readonly Undelivered[]> {
  const { rows } = await sql<Undelivered>`
    select 'events for the consumer ' || c.consumer as what,
      sum(h.position - coalesce(p.position, 0)) as count
    from (select distinct consumer from outbox_positions) c
    cross join outbox_heads h
    left join outbox_positions p on p.consumer = c.consumer and p.app_id = h.app_id
    where h.position > coalesce(p.position, 0) group by c.consumer
    union all
    select 'events for the webhook ' || e.endpoint_id || ' of ' || e.app_id, h.position - e.position
    from webhook_endpoints e join outbox_heads h on h.app_id = e.app_id
    where e.state = 'enabled' and h.position > e.position
    union all
    select case state when 'dead' then 'dead' else 'waiting' end || ' events of the webhook '
      || endpoint_id || ' of ' || app_id, count(*)
    from webhook_events group by app_id, endpoint_id, state
    union all
    select 'events for the reader ' || c.name || ' of ' || c.app_id, h.position - c.position
    from event_consumers c join outbox_heads h on h.app_id = c.app_id where h.position > c.position
    union all
    select 'jobs of the kind ' || kind, count(*) from (${unfinishedJobs}) j group by kind
    order by 1`.execute(db)
  return rows.map(({ what, count }) => ({ what, count: Number(count) }))
}
