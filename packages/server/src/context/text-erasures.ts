import type { TextErasureService } from '../domain/users/deletion/text-erasure-service.js'
import { textErasure } from '../domain/users/deletion/text-erasure-service.js'
import {
  type JobHandler,
  JobWorker,
  type JobWorkerOptions,
  jobHandler,
} from '../jobs/job-worker.js'
import type { Context } from './context.js'

/** Many users who are deleted together cost one walk through the events. */
const erasuresPerRun = 500

/** How the texts of deleted users are erased, on a server and in a command. */
export function textErasureHandler(textErasures: TextErasureService): JobHandler {
  return jobHandler(
    textErasure,
    ({ appId, payloads, signal }) =>
      textErasures.erase(
        appId,
        payloads.map(({ userId }) => userId),
        signal,
      ),
    { jobsPerRun: erasuresPerRun },
  )
}

/** Nobody reads metrics or the log of a command. */
const unobserved: JobWorkerOptions['observer'] = {
  finished() {},
  failed() {},
  overdue() {},
}

/**
 * For a process that is no server: notes whether a deletion was committed in it.
 * @returns erases the texts of the users who were deleted; what fails is left to the next server, as is any other job
 */
export function erasesTextsAtEnd({
  bus,
  clock,
  database,
  services,
  stores,
}: Pick<Context, 'bus' | 'clock' | 'database' | 'services' | 'stores'>): () => Promise<void> {
  let isOrdered = false
  bus.subscribe('jobs.enqueued', ({ kind }) => {
    isOrdered ||= kind === textErasure.name
  })
  return async () => {
    if (!isOrdered) return
    const handlers = [textErasureHandler(services.textErasures)]
    const worker = new JobWorker({
      database,
      store: stores.jobs,
      handlers,
      observer: unobserved,
      clock,
    })
    await worker.idle()
    await worker.stop()
  }
}
