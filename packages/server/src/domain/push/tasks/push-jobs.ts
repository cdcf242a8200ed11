import type { Int64 } from '@hermod/protocol'
import { jobKind } from '../../../jobs/job-model.js'

/** Looks for the devices of a task and gives each its delivery. */
export const expandTask = jobKind<{ readonly taskId: Int64 }>('push.expand')

/** Sends the deliveries of a batch that are pending and due. */
export const sendBatch = jobKind<{ readonly batchId: Int64 }>('push.send')
