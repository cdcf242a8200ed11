import { type JobHandler, jobHandler } from '../../../jobs/job-worker.js'
import { type TextErasureService, textErasure } from './text-erasure-service.js'

/** One walk through the events serves up to this many deleted users. */
const erasuresPerRun = 500

/** Erases the texts of deleted users, on a server and in a command. */
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
