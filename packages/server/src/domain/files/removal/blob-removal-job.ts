import { type JobHandler, jobHandler } from '../../../jobs/job-worker.js'
import { blobRemoval, type FileRemoval } from './file-removal.js'

/** The blob store may be unavailable for a day. */
const removing = { maxAttempts: 1_000 }

/** Removes the blobs of deleted files from the blob store. */
export function blobRemovalHandler(removal: FileRemoval): JobHandler {
  return jobHandler(
    blobRemoval,
    async ({ appId, payloads, signal }) => {
      for (const removed of payloads) await removal.removeBlobs(appId, removed, signal)
    },
    removing,
  )
}
