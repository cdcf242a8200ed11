/** Bulk statements of jobs for procedures. Loaded by the writer's thread too. */
import { columnsOf, type TableRow } from '../db/columns.js'
import type { BulkInsert } from '../db/dialect/dialect.js'
import { rowOf } from '../db/rows.js'
import { jobsTable } from '../db/schema.js'

const columns = columnsOf(
  jobsTable,
  'app_id',
  'job_id',
  'kind',
  'key',
  'payload',
  'run_at',
  'created_at',
  'updated_at',
)

/** Jobs without a deadline. The caller knows that no unfinished job has the same key. */
export const insertJobs: BulkInsert = {
  table: 'jobs',
  columns,
  instant: { column: 'run_at', now: 'created_at' },
}

/** The values of a row of {@link insertJobs}. */
export type JobValues = TableRow<typeof columns>

/** A row of {@link insertJobs}. */
export const jobRow = rowOf(columns)
