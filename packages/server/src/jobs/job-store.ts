import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../db/database.js'
import { type Insertable, sql } from '../db/kysely.js'
import type { JobsTable } from '../db/schema.js'
import { padded } from '../lib/chunks.js'
import type { FinalOutcome, TakenJob, TakenJobs } from './job-model.js'

export interface Taking {
  readonly kind: string
  readonly owner: string
  readonly now: number
  readonly leaseMs: number
  readonly limit: number
  /** Jobs that were taken so often are given up. */
  readonly maxAttempts: number
}

/** Written out, because the indexes contain unfinished or finished jobs only. */
const isUnfinished = sql<boolean>`outcome = ''`
const isFinished = sql<boolean>`outcome <> ''`

/** What is to be done, and who is doing it. The node that takes a job has it until `run_at`; then others may take it over. */
export class JobStore {
  constructor(private readonly database: Database) {}

  async insert(tx: Tx, job: Insertable<JobsTable>): Promise<void> {
    await tx
      .insertInto('jobs')
      .values(job)
      .onConflict((conflict) =>
        conflict
          .columns(['app_id', 'kind', 'key'])
          .where(sql<boolean>`outcome = '' and key <> ''`)
          .doUpdateSet({ is_again: 1 })
          .where(sql<boolean>`jobs.owner <> ''`),
      )
      .execute()
  }

  /** The payloads of the jobs of a kind that an application waits for, in no particular order. */
  async listUnfinished(db: Queryable, appId: string, kind: string): Promise<unknown[]> {
    const rows = await db
      .selectFrom('jobs')
      .select('payload')
      .where(isUnfinished)
      .where('kind', '=', kind)
      .where('app_id', '=', appId)
      .execute()
    return rows.map(({ payload }) => JSON.parse(payload))
  }

  /** Since when the job that is due for longest has been so; null when none is. */
  async dueSince(db: Queryable, kind: string, now: number): Promise<number | null> {
    const row = await this.#due(db, kind, now).select('run_at').limit(1).executeTakeFirst()
    return row?.run_at ?? null
  }

  /**
   * Takes jobs of one application that are due, those that are due for longest first; one that has failed before comes alone.
   * Jobs whose deadline has passed or whose attempts are used up are finished instead.
   *
   * @returns nothing taken is null; what was finished in any case
   */
  async take(tx: Tx, taking: Taking): Promise<{ taken: TakenJobs | null; finished: Finished[] }> {
    const { kind, owner, now, leaseMs, limit, maxAttempts } = taking
    const due = this.#due(tx, kind, now)
      .select(['app_id', 'job_id', 'payload', 'attempts', 'deadline_at'])
      .limit(limit)
    // What another node is taking at this moment is left to it.
    const rows = await (this.database.dialect.rowLocks
      ? due.forUpdate().skipLocked()
      : due
    ).execute()
    const isExpired = (row: (typeof rows)[number]) =>
      row.deadline_at !== null && row.deadline_at <= now
    const finished: Finished[] = []
    for (const row of rows) {
      const outcome = isExpired(row) ? 'expired' : row.attempts >= maxAttempts ? 'failed' : null
      if (outcome === null) continue
      finished.push({ jobId: row.job_id, appId: row.app_id, outcome })
      await this.#finish(tx, row.app_id, [row.job_id], null, outcome, now)
    }
    const over = new Set(finished.map(({ jobId }) => jobId))
    const [first, ...others] = rows.filter((row) => !over.has(row.job_id))
    if (!first) return { taken: null, finished }
    const company =
      first.attempts > 0
        ? []
        : others.filter((row) => row.app_id === first.app_id && row.attempts === 0)
    const chosen = [first, ...company]
    await tx
      .updateTable('jobs')
      .set({ owner, run_at: now + leaseMs, attempts: sql`attempts + 1`, updated_at: now })
      .where('app_id', '=', first.app_id)
      .where('job_id', 'in', padded(chosen.map((row) => row.job_id)))
      .execute()
    const jobs = chosen.map(
      (row): TakenJob => ({
        jobId: row.job_id,
        payload: JSON.parse(row.payload),
        attempts: row.attempts + 1,
        deadlineAt: row.deadline_at,
      }),
    )
    return { taken: { kind, appId: first.app_id, owner, jobs }, finished }
  }

  /** @returns false when one of the jobs was lost: another node took it over */
  async renew(tx: Tx, taken: TakenJobs, until: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#taken(tx, taken)
      .set({ run_at: until })
      .executeTakeFirst()
    return numUpdatedRows === BigInt(taken.jobs.length)
  }

  /** @returns how many of the jobs were still the owner's; the others are left alone */
  async finish(tx: Tx, taken: TakenJobs, outcome: FinalOutcome, now: number): Promise<number> {
    const { appId, owner, jobs } = taken
    const jobIds = jobs.map(({ jobId }) => jobId)
    return this.#finish(tx, appId, jobIds, owner, outcome, now)
  }

  /** Gives jobs back, to be taken again at `runAt`. @param attempts as they count now */
  async giveBack(
    tx: Tx,
    taken: TakenJobs,
    { runAt, attempts, now }: { runAt: number; attempts: number; now: number },
  ): Promise<number> {
    const { numUpdatedRows } = await this.#taken(tx, taken)
      .set({ owner: '', run_at: runAt, attempts, is_again: 0, updated_at: now })
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }

  /** Deletes at most `limit` jobs that were finished before the instant; @returns how many. */
  async deleteFinished(tx: Tx, before: number, limit: number): Promise<number> {
    const old = tx
      .selectFrom('jobs')
      .select(['app_id', 'job_id'])
      .where(isFinished)
      .where('updated_at', '<', before)
      .orderBy('updated_at')
      .limit(limit)
    const { numDeletedRows } = await tx
      .deleteFrom('jobs')
      .where((where) =>
        where(where.refTuple('app_id', 'job_id'), 'in', old.$asTuple('app_id', 'job_id')),
      )
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  #due(db: Queryable, kind: string, now: number) {
    return db
      .selectFrom('jobs')
      .where(isUnfinished)
      .where('kind', '=', kind)
      .where('run_at', '<=', now)
      .orderBy('run_at')
      .orderBy('job_id')
  }

  #taken(tx: Tx, { appId, owner, jobs }: TakenJobs) {
    return tx
      .updateTable('jobs')
      .where('app_id', '=', appId)
      .where('job_id', 'in', padded(jobs.map(({ jobId }) => jobId)))
      .where('owner', '=', owner)
      .where(isUnfinished)
  }

  /** A job that was enqueued again while it ran waits once more instead. @param owner null = whichever node has it */
  async #finish(
    tx: Tx,
    appId: string,
    jobIds: readonly Int64[],
    owner: string | null,
    outcome: FinalOutcome,
    now: number,
  ): Promise<number> {
    const { numUpdatedRows } = await tx
      .updateTable('jobs')
      .set({
        outcome: sql<string>`case when is_again = 1 then '' else ${outcome} end`,
        attempts: sql<number>`case when is_again = 1 then 0 else attempts end`,
        is_again: 0,
        owner: '',
        run_at: now,
        updated_at: now,
      })
      .where('app_id', '=', appId)
      .where('job_id', 'in', padded(jobIds))
      .$if(owner !== null, (query) => query.where('owner', '=', owner ?? ''))
      .where(isUnfinished)
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }
}

/** A job that was given up without another run. */
export interface Finished {
  readonly appId: string
  readonly jobId: Int64
  readonly outcome: 'failed' | 'expired'
}
