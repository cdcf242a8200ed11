import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, StatementTx } from '../db/database.js'
import type { Clock } from '../lib/clock.js'
import { type JobKind, type JobOutcome, retryDelayMs, type TakenJobs } from './job-model.js'
import type { JobStore } from './job-store.js'
import { renewing } from './renewal.js'
import { takeJobs } from './take-jobs.js'

/** The handler of one kind of job. */
export interface JobHandler {
  readonly kind: string
  /** Runs in parallel on this node. */
  readonly concurrency: number
  /** Jobs of one app that one run does together. */
  readonly jobsPerRun: number
  /** Attempts after which a job is given up. A killed node counts as an attempt. */
  readonly maxAttempts: number
  /** The time after which the run is aborted and counts as failed. */
  readonly timeLimitMs: number
  /** A node that leaves aborts the run, which another node begins again. */
  readonly isResumed: boolean
  run(jobs: JobRun<unknown>): Promise<void>
}

/** Jobs of one app and kind that a handler runs together. */
export interface JobRun<Payload> {
  readonly appId: string
  /** The payload of each job, at least one. */
  readonly payloads: readonly Payload[]
  /** Aborted when the run must end soon. The run then throws, and its jobs run again. */
  readonly signal: AbortSignal
}

const handlerDefaults = {
  concurrency: 1,
  jobsPerRun: 1,
  maxAttempts: 20,
  timeLimitMs: 300_000,
  isResumed: false,
}

/**
 * @param run must be idempotent: it may see the same job twice, also on two nodes at once when one
 * of them is so slow that its lease expires
 */
export function jobHandler<Payload>(
  kind: JobKind<Payload>,
  run: (jobs: JobRun<Payload>) => Promise<void>,
  options: Partial<typeof handlerDefaults> = {},
): JobHandler {
  return { ...handlerDefaults, ...options, kind: kind.name, run: run as JobHandler['run'] }
}

interface JobObserver {
  finished(kind: string, outcome: JobOutcome, jobs: number, seconds: number): void
  /** @param error of a run, or of looking for jobs */
  failed(kind: string, error: unknown): void
  /** Reports how long the oldest due job is overdue, each time that this node looks for jobs. */
  overdue(kind: string, ms: number): void
}

/** The error and the time of a failed run. */
interface FailedRun {
  readonly error: unknown
  /** Unix time in milliseconds; not before the time limit of a run that it ended. */
  readonly at: number
}

export interface JobWorkerOptions {
  readonly database: Database
  readonly store: JobStore
  readonly handlers: readonly JobHandler[]
  readonly observer: JobObserver
  readonly clock: Clock
  /** The interval at which the node looks for jobs that were not announced. */
  readonly pollMs?: number
  /** The time after which a node that does not renew loses its jobs to others. */
  readonly leaseMs?: number
}

const defaultPollMs = 1_000
const defaultLeaseMs = 15_000
/** The pauses after a failure to store the outcome of a run. A pool has replaced cut connections by then. */
const settlePausesMs = [50, 250, 1_000]

/**
 * Runs the due jobs on this node. Nodes share the jobs. The jobs of a killed node are taken over
 * when its leases expire, or when the start of the only node ends them.
 */
export class JobWorker {
  readonly #runners: ReadonlyMap<string, JobKindRunner>
  readonly #pollMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(options: JobWorkerOptions) {
    this.#pollMs = options.pollMs ?? defaultPollMs
    this.#runners = new Map(
      options.handlers.map((handler) => [handler.kind, new JobKindRunner(handler, options)]),
    )
  }

  start(): void {
    this.#timer = setInterval(() => {
      for (const runner of this.#runners.values()) runner.wake()
    }, this.#pollMs)
    this.#timer.unref()
    for (const runner of this.#runners.values()) runner.wake()
  }

  /** Looks for jobs of the kind. */
  wake(kind: string): void {
    if (this.#timer) this.#runners.get(kind)?.wake()
  }

  /** Takes no more jobs, and waits for those that run. */
  async finish(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await Promise.all([...this.#runners.values()].map((runner) => runner.finish()))
  }

  /** Waits until no job is due that this node could run. */
  async idle(): Promise<void> {
    await Promise.all([...this.#runners.values()].map((runner) => runner.idle()))
  }

  /** Takes no more jobs, aborts the running ones, and waits for them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    await Promise.all([...this.#runners.values()].map((runner) => runner.stop()))
  }
}

/** Runs the jobs of one kind on this node. */
class JobKindRunner {
  readonly #stopping = new AbortController()
  readonly #runs = new Set<Promise<void>>()
  #looking: Promise<void> | undefined
  #isWoken = false
  #isFinishing = false

  constructor(
    private readonly handler: JobHandler,
    private readonly options: JobWorkerOptions,
  ) {}

  wake(): void {
    this.#isWoken = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
      if (this.#isWoken && this.#hasRoom) this.wake()
    })
  }

  async idle(): Promise<void> {
    for (;;) {
      this.wake()
      await this.#looking
      if (this.#runs.size === 0 && !this.#looking) return
      await Promise.all(this.#runs)
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the node stops'))
    await this.#looking
    await Promise.all(this.#runs)
  }

  async finish(): Promise<void> {
    if (this.handler.isResumed) return this.stop()
    this.#isFinishing = true
    await this.#looking
    await Promise.all(this.#runs)
  }

  get #hasRoom(): boolean {
    if (this.#isFinishing) return false
    return !this.#stopping.signal.aborted && this.#runs.size < this.handler.concurrency
  }

  /** Starts runs while there are jobs and room for them. */
  async #look(): Promise<void> {
    const { observer } = this.options
    try {
      while (this.#isWoken && this.#hasRoom) {
        this.#isWoken = false
        const taken = await this.#take()
        if (!taken) continue
        const run: Promise<void> = this.#run(taken).finally(() => {
          this.#runs.delete(run)
          this.wake()
        })
        this.#runs.add(run)
      }
    } catch (error) {
      // The next poll looks again.
      this.#isWoken = false
      observer.failed(this.handler.kind, error)
    }
  }

  async #take(): Promise<TakenJobs | null> {
    const { database, store, observer, clock, leaseMs = defaultLeaseMs } = this.options
    const { kind, jobsPerRun: limit, maxAttempts } = this.handler
    const now = clock.now()
    const taking = { kind, now, leaseMs, limit, maxAttempts, owner: randomUUID() }
    const { overdueMs, taken, givenUp } = await takeJobs({ database, store }, taking)
    observer.overdue(kind, overdueMs ?? 0)
    for (const outcome of givenUp) observer.finished(kind, outcome, 1, 0)
    // Other jobs may be due behind those that were given up or that another node took.
    if (overdueMs !== null) this.#isWoken = true
    return taken
  }

  async #run(taken: TakenJobs): Promise<void> {
    const { observer } = this.options
    const { kind } = this.handler
    const startedAt = performance.now()
    let outcome: JobOutcome
    try {
      outcome = await this.#settle(taken, await this.#attempt(taken))
    } catch (error) {
      // The lease expires, and the jobs run again.
      observer.failed(kind, error)
      outcome = 'lost'
    }
    const seconds = (performance.now() - startedAt) / 1_000
    observer.finished(kind, outcome, taken.jobs.length, seconds)
  }

  /** @returns null when the run succeeded, else its error and time */
  async #attempt(taken: TakenJobs): Promise<FailedRun | null> {
    const { database, store, clock, leaseMs = defaultLeaseMs } = this.options
    const ending = new AbortController()
    const startedAt = clock.now()
    const deadlines = taken.jobs.flatMap(({ deadlineAt }) => deadlineAt ?? [])
    const endsAt = Math.min(startedAt + this.handler.timeLimitMs, ...deadlines)
    // A timer may fire a moment early by the clock. The run that it ends has used up its time all
    // the same.
    let noEarlierThan = startedAt
    const timer = setTimeout(() => {
      noEarlierThan = endsAt
      ending.abort(new Error('out of time'))
    }, endsAt - startedAt)
    const payloads = taken.jobs.map(({ payload }) => payload)
    const run = (lost: AbortSignal) => {
      const signal = AbortSignal.any([this.#stopping.signal, ending.signal, lost])
      return this.handler.run({ appId: taken.appId, payloads, signal })
    }
    const failed = (error: unknown) => this.options.observer.failed(this.handler.kind, error)
    try {
      await renewing(run, {
        everyMs: leaseMs / 3,
        renew: () => database.statement((tx) => store.renew(tx, taken, leaseMs)),
        failed,
        ending: ending.signal,
      })
      return null
    } catch (error) {
      return { error, at: Math.max(noEarlierThan, clock.now()) }
    } finally {
      clearTimeout(timer)
    }
  }

  async #settle(taken: TakenJobs, failure: FailedRun | null): Promise<JobOutcome> {
    const { store, observer, clock } = this.options
    const now = failure?.at ?? clock.now()
    const outcome = failure === null ? 'done' : this.#outcomeOfFailure(taken, now)
    const isInterrupted = outcome === 'interrupted'
    if (failure !== null && !isInterrupted) observer.failed(taken.kind, failure.error)
    const attempts = Math.max(...taken.jobs.map((job) => job.attempts))
    const settled = await this.#store((tx) =>
      outcome === 'retried' || isInterrupted
        ? store.giveBack(tx, taken, {
            delayMs: isInterrupted ? 0 : retryDelayMs(attempts, Math.random()),
            attempts: isInterrupted ? attempts - 1 : attempts,
            now,
          })
        : store.finish(tx, taken, outcome, now),
    )
    return settled === taken.jobs.length ? outcome : 'lost'
  }

  /** Stores an outcome. Repeats a failed statement: otherwise the jobs wait for the end of their lease. */
  async #store(write: (tx: StatementTx) => Promise<number>): Promise<number> {
    for (const pauseMs of settlePausesMs) {
      try {
        return await this.options.database.statement(write)
      } catch (error) {
        this.options.observer.failed(this.handler.kind, error)
        await sleep(pauseMs)
      }
    }
    return this.options.database.statement(write)
  }

  #outcomeOfFailure(
    { jobs }: TakenJobs,
    now: number,
  ): 'interrupted' | 'expired' | 'failed' | 'retried' {
    if (this.#stopping.signal.aborted) return 'interrupted'
    // Jobs that failed together are tried one by one, so that each has an outcome.
    const [job] = jobs
    if (!job || jobs.length > 1) return 'retried'
    if (job.deadlineAt !== null && job.deadlineAt <= now) return 'expired'
    return job.attempts >= this.handler.maxAttempts ? 'failed' : 'retried'
  }
}
