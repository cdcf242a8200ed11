import { camelCase } from '../db/columns.js'
import type { DatabaseNow } from '../db/database-now.js'
import type { Queryable, StatementTx, Tx } from '../db/database.js'
import { type Insertable, type RawBuilder, sql } from '../db/kysely.js'
import { lockForUpdate } from '../db/locking.js'
import type { Schema } from '../db/schema.js'
import { paddedForPlanCache } from '../lib/chunks.js'
import type { DueJob, FinalOutcome, TakenJob, TakenJobs, Taking } from './job-model.js'

/** Literals, because the indexes contain unfinished or finished jobs only. */
const isUnfinished = sql<boolean>`outcome = ''`
const isFinished = sql<boolean>`outcome <> ''`
/** Attempts of a job that may follow kills without a pause. */
const attemptsInARow = 3

/**
 * Jobs and their owners. The node that takes a job has it until `run_at`; then others may take it
 * over. That time is of the database's clock, all others are of the node's.
 */
export class JobStore {
  constructor(private readonly now: DatabaseNow) {}

  /** @param delayMs the time after which it runs */
  async insert(
    tx: StatementTx,
    job: Omit<Insertable<Schema['jobs']>, 'run_at'>,
    delayMs: number,
  ): Promise<void> {
    await tx
      .insertInto('jobs')
      .values({ ...job, run_at: this.#after(delayMs) })
      .onConflict((conflict) =>
        conflict
          .columns(['app_id', 'kind', 'key'])
          .where(sql<boolean>`outcome = '' and key <> ''`)
          .doUpdateSet({ is_again: 1 })
          .where(sql<boolean>`jobs.owner <> ''`),
      )
      .execute()
  }

  /** The payloads of the unfinished jobs of a kind in an app, unordered. */
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

  /** The due jobs of a kind, the longest due first. */
  listDue(db: Queryable, kind: string, limit: number): Promise<DueJob[]> {
    const now = this.now()
    return db
      .selectFrom('jobs')
      .select(camelCase(['app_id', 'job_id', 'payload', 'attempts', 'deadline_at']))
      .select(sql<number>`${now} - run_at`.as('overdueMs'))
      .where(isUnfinished)
      .where('kind', '=', kind)
      .where('run_at', '<=', now)
      .orderBy('run_at')
      .orderBy('job_id')
      .limit(limit)
      .execute()
  }

  /**
   * Takes jobs of one app that are still due and that no other node is taking at this moment.
   * @param jobs due jobs, at least one
   * @returns null when others have taken all of them
   */
  async take(
    tx: StatementTx,
    jobs: readonly [DueJob, ...DueJob[]],
    { kind, owner, now, leaseMs }: Pick<Taking, 'kind' | 'owner' | 'now' | 'leaseMs'>,
  ): Promise<TakenJobs | null> {
    const [{ appId }] = jobs
    const jobIds = paddedForPlanCache(jobs.map((job) => job.jobId))
    const free = tx
      .selectFrom('jobs')
      .select('job_id')
      .where('app_id', '=', appId)
      .where('job_id', 'in', jobIds)
      .where(isUnfinished)
      .where('run_at', '<=', this.now())
    const rows = await tx
      .updateTable('jobs')
      .set({
        owner,
        run_at: this.#after(leaseMs),
        attempts: sql`attempts + 1`,
        updated_at: now,
      })
      .where('app_id', '=', appId)
      // Repeated, so that no plan reads all jobs of the app.
      .where('job_id', 'in', jobIds)
      .where('job_id', 'in', lockForUpdate(tx, free, { skipLocked: true }))
      .returning(camelCase(['job_id', 'attempts']))
      .execute()
    const attempts = new Map(rows.map((row) => [row.jobId, row.attempts]))
    const taken = jobs.flatMap((job): TakenJob[] => {
      const count = attempts.get(job.jobId)
      if (count === undefined) return []
      const { jobId, deadlineAt } = job
      return [{ jobId, payload: JSON.parse(job.payload), attempts: count, deadlineAt }]
    })
    return taken.length > 0 ? { kind, appId, owner, jobs: taken } : null
  }

  /**
   * Finishes a due job without another run. @returns false when another node has finished or taken
   * it
   */
  async giveUp(tx: StatementTx, job: DueJob, outcome: FinalOutcome, now: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#finished(tx, outcome, now)
      .where('app_id', '=', job.appId)
      .where('job_id', '=', job.jobId)
      .where('run_at', '<=', this.now())
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /**
   * Prolongs the lease of taken jobs.
   * @returns false when one of them was lost: another node took it over
   */
  async renew(tx: StatementTx, taken: TakenJobs, leaseMs: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#taken(tx, taken)
      .set({ run_at: this.#after(leaseMs) })
      .executeTakeFirst()
    return numUpdatedRows === BigInt(taken.jobs.length)
  }

  /** @returns the number of the jobs that the owner still had; the others are unchanged */
  async finish(
    tx: StatementTx,
    taken: TakenJobs,
    outcome: FinalOutcome,
    now: number,
  ): Promise<number> {
    const { numUpdatedRows } = await this.#finished(tx, outcome, now)
      .where('app_id', '=', taken.appId)
      .where('job_id', 'in', paddedForPlanCache(taken.jobs.map(({ jobId }) => jobId)))
      .where('owner', '=', taken.owner)
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }

  /** Gives jobs back, to be taken again after `delayMs`. @param attempts the new count */
  async giveBack(
    tx: StatementTx,
    taken: TakenJobs,
    { delayMs, attempts, now }: { delayMs: number; attempts: number; now: number },
  ): Promise<number> {
    const { numUpdatedRows } = await this.#taken(tx, taken)
      .set({ owner: '', run_at: this.#after(delayMs), attempts, is_again: 0, updated_at: now })
      .executeTakeFirst()
    return Number(numUpdatedRows)
  }

  /**
   * Makes the taken jobs due. The caller knows that no owner runs. Jobs of many attempts stay as
   * they are until their leases expire, since one of them may be the reason for repeated kills.
   */
  async endLeases(tx: Tx, now: number): Promise<void> {
    await tx
      .updateTable('jobs')
      .set({ owner: '', run_at: this.now(), is_again: 0, updated_at: now })
      .where(isUnfinished)
      .where('owner', '<>', '')
      .where('attempts', '<=', attemptsInARow)
      .execute()
  }

  /** Deletes at most `limit` jobs that were finished before the instant; @returns their number */
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

  #after(delayMs: number): RawBuilder<number> {
    return sql<number>`${this.now()} + ${Math.round(delayMs)}`
  }

  #taken(tx: StatementTx, { appId, owner, jobs }: TakenJobs) {
    return tx
      .updateTable('jobs')
      .where('app_id', '=', appId)
      .where('job_id', 'in', paddedForPlanCache(jobs.map(({ jobId }) => jobId)))
      .where('owner', '=', owner)
      .where(isUnfinished)
  }

  /** A job that was enqueued again during its run waits for another run instead. */
  #finished(tx: StatementTx, outcome: FinalOutcome, now: number) {
    return tx
      .updateTable('jobs')
      .set({
        outcome: sql<string>`case when is_again = 1 then '' else ${outcome} end`,
        attempts: sql<number>`case when is_again = 1 then 0 else attempts end`,
        is_again: 0,
        owner: '',
        run_at: this.now(),
        updated_at: now,
      })
      .where(isUnfinished)
  }
}
