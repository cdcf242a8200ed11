import type { Int64 } from '@hermod/protocol'
import type { Clock } from '../../lib/clock.js'
import type { LongJob, LongJobHandler, LongJobKind, LongJobs } from './long-job-model.js'
import { tooManyJobs } from './long-job-service.js'

interface CommandJobsOptions {
  /** The jobs in the database. */
  readonly stored: LongJobs
  readonly handlerOf: (kind: string) => LongJobHandler | undefined
  readonly clock: Clock
}

interface Running {
  job: LongJob
  readonly cancelling: AbortController
  ended: Promise<void>
}

/**
 * The long jobs of a command without a service. They run at once in its process and end with it, so
 * nothing of them is stored.
 */
export class CommandJobs implements LongJobs {
  readonly #jobs = new Map<Int64, Running>()

  constructor(private readonly options: CommandJobsOptions) {}

  async start<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    params: Params,
  ): Promise<number> {
    const { handlerOf, clock } = this.options
    const unfinished = [...this.#jobs.values()].filter(
      ({ job }) => job.endedAt === null && job.kind === kind.name,
    )
    const [oldest] = unfinished
    if (oldest && unfinished.length >= kind.maxUnfinished)
      throw tooManyJobs(kind.name, oldest.job.jobId)
    const handler = handlerOf(kind.name)
    if (!handler) throw new Error(`no handler for ${kind.name}`)
    // No stored job has such an ID.
    const jobId = this.#jobs.size + 1
    const now = clock.now()
    const job: LongJob = {
      ...{ jobId, kind: kind.name, state: 'running', isCancelled: false },
      ...{ done: 0, total: 0, text: '', result: {}, error: '' },
      ...{ createdAt: now, startedAt: now, endedAt: null },
    }
    const cancelling = new AbortController()
    const running: Running = { job, cancelling, ended: Promise.resolve() }
    this.#jobs.set(jobId, running)
    running.ended = this.#run(running, handler, params)
    return jobId
  }

  list(before: Int64 | undefined, limit: number): Promise<LongJob[]> {
    return this.options.stored.list(before, limit)
  }

  async get(jobId: Int64): Promise<LongJob> {
    return this.#jobs.get(jobId)?.job ?? this.options.stored.get(jobId)
  }

  async cancel(jobId: Int64): Promise<LongJob> {
    const running = this.#jobs.get(jobId)
    if (!running) return this.options.stored.cancel(jobId)
    if (running.job.endedAt === null) {
      running.job = { ...running.job, isCancelled: true }
      running.cancelling.abort(new Error('the job is cancelled'))
      await running.ended
    }
    return running.job
  }

  forget<Params extends object, Result extends object>(
    kind: LongJobKind<Params, Result>,
    isMeant: (params: Params) => boolean,
  ): Promise<void> {
    return this.options.stored.forget(kind, isMeant)
  }

  /** Cancels what still runs, and waits for it. */
  async stop(): Promise<void> {
    for (const jobId of this.#jobs.keys()) await this.cancel(jobId)
  }

  async #run(running: Running, handler: LongJobHandler, params: object): Promise<void> {
    const { signal } = running.cancelling
    try {
      const result = await handler.run(params, {
        jobId: running.job.jobId,
        signal,
        progress(changes) {
          running.job = { ...running.job, ...changes }
        },
      })
      running.job = { ...running.job, state: 'done', text: '', result }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      running.job = signal.aborted
        ? { ...running.job, state: 'cancelled' }
        : { ...running.job, state: 'failed', error: text }
    }
    running.job = { ...running.job, endedAt: this.options.clock.now() }
  }
}
