import { longJobStates } from '../../enums.js'
import { instant, resource } from '../../resource.js'
import {
  array,
  boolean,
  freeObject,
  int64,
  object,
  type Static,
  stringEnum,
  text,
} from '../../schema.js'

/** The answer of operations that start a long job. */
export const StartedJob = object({ job_id: int64({ description: 'ID of the job' }) })

/** Jobs are kept for 30 days after their end. */
export const OperatorJob = resource('OperatorJob', 'A long job and its progress.', {
  job_id: int64({ description: 'ID' }),
  kind: text('kind of work, such as backup_create'),
  state: stringEnum(longJobStates, { description: 'state of the work; the last three are final' }),
  is_cancelled: boolean({
    description: 'true: it was cancelled, and ends soon if it has not ended',
  }),
  done: int64({ description: 'finished part of the work, as of the last second' }),
  total: int64({ description: 'the whole of the work; 0: not known' }),
  text: text('what it does'),
  result: freeObject({ description: 'the result of a job that is done, else {}' }),
  error: text('why it failed'),
  created_at: instant('when it was ordered'),
  started_at: instant('when it began; 0: not yet'),
  ended_at: instant('when it ended; 0: not yet'),
})
/** A long job. */
export type OperatorJob = Static<typeof OperatorJob>

/** A page of long jobs. */
export const JobList = resource('JobList', 'Long jobs, the newest first.', {
  jobs: array(OperatorJob, { description: 'the jobs' }),
  next_cursor: text('where the next page starts; "": there is none'),
})
