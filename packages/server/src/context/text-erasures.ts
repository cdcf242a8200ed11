import { textErasure } from '../domain/users/deletion/text-erasure-service.js'
import { JobWorker, type JobWorkerOptions } from '../jobs/job-worker.js'
import type { Context } from './context.js'

/** A command has neither metrics nor a log. */
const unobserved: JobWorkerOptions['observer'] = {
  finished() {},
  failed() {},
  overdue() {},
}

/**
 * For a process that is not a server: records whether it committed a deletion.
 * @returns a function that erases the texts of the deleted users; the next server repeats a run
 * that fails, and does all other jobs
 */
export function erasesTextsAtEnd({
  bus,
  clock,
  database,
  domains,
  stores,
}: Pick<Context, 'bus' | 'clock' | 'database' | 'domains' | 'stores'>): () => Promise<void> {
  let isOrdered = false
  bus.subscribe('jobs.enqueued', ({ kind }) => {
    isOrdered ||= kind === textErasure.name
  })
  return async () => {
    if (!isOrdered) return
    const { jobHandlers = [] } = domains.users
    const worker = new JobWorker({
      database,
      store: stores.jobs,
      handlers: jobHandlers.filter(({ kind }) => kind === textErasure.name),
      observer: unobserved,
      clock,
    })
    await worker.idle()
    await worker.stop()
  }
}
