import type { Int64 } from '@hermod/protocol'
import { type JobKind, jobKind, type NewJob } from '../../../jobs/job-model.js'
import type { TaskKey } from './task-model.js'

/** A batch whose deliveries are written. */
export interface BatchToSend {
  readonly batchId: Int64
}

/** A page of the audience of a task, which is written as one batch and then sent. */
export interface PageToSend extends BatchToSend {
  readonly taskId: Int64
  /** From 1. */
  readonly page: number
}

/** The kinds of jobs that send. */
export type SendJob = JobKind<BatchToSend | PageToSend>

/**
 * Sends deliveries of a batch that are pending and due. The job of a page writes the page first, if
 * it is not written.
 */
export const sendBatch: SendJob = jobKind('push.send')

/** The same for the later pages of an audience: other pushes need not wait for them. */
export const sendAudienceBatch: SendJob = jobKind('push.send_audience')

/** The job of a page. */
export function pageJob(appId: string, page: PageToSend): NewJob<PageToSend> {
  return { appId, key: `${page.taskId}.${page.page}`, payload: page }
}

/** The job of the first page of a task; its kind is {@link sendBatch}. */
export function firstPageJob(task: TaskKey): NewJob<PageToSend> {
  const { appId, taskId } = task
  return pageJob(appId, { taskId, page: 1, batchId: firstBatchId(task) })
}

/**
 * The batch of the first page. IDs of tasks and batches come from one generator, so the task's own
 * is free.
 */
export function firstBatchId({ taskId }: Pick<TaskKey, 'taskId'>): Int64 {
  return taskId
}
