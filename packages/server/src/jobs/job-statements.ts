/** Bulk statements of jobs for procedures. Loaded by the writer's thread too. */

import type { BulkInsert } from '../db/dialect/dialect.js'
import type { Insertable } from '../db/kysely.js'
import { rowOf } from '../db/rows.js'
import type { JobsTable } from '../db/schema.js'

const columns = {
  app_id: 'text',
  job_id: 'bigint',
  kind: 'text',
  payload: 'text',
  run_at: 'bigint',
  created_at: 'bigint',
  updated_at: 'bigint',
} as const

/** Jobs without a key and a deadline. */
export const insertJobs: BulkInsert = { module: import.meta.url, table: 'jobs', columns }

export const jobRow = rowOf(
  columns,
  (job: Pick<Insertable<JobsTable>, keyof typeof columns>) => job,
)
