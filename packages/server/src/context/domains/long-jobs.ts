import { CommandJobs } from '../../domain/long-jobs/command-jobs.js'
import type { LongJobHandler, LongJobs } from '../../domain/long-jobs/long-job-model.js'
import { LongJobService } from '../../domain/long-jobs/long-job-service.js'
import { hourMs } from '../../lib/clock.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

interface CreateLongJobsOptions {
  readonly handlerOf: (kind: string) => LongJobHandler | undefined
  /** The process is that of a command. */
  readonly isCommand: boolean
}

export function createLongJobs(
  { database, stores, jobs, ids, state, clock, log }: Infrastructure,
  { handlerOf, isCommand }: CreateLongJobsOptions,
) {
  const stored = new LongJobService({
    ...{ database, jobs, ids, handlerOf, state, clock },
    store: stores.longJobs,
    observer: {
      ended: ({ jobId: job, kind }, { state, ...end }) =>
        log.info({ job, kind, state, ...('error' in end && { reason: end.error }) }, 'job ended'),
      failed: (kind, error) => log.warn({ kind, err: error }, 'job failed'),
    },
  })
  const command = new CommandJobs({ stored, handlerOf, clock })
  const longJobs: LongJobs = isCommand ? command : stored
  return {
    services: { longJobs, commandJobs: command },
    jobHandlers: [stored.jobHandler],
    maintenanceTasks: [{ name: 'old jobs', intervalMs: hourMs, run: () => stored.purge() }],
  } satisfies Domain
}
