import { cancelJob, getJob, listJobs } from '@hermod/protocol'
import type { LongJob, LongJobs } from '../../domain/long-jobs/long-job-model.js'
import { operatorPageLimit, readIdCursor } from '../../domain/paging.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function longJobHandlers({ longJobs }: { readonly longJobs: LongJobs }): Handler[] {
  return [
    handle(listJobs, async ({ cursor, limit }) => {
      const length = operatorPageLimit({ limit })
      const found = await longJobs.list(readIdCursor(cursor), length + 1)
      const jobs = found.slice(0, length)
      const next = found.length > length ? String(jobs.at(-1)?.jobId) : ''
      return data({ jobs: jobs.map(toJob), next_cursor: next })
    }),
    handle(getJob, async ({ job_id }) => data(toJob(await longJobs.get(job_id)))),
    handle(cancelJob, async ({ job_id }) => data(toJob(await longJobs.cancel(job_id)))),
  ]
}

function toJob(job: LongJob) {
  const { jobId, kind, state, done, total, text, result, error } = job
  return {
    ...{ job_id: jobId, kind, state, is_cancelled: job.isCancelled, done, total, text, error },
    result: result as Record<string, unknown>,
    created_at: job.createdAt,
    started_at: job.startedAt ?? 0,
    ended_at: job.endedAt ?? 0,
  }
}
