import type { Int64 } from '@hermod/protocol'
import type { TableRow } from '../db/columns.js'
import type { jobsTable } from '../db/schema.js'

/**
 * A kind of durable work with the type of its payload, which is stored as JSON. Each kind is a
 * constant of its domain.
 */
export interface JobKind<Payload> {
  /** Part of stored rows and a metric label. */
  readonly name: string
  /** Used by the compiler only. */
  readonly payload?: Payload
}

/** Declares a kind of job; the name is stored with each job. */
export function jobKind<Payload>(name: string): JobKind<Payload> {
  return { name }
}

/** A job to be written in the transaction that causes it. */
export interface NewJob<Payload> {
  readonly appId: string
  readonly payload: Payload
  /**
   * The subject of the job. An app has one unfinished job of a kind and key. Enqueued again while
   * it waits, it runs once; while it runs, it runs once more afterwards.
   */
  readonly key?: string
  /** Milliseconds since 1970; at once by default. */
  readonly runAt?: number
  /** Milliseconds since 1970. The job is not run after it. Default: never. */
  readonly deadlineAt?: number
}

/** A job that may be taken. */
export type DueJob = Pick<
  TableRow<typeof jobsTable>,
  'appId' | 'jobId' | 'payload' | 'attempts' | 'deadlineAt'
> & {
  /** The time since which it is due. */
  readonly overdueMs: number
}

export interface Taking {
  readonly kind: string
  /** The owner of the taken jobs; a new one for each take. */
  readonly owner: string
  readonly now: number
  readonly leaseMs: number
  readonly limit: number
  /** Attempts after which jobs are given up. */
  readonly maxAttempts: number
}

/** Jobs that one node has taken; they run together. */
export interface TakenJobs {
  readonly kind: string
  readonly appId: string
  /** Identifies the take that owns the jobs. */
  readonly owner: string
  readonly jobs: readonly TakenJob[]
}

/** A job that this process has a lease on. */
export interface TakenJob {
  readonly jobId: Int64
  readonly payload: unknown
  /** The attempts, this one included. */
  readonly attempts: number
  readonly deadlineAt: number | null
}

/** The outcome of a run; a metric label. */
export type JobOutcome =
  | 'done'
  /** It failed and runs again later. */
  | 'retried'
  /** It failed in its last attempt. */
  | 'failed'
  /** Its deadline passed. */
  | 'expired'
  /** The node was stopped; another run repeats it. */
  | 'interrupted'
  /** The lease expired during the run; another node repeats it. */
  | 'lost'

/** Outcomes after which a job is not run again. */
export type FinalOutcome = Extract<JobOutcome, 'done' | 'failed' | 'expired'>

const firstRetryMs = 1_000
const longestRetryMs = 600_000

/**
 * The pause after a failure. It doubles each time, up to 10 minutes, less a random part, so that
 * jobs that failed together do not run together.
 *
 * @param attempts from 1
 * @param random from 0 up to 1
 */
export function retryDelayMs(attempts: number, random: number): number {
  const delay = Math.min(firstRetryMs * 2 ** (attempts - 1), longestRetryMs)
  return Math.round(delay * (1 - random / 2))
}
