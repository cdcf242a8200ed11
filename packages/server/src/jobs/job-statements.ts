/** Bulk statements of jobs for procedures. Loaded by the writer's thread too. */
import type { BulkInsert } from '../db/dialect/dialect.js'
import type { Insertable } from '../db/kysely.js'
import { rowOf } from '../db/rows.js'
import type { JobsTable } from '../db/schema.js'

const columns = {
  app_id: 'text',
  job_id: 'bigint',
  kind: 'text',
  key: 'text',
  payload: 'text',
  run_at: 'bigint',
  created_at: 'bigint',
  updated_at: 'bigint',
} as const

/** Jobs without a deadline. The caller knows that no unfinished job has the same key. */
export const insertJobs: BulkInsert = { table: 'jobs', columns }

/** The values of a row of {@link insertJobs}. */
export type JobValues = Required<Pick<Insertable<JobsTable>, keyof typeof columns>>

/** A row of {@link insertJobs}. */
export const jobRow = rowOf(columns, (job: JobValues) => job)
