import type { Int64, longJobStates } from '@hermod/protocol'

/** A state of a long job. */
export type LongJobState = (typeof longJobStates)[number]

/**
 * A kind of long work with the types of its parameters and its result, which are stored as JSON
 * objects. Each kind is a constant of its domain. Parameters hold no secret: they are kept with the
 * job.
 */
export interface LongJobKind<Params extends object, Result extends object> {
  /** Part of stored rows. */
  readonly name: string
  /** Unfinished jobs of the kind; a further one is refused. */
  readonly maxUnfinished: number
  /** Used by the compiler only. */
  readonly types?: { readonly params: Params; readonly result: Result }
}

/** Declares a kind of long job; the name is stored with each job. */
export function longJobKind<Params extends object, Result extends object>(
  name: string,
  { maxUnfinished = 1 } = {},
): LongJobKind<Params, Result> {
  return { name, maxUnfinished }
}

/** Progress of a job in whole numbers; what is left out stays as it was. */
export interface Progress {
  readonly done?: number
  /** 0: not known */
  readonly total?: number
  /** What the job does at present. */
  readonly text?: string
}

/** The run of a job as its handler sees it. */
export interface LongJobRun {
  readonly jobId: Int64
  /**
   * Aborted when the job is cancelled, and when this process must leave it: the run then throws
   * soon, and cleans up what a later run would not.
   */
  readonly signal: AbortSignal
  /** Reports progress, as often as the handler likes; it is stored once a second. */
  progress(progress: Progress): void
}

/** The handler of a kind of long job. */
export interface LongJobHandler {
  readonly kind: LongJobKind<object, object>
  run(params: object, run: LongJobRun): Promise<object>
}

/**
 * @param run must be idempotent or resume: when a process dies, another one runs the job again from
 * its beginning. What it throws ends the job as failed, and operators read the message.
 */
export function longJobHandler<Params extends object, Result extends object>(
  kind: LongJobKind<Params, Result>,
  run: (params: Params, run: LongJobRun) => Promise<Result>,
): LongJobHandler {
  return { kind, run: run as LongJobHandler['run'] }
}

/** A long job with its progress. */
export interface LongJob {
  readonly jobId: Int64
  readonly kind: string
  readonly state: LongJobState
  readonly isCancelled: boolean
  readonly done: number
  readonly total: number
  readonly text: string
  /** {} = none */
  readonly result: object
  readonly error: string
  readonly createdAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
}

/** The end of a job. */
export type LongJobEnd =
  | { readonly state: 'done'; readonly result: object }
  | { readonly state: 'failed'; readonly error: string }
  | { readonly state: 'cancelled' }

/** Starts and shows long jobs. */
export interface LongJobs {
  /** @throws AppError too_many_jobs */
  start<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    params: Params,
  ): Promise<number>
  /** Lists newest first. @param before undefined: from the newest */
  list(before: Int64 | undefined, limit: number): Promise<LongJob[]>
  /** @throws AppError job_not_found */
  get(jobId: Int64): Promise<LongJob>
  /** Does nothing to a job that has ended. @throws AppError job_not_found */
  cancel(jobId: Int64): Promise<LongJob>
  /** Deletes ended jobs before they expire. @param isMeant gets the parameters of each */
  forget<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    isMeant: (params: Params) => boolean,
  ): Promise<void>
}
