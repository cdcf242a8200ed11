import type { StatementTx } from '../db/database.js'
import type { Clock } from '../lib/clock.js'
import type { JobKind, NewJob } from './job-model.js'
import type { JobValues } from './job-statements.js'
import type { JobStore } from './job-store.js'

interface JobQueueOptions {
  readonly store: JobStore
  readonly ids: { takeReserved(count: number): number[] }
  readonly clock: Clock
  /**
   * Announces that a job of the kind was committed. A worker that misses it finds the job when it
   * polls.
   */
  announce(kind: string): void
}

/** Orders durable work. */
export class JobQueue {
  constructor(private readonly options: JobQueueOptions) {}

  /** Orders a job, which runs at least once if the transaction is committed. */
  async enqueue<Payload>(
    tx: StatementTx,
    kind: JobKind<Payload>,
    job: NewJob<Payload>,
  ): Promise<void> {
    const { store, ids, clock, announce } = this.options
    const now = clock.now()
    const [jobId = 0] = ids.takeReserved(1)
    const values = {
      app_id: job.appId,
      job_id: jobId,
      kind: kind.name,
      key: job.key ?? '',
      payload: JSON.stringify(job.payload),
      deadline_at: job.deadlineAt ?? null,
      created_at: now,
      updated_at: now,
    }
    await store.insert(tx, values, (job.runAt ?? now) - now)
    tx.afterCommit(() => announce(kind.name))
  }

  /**
   * The values of jobs for a procedure, in the order of the jobs; after its commit call {@link announce}.
   * @throws IdsRunOut
   */
  values<Payload>(
    kind: JobKind<Payload>,
    jobs: readonly Omit<NewJob<Payload>, 'deadlineAt'>[],
  ): JobValues[] {
    const { ids, clock } = this.options
    const now = clock.now()
    const jobIds = ids.takeReserved(jobs.length)
    return jobs.map(({ appId, key = '', runAt = now, payload }, index) => ({
      appId,
      jobId: jobIds[index] ?? 0,
      kind: kind.name,
      key,
      payload: JSON.stringify(payload),
      runAt,
      createdAt: now,
      updatedAt: now,
    }))
  }

  /** Jobs of the kind were committed. */
  announce<Payload>(kind: JobKind<Payload>): void {
    this.options.announce(kind.name)
  }
}
