import { type JobHandler, type JobRun, jobHandler } from '../../jobs/job-worker.js'
import type { Clock } from '../../lib/clock.js'
import { BackgroundPause } from '../../lib/limits/background-pause.js'
import { ExpansionPace } from './audience/expansion-pace.js'
import type { TaskExpander } from './audience/task-expander.js'
import type { BatchOpener } from './batches/batch-opener.js'
import type { BatchSender } from './sending/batch-sender.js'
import { AudiencePace, fullSpeed, type SendPace } from './sending/send-pace.js'
import {
  type BatchToSend,
  expandTask,
  type SendJob,
  sendAudienceBatch,
  sendBatch,
} from './tasks/push-jobs.js'

/** A task to a million devices takes minutes, and a killed node counts as an attempt. */
const expansion = { maxAttempts: 1_000, timeLimitMs: 3_600_000 }
/** Gateways answer after seconds, and a batch may wait a second for their rate. Other batches are sent in the meantime. */
const sending = { maxAttempts: 1_000, concurrency: 16 }
/** Each batch has 240 deliveries: more than most channels take in a second, so the channels postpone the rest. */
const sendingAudiences = { maxAttempts: 1_000, concurrency: 8 }

export interface PushJobsOptions {
  readonly taskExpander: TaskExpander
  readonly batchOpener: BatchOpener
  readonly batchSender: BatchSender
  readonly clock: Clock
  /** The number of messages that this node has stored. */
  readonly countMessages: () => number
  /** Waits for the end of a checkpoint of the database, where there are any. */
  readonly afterCheckpoint: (() => Promise<void>) | undefined
}

/** The handlers of all jobs of push. */
export function pushJobHandlers({
  taskExpander,
  batchOpener,
  batchSender,
  clock,
  countMessages,
  afterCheckpoint,
}: PushJobsOptions): readonly JobHandler[] {
  const pause = new BackgroundPause({ count: countMessages })
  const expansionPace = new ExpansionPace(pause, clock, afterCheckpoint)
  const audiencePace = new AudiencePace(taskExpander, pause)
  const sendBatches =
    (job: SendJob, pace: SendPace) =>
    async ({ appId, payloads, signal }: JobRun<BatchToSend>) => {
      for (const { batchId } of payloads) {
        await pace.begin(signal)
        await batchOpener.open({ appId, batchId }, signal)
        await batchSender.send({ appId, batchId, job, signal, pace })
      }
    }
  return [
    jobHandler(
      expandTask,
      async ({ appId, payloads, signal }) => {
        for (const { taskId } of payloads)
          await taskExpander.expand({ appId, taskId }, signal, expansionPace)
      },
      expansion,
    ),
    jobHandler(sendBatch, sendBatches(sendBatch, fullSpeed), sending),
    jobHandler(sendAudienceBatch, sendBatches(sendAudienceBatch, audiencePace), sendingAudiences),
  ]
}
