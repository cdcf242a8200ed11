import type { Database } from '../db/database.js'
import type { DueJob, FinalOutcome, TakenJobs, Taking } from './job-model.js'
import type { JobStore } from './job-store.js'

interface TakeResult {
  /** The time since which the oldest due job is due; null when no job is due. */
  readonly overdueMs: number | null
  readonly taken: TakenJobs | null
  /** The outcomes of jobs that were given up. */
  readonly givenUp: readonly FinalOutcome[]
}

/**
 * Takes due jobs of one app, the longest due first. A job that has failed before is taken alone.
 * Jobs beyond their deadline or without attempts left are finished instead.
 */
export async function takeJobs(
  { database, store }: { readonly database: Database; readonly store: JobStore },
  taking: Taking,
): Promise<TakeResult> {
  const { kind, now, limit, maxAttempts } = taking
  const due = await database.read((db) => store.listDue(db, kind, limit))
  const givenUp: FinalOutcome[] = []
  const left: DueJob[] = []
  for (const job of due) {
    const isExpired = job.deadlineAt !== null && job.deadlineAt <= now
    const outcome = isExpired ? 'expired' : job.attempts >= maxAttempts ? 'failed' : null
    if (outcome === null) left.push(job)
    else if (await database.statement((tx) => store.giveUp(tx, job, outcome, now)))
      givenUp.push(outcome)
  }
  const [first, ...others] = left
  const isSameBatch = (job: DueJob) => job.appId === first?.appId && job.attempts === 0
  const sameBatch = first?.attempts === 0 ? others.filter(isSameBatch) : []
  return {
    overdueMs: due[0]?.overdueMs ?? null,
    // Jobs that another node has taken in the meantime stay with it.
    taken: first
      ? await database.statement((tx) => store.take(tx, [first, ...sameBatch], taking))
      : null,
    givenUp,
  }
}
