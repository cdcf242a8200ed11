import { type JobHandler, jobHandler } from '../../jobs/job-worker.js'
import type { BackgroundPause } from '../../lib/limits/background-pause.js'
import type { PageWriter } from './pages/page-writer.js'
import type { BatchSender } from './sending/batch-sender.js'
import { type SendJob, sendAudienceBatch, sendBatch } from './tasks/push-jobs.js'

/**
 * Gateways answer after seconds, and a batch may wait a second for their rate. Other batches are
 * sent in the meantime.
 */
const sending = { maxAttempts: 1_000, concurrency: 16 }
/**
 * Each batch has 240 deliveries: more than most channels take in a second, so the channels postpone
 * the rest.
 */
const sendingAudiences = { maxAttempts: 1_000, concurrency: 8 }

interface PushJobsOptions {
  readonly pageWriter: Pick<PageWriter, 'write'>
  readonly batchSender: Pick<BatchSender, 'send'>
  readonly pause: Pick<BackgroundPause, 'rest'>
}

/**
 * The handlers of all jobs of push. A job writes its page, if it names one, and then sends the
 * pending deliveries of its batch.
 */
export function pushJobHandlers({
  pageWriter,
  batchSender,
  pause,
}: PushJobsOptions): readonly JobHandler[] {
  const handler = (
    job: SendJob,
    batchPause: PushJobsOptions['pause'] | null,
    options: typeof sending,
  ) =>
    jobHandler(
      job,
      async ({ appId, payloads, signal }) => {
        for (const payload of payloads) {
          if ('page' in payload) await pageWriter.write(appId, payload, signal)
          const { batchId } = payload
          await batchSender.send({ appId, batchId, job, signal, pause: batchPause })
        }
      },
      options,
    )
  return [handler(sendBatch, null, sending), handler(sendAudienceBatch, pause, sendingAudiences)]
}
