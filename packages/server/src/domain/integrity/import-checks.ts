import { sql } from '../../db/kysely.js'
import type { IntegrityCheck } from './integrity-check.js'

/** The ends of imports from other systems. */
export const importChecks: readonly IntegrityCheck[] = [
  {
    name: 'finished_import',
    count: sql`select count(*) as count from imports`,
    faults: sql`select m.app_id, m.source as subject,
        'is finished and has external IDs left; repeat /operator/v1/import/finish, unless it is running' as detail
      from imports m
      where m.finished_at is not null
        and exists (select 1 from imported_items i where i.app_id = m.app_id and i.source = m.source)`,
  },
  {
    name: 'import_position',
    count: sql`select count(*) as count from imports`,
    faults: sql`select m.app_id, m.source as subject,
        'ended at position ' || m.position || ' of an outbox that ends at ' || coalesce(h.position, 0) as detail
      from imports m left join outbox_heads h on h.app_id = m.app_id
      where m.position > coalesce(h.position, 0)`,
  },
]
