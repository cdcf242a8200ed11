import type { Int64 } from '@hermod/protocol'
import { camelCase, columnsOf, snakeCase, type TableRow } from '../../db/columns.js'
import type { Queryable, StatementTx, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { longJobsTable } from '../../db/schema.js'
import { parseOwnJson } from '../../lib/json.js'
import type { LongJob, LongJobEnd, LongJobState, Progress } from './long-job-model.js'

const shownColumns = columnsOf(
  longJobsTable,
  'job_id',
  'kind',
  'state',
  'is_cancelled',
  'done',
  'total',
  'text',
  'result',
  'error',
  'created_at',
  'started_at',
  'ended_at',
)

/** A run that has begun. */
export interface BegunRun {
  readonly jobId: Int64
  readonly kind: string
  /** JSON, which is read within the bound of runs. */
  readonly params: string
  /** The number of the run, from 1. */
  readonly runs: number
  readonly isCancelled: boolean
}

/** Identifies a run: a later run of the job ends what it may change. */
export type RunKey = Pick<BegunRun, 'jobId' | 'runs'>

/** Literal, because the index of places has unfinished jobs only. */
const isUnfinished = sql<boolean>`ended_at is null`

/** Long jobs and their progress. */
export class LongJobStore {
  /** @returns false when the kind has as many unfinished jobs as it may */
  async insert(
    tx: Tx,
    job: {
      readonly jobId: Int64
      readonly kind: string
      readonly params: object
      readonly createdAt: number
    },
    maxUnfinished: number,
  ): Promise<boolean> {
    const values = snakeCase(longJobsTable, {
      ...job,
      params: JSON.stringify(job.params),
      state: 'waiting',
    })
    for (let slot = 0; slot < maxUnfinished; slot++) {
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('long_jobs')
        .values({ ...values, slot })
        .onConflict((conflict) =>
          conflict.columns(['kind', 'slot']).where(isUnfinished).doNothing(),
        )
        .executeTakeFirstOrThrow()
      if ((numInsertedOrUpdatedRows ?? 0n) > 0n) return true
    }
    return false
  }

  /** @returns null when all of the kind have ended */
  async oldestUnfinished(db: Queryable, kind: string): Promise<Int64 | null> {
    const row = await db
      .selectFrom('long_jobs')
      .select('job_id as jobId')
      .where('kind', '=', kind)
      .where(isUnfinished)
      .orderBy('job_id')
      .limit(1)
      .executeTakeFirst()
    return row?.jobId ?? null
  }

  async list(db: Queryable, before: Int64 | undefined, limit: number): Promise<LongJob[]> {
    const rows = await db
      .selectFrom('long_jobs')
      .select(camelCase(shownColumns))
      .$if(before !== undefined, (query) => query.where('job_id', '<', before as Int64))
      .orderBy('job_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toLongJob)
  }

  /** @returns null when there is none */
  async find(db: Queryable, jobId: Int64): Promise<LongJob | null> {
    const row = await db
      .selectFrom('long_jobs')
      .select(camelCase(shownColumns))
      .where('job_id', '=', jobId)
      .executeTakeFirst()
    return row ? toLongJob(row) : null
  }

  /** Begins a run. @returns null for a job that has ended */
  async begin(tx: StatementTx, jobId: Int64, now: number): Promise<BegunRun | null> {
    const row = await tx
      .updateTable('long_jobs')
      .set({
        state: 'running',
        runs: sql`runs + 1`,
        started_at: sql`coalesce(started_at, ${now})`,
      })
      .where('job_id', '=', jobId)
      .where(isUnfinished)
      .returning(camelCase(['kind', 'params', 'runs', 'is_cancelled']))
      .executeTakeFirst()
    if (!row) return null
    return { ...row, jobId, isCancelled: row.isCancelled === 1 }
  }

  /** @returns true for a job that is cancelled, or that this run has lost */
  async isOver(db: Queryable, run: RunKey): Promise<boolean> {
    const row = await db
      .selectFrom('long_jobs')
      .select('is_cancelled')
      .where('job_id', '=', run.jobId)
      .where('runs', '=', run.runs)
      .where(isUnfinished)
      .executeTakeFirst()
    return row?.is_cancelled !== 0
  }

  async setProgress(tx: StatementTx, run: RunKey, progress: Required<Progress>): Promise<void> {
    await this.#ofRun(tx, run).set(progress).execute()
  }

  async end(
    tx: StatementTx,
    run: RunKey,
    { end, now, progress }: { end: LongJobEnd; now: number; progress: Required<Progress> | null },
  ): Promise<void> {
    await this.#ofRun(tx, run)
      .set({
        ...progress,
        // The text is that of the last step.
        ...(end.state === 'done' && { text: '' }),
        state: end.state,
        result: end.state === 'done' ? JSON.stringify(end.result) : '',
        error: end.state === 'failed' ? end.error : '',
        ended_at: now,
      })
      .execute()
  }

  /** Cancels a job that has not ended; one that waits has ended then. */
  async cancel(tx: StatementTx, jobId: Int64, now: number): Promise<void> {
    await tx
      .updateTable('long_jobs')
      .set({
        is_cancelled: 1,
        ended_at: sql`case when state = 'waiting' then cast(${now} as bigint) end`,
        state: sql`case when state = 'waiting' then 'cancelled' else state end`,
      })
      .where('job_id', '=', jobId)
      .where(isUnfinished)
      .execute()
  }

  /** Ends all jobs of some kinds in data that no process runs jobs of. */
  async cancelKinds(tx: Tx, kinds: readonly string[], now: number): Promise<void> {
    await tx
      .updateTable('long_jobs')
      .set({ state: 'cancelled', is_cancelled: 1, ended_at: now })
      .where('kind', 'in', kinds)
      .where(isUnfinished)
      .execute()
  }

  /** Deletes the ended jobs of a kind with such parameters. */
  async deleteEndedOf(tx: Tx, kind: string, isMeant: (params: object) => boolean): Promise<void> {
    const ended = await tx
      .selectFrom('long_jobs')
      .select(camelCase(['job_id', 'params']))
      .where('kind', '=', kind)
      .where('ended_at', 'is not', null)
      .execute()
    for (const { jobId, params } of ended)
      if (isMeant(parseOwnJson(params) as object))
        await tx.deleteFrom('long_jobs').where('job_id', '=', jobId).execute()
  }

  async deleteEnded(tx: StatementTx, before: number): Promise<void> {
    await tx.deleteFrom('long_jobs').where('ended_at', '<', before).execute()
  }

  #ofRun(tx: StatementTx, { jobId, runs }: RunKey) {
    return tx
      .updateTable('long_jobs')
      .where('job_id', '=', jobId)
      .where('runs', '=', runs)
      .where(isUnfinished)
  }
}

function toLongJob(row: TableRow<typeof shownColumns>): LongJob {
  return {
    ...row,
    state: row.state as LongJobState,
    isCancelled: row.isCancelled === 1,
    result: row.result === '' ? {} : (parseOwnJson(row.result) as object),
  }
}
