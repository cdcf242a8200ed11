import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { JobQueue } from '../../jobs/job-queue.js'
import { type JobHandler, jobHandler } from '../../jobs/job-worker.js'
import { jobKind } from '../../jobs/job-model.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import { parseOwnJson } from '../../lib/json.js'
import type {
  LongJob,
  LongJobEnd,
  LongJobHandler,
  LongJobKind,
  LongJobs,
} from './long-job-model.js'
import type { BegunRun, LongJobStore } from './long-job-store.js'
import { reportedRun } from './reported-run.js'

interface LongJobServiceOptions {
  readonly database: Database
  readonly store: LongJobStore
  readonly jobs: Pick<JobQueue, 'enqueue'>
  readonly ids: { takeReserved(count: number): number[] }
  /** Returns the handler of a kind. */
  readonly handlerOf: (kind: string) => LongJobHandler | undefined
  /** Restored data runs no jobs. */
  readonly state: { readonly isRestored: boolean }
  readonly clock: Clock
  readonly observer: LongJobObserver
}

/** Gets a report of what happens to jobs. */
export interface LongJobObserver {
  ended(job: { readonly jobId: Int64; readonly kind: string }, end: LongJobEnd): void
  /** An error of a handler, or of a report. */
  failed(kind: string, error: unknown): void
}

const longJob = jobKind<{ readonly jobId: Int64 }>('long_job')
/** Long jobs of a node at once. */
const concurrency = 4
/** Runs after which a job is given up: each was ended by the death of its process. */
const maxRuns = 20
/** A run may take days. */
const timeLimitMs = 14 * dayMs
/** The time for which ended jobs are kept. */
const keptMs = 30 * dayMs

/** Long jobs that any node runs, and that another one takes over when it dies. */
export class LongJobService implements LongJobs {
  /** The job behind each of them, which the worker leases. */
  readonly jobHandler: JobHandler = jobHandler(
    longJob,
    async ({ payloads, signal }) => {
      for (const { jobId } of payloads) await this.#run(jobId, signal)
    },
    { concurrency, timeLimitMs, maxAttempts: Number.MAX_SAFE_INTEGER, isResumed: true },
  )

  constructor(private readonly options: LongJobServiceOptions) {}

  async start<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    params: Params,
  ): Promise<number> {
    const { database, store, jobs, ids, state, clock } = this.options
    if (state.isRestored)
      throw new AppError('restore_unfinished', 'jobs run after hermod restore finish')
    return database.transaction(async (tx) => {
      const [jobId = 0] = ids.takeReserved(1)
      const job = { jobId, kind: kind.name, params, createdAt: clock.now() }
      if (!(await store.insert(tx, job, kind.maxUnfinished)))
        throw tooManyJobs(kind.name, await store.oldestUnfinished(tx, kind.name))
      await jobs.enqueue(tx, longJob, { appId: '', payload: { jobId } })
      return jobId
    })
  }

  async list(before: Int64 | undefined, limit: number): Promise<LongJob[]> {
    return this.options.database.read((db) => this.options.store.list(db, before, limit))
  }

  async get(jobId: Int64): Promise<LongJob> {
    const job = await this.options.database.read((db) => this.options.store.find(db, jobId))
    if (!job) throw new AppError('job_not_found', `${jobId}; hermod job list shows the jobs`)
    return job
  }

  async cancel(jobId: Int64): Promise<LongJob> {
    const { database, store, clock } = this.options
    await database.statement((tx) => store.cancel(tx, jobId, clock.now()))
    return this.get(jobId)
  }

  async forget<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    isMeant: (params: Params) => boolean,
  ): Promise<void> {
    const { database, store } = this.options
    await database.transaction((tx) =>
      store.deleteEndedOf(tx, kind.name, (params) => isMeant(params as Params)),
    )
  }

  /** Deletes jobs that ended long ago. */
  async purge(): Promise<void> {
    const { database, store, clock } = this.options
    await database.statement((tx) => store.deleteEnded(tx, clock.now() - keptMs))
  }

  async #run(jobId: Int64, leaving: AbortSignal): Promise<void> {
    const { database, store, handlerOf, clock, observer } = this.options
    const run = await database.statement((tx) => store.begin(tx, jobId, clock.now()))
    if (!run) return
    const handler = handlerOf(run.kind)
    const refusal = refusalOf(run, handler)
    const { end, progress } =
      refusal !== null || handler === undefined
        ? { end: refusal ?? unknownKind, progress: null }
        : await reportedRun({
            ...{ jobId, leaving },
            run: async (reported) => handler.run(paramsOf(run), reported),
            report: async (progress) => {
              if (progress) await database.statement((tx) => store.setProgress(tx, run, progress))
              return !(await database.read((db) => store.isOver(db, run)))
            },
            failed: (error) => observer.failed(run.kind, error),
          })
    await database.statement((tx) => store.end(tx, run, { end, now: clock.now(), progress }))
    observer.ended(run, end)
  }
}

const unknownKind: LongJobEnd = {
  state: 'failed',
  error: 'this build of the service knows no such job; start it again on the newer build',
}

/** Returns the end of a job that is not to run. */
function refusalOf(
  { isCancelled, runs }: BegunRun,
  handler: LongJobHandler | undefined,
): LongJobEnd | null {
  if (isCancelled) return { state: 'cancelled' }
  if (!handler) return unknownKind
  if (runs <= maxRuns) return null
  return {
    state: 'failed',
    error: `its process has died ${maxRuns} times; see the log of the nodes`,
  }
}

/** @throws Error for stored parameters that are damaged */
function paramsOf({ params }: BegunRun): object {
  try {
    return parseOwnJson(params) as object
  } catch (cause) {
    throw new Error('its stored parameters are no JSON; start it again', { cause })
  }
}

/** The refusal of a job of a kind of which as many are unfinished as may be. */
export function tooManyJobs(kind: string, jobId: Int64 | null): AppError {
  // It may have ended since.
  const remedy =
    jobId === null
      ? '; hermod job list shows the jobs'
      : `, job ${jobId}; wait for its end, or run hermod job cancel ${jobId}`
  return new AppError('too_many_jobs', `${kind}${remedy}`)
}
