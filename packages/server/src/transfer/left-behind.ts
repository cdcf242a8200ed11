import type { Queryable } from '../db/database.js'
import { sql } from '../db/kysely.js'
import type { LeftBehind } from './manifest.js'

/** Lists the applications of a database with what a portable export leaves out of each. */
export async function listLeftBehind(db: Queryable): Promise<Readonly<Record<string, LeftBehind>>> {
  const { rows } = await sql<{ app: string; what: string | null; count: number }>`
    select a.app_id as app, c.what, c.count from apps a left join (
      select app_id, 'admin_tokens' as what, count(*) as count from admin_tokens
        where revoked_at is null group by app_id
      union all select app_id, 'registration_secret', 1 from apps where registration_secret <> ''
      union all select app_id, 'identity_issuers', count(*) from identity_issuers group by app_id
      union all select app_id, 'push_certificates', count(*) from push_certificates group by app_id
      union all select app_id, 'webhook_endpoints', count(*) from webhook_endpoints group by app_id
      union all select app_id, 'event_consumers', count(*) from event_consumers group by app_id
    ) c on c.app_id = a.app_id order by a.app_id, c.what`.execute(db)
  // Names of properties of every object may be application IDs.
  const apps = new Map<string, [string, number][]>()
  for (const { app, what, count } of rows) {
    const had = apps.get(app) ?? []
    if (what !== null) had.push([what, Number(count)])
    apps.set(app, had)
  }
  return Object.fromEntries([...apps].map(([app, had]) => [app, Object.fromEntries(had)]))
}
