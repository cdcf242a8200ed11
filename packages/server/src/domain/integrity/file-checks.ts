import { sql } from '../../db/kysely.js'
import type { IntegrityCheck } from './integrity-check.js'

/** Counts of files. */
export const fileChecks: readonly IntegrityCheck[] = [
  {
    name: 'file_usage',
    count: sql`select count(*) as count from files`,
    faults: sql`select u.app_id, 'files' as subject,
        'counts ' || u.files || ' files of ' || u.bytes || ' bytes, where there are ' || coalesce(f.files, 0) || ' of ' || coalesce(f.bytes, 0) as detail
      from file_usage u
      left join (select app_id, count(*) as files, sum(size) as bytes from files group by app_id) f on f.app_id = u.app_id
      where u.files <> coalesce(f.files, 0) or u.bytes <> coalesce(f.bytes, 0)
      union all
      select f.app_id, 'files' as subject, 'has ' || count(*) || ' files that are not counted' as detail
      from files f where not exists (select 1 from file_usage u where u.app_id = f.app_id) group by f.app_id`,
  },
]
