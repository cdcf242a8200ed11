import { sql } from '../../db/kysely.js'
import type { IntegrityCheck } from './integrity-check.js'

const endpoint = sql.raw('e.app_id = r.app_id and e.endpoint_id = r.endpoint_id')

/** Checks that no row is of a missing endpoint. */
const ownerChecks = ['webhook_events', 'webhook_attempts'].map(
  (table): IntegrityCheck => ({
    name: `${table.slice(0, -1)}_owner`,
    count: sql`select count(*) as count from ${sql.table(table)}`,
    faults: sql`select distinct r.app_id, '' || r.endpoint_id as subject, 'rows of an endpoint that does not exist' as detail
      from ${sql.table(table)} r where not exists (select 1 from webhook_endpoints e where ${endpoint})`,
  }),
)

/** Endpoints of webhooks, their waiting events and their attempts. */
export const webhookChecks: readonly IntegrityCheck[] = [
  {
    name: 'webhook_position',
    count: sql`select count(*) as count from webhook_endpoints`,
    faults: sql`select e.app_id, '' || e.endpoint_id as subject,
        'is at ' || e.position || ' of an outbox that ends at ' || coalesce(h.position, 0) as detail
      from webhook_endpoints e left join outbox_heads h on h.app_id = e.app_id
      where e.position > coalesce(h.position, 0)`,
  },
  {
    name: 'webhook_disabled',
    count: sql`select count(*) as count from webhook_endpoints`,
    faults: sql`select app_id, '' || endpoint_id as subject,
        'was disabled because ' || case state_reason when 'gone' then 'it answered 410' else 'it failed for three days' end
          || '; enable it with hermod webhook update, or delete it' as detail
      from webhook_endpoints where state = 'disabled' and state_reason in ('gone', 'failing')`,
  },
  ...ownerChecks,
]
