import type { Int64 } from '@hermod/protocol'
import { type JobKind, jobKind, type NewJob } from '../../../jobs/job-model.js'
import type { TaskKey } from './task-model.js'

interface TaskToExpand {
  readonly taskId: Int64
}

/** Looks through the audience of a task; see {@link expansionOf}. */
export const expandTask = jobKind<TaskToExpand>('push.expand')

/** There is one at a time for a task. A run that orders it again has it done behind those that wait by then. */
export function expansionOf({ appId, taskId }: TaskKey): NewJob<TaskToExpand> {
  return { appId, key: String(taskId), payload: { taskId } }
}

export interface BatchToSend {
  readonly batchId: Int64
}

export type SendJob = JobKind<BatchToSend>

/** Opens a batch, if it is not open, and sends its deliveries that are pending and due. */
export const sendBatch: SendJob = jobKind('push.send')

/** As {@link sendBatch}, for audiences that may be very large: so that pushes of messages, and to a few, do not wait behind them. */
export const sendAudienceBatch: SendJob = jobKind('push.send_audience')
