import type { Int64 } from '@hermod/protocol'
import { type JobKind, jobKind } from '../../../jobs/job-model.js'

/** Looks for the devices of a task and gives each its delivery. */
export const expandTask = jobKind<{ readonly taskId: Int64 }>('push.expand')

export type SendJob = JobKind<{ readonly batchId: Int64 }>

/** Sends the deliveries of a batch that are pending and due. */
export const sendBatch: SendJob = jobKind('push.send')

/** As {@link sendBatch}, for the audiences of tasks, which may be very large: so that pushes of messages do not wait behind them. */
export const sendAudienceBatch: SendJob = jobKind('push.send_audience')
