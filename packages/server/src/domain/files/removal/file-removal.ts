import { AppError } from '@hermod/protocol'
import type { BlobStore } from '../../../blobs/blob-store.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type FileKey, newRemovalId, originalKey, type StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'
import type { FileWithdrawalStore } from '../file-withdrawal-store.js'
import type { FileHolds } from './file-holds.js'

/** Removed files whose blobs are still in the store. */
export interface RemovedFiles {
  readonly files: readonly Pick<StoredFile, 'fileId' | 'uploadId'>[]
}

/** The job that {@link FileRemoval.removeBlobs} does. */
export const blobRemoval = jobKind<RemovedFiles>('blob_removal')

interface FileRemovalOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly withdrawals: FileWithdrawalStore
  readonly blobs: Pick<BlobStore, 'list' | 'remove'>
  readonly holds: Pick<FileHolds, 'untilFree'>
  readonly jobs: JobQueue
  readonly unfinished: {
    listUnfinished(db: Queryable, appId: string, kind: string): Promise<readonly unknown[]>
  }
}

const keysPerStep = 1_000

/** Removes files: their rows and usage at once, their blobs by a job. */
export class FileRemoval {
  constructor(private readonly options: FileRemovalOptions) {}

  /** Removes a file in spite of its references. @throws AppError file_not_found */
  async remove(key: FileKey): Promise<void> {
    const { files } = this.options
    await this.#removeLocked(key.appId, async (tx) => {
      const file = await files.findWithPendingRemoval(tx, key)
      if (!file) throw new AppError('file_not_found')
      return [file]
    })
  }

  /**
   * Removes files in spite of their references.
   * @returns those that were there
   */
  async removeMany(appId: string, fileIds: readonly string[]): Promise<readonly StoredFile[]> {
    const { files } = this.options
    let gone: readonly StoredFile[] = []
    await this.#removeLocked(appId, async (tx) => {
      gone = await files.findMany(tx, appId, fileIds)
      return gone
    })
    return gone
  }

  /**
   * Begins to remove the unreferenced ones of the files: their addresses now answer file_not_found.
   * Texts that were committed before may refer to them without a recorded reference yet, so only
   * {@link finish} removes them, once the consumer has caught up.
   * @param fileIds at least one
   * @returns the ID of this removal
   */
  async begin(appId: string, fileIds: readonly string[]): Promise<string> {
    const { database, files, usage } = this.options
    const removalId = newRemovalId()
    await database.transaction(async (tx) => {
      await usage.lock(tx, appId)
      await files.markUnreferenced(tx, appId, fileIds, removalId)
    })
    return removalId
  }

  /**
   * Removes the files that are still unreferenced and makes the others available again. A removal
   * that was interrupted is finished the same way.
   * @param options.isFollowed true when the consumer has handled all events from before the
   * removal; otherwise all files stay
   */
  async finish(
    appId: string,
    fileIds: readonly string[],
    { removalId, isFollowed }: { readonly removalId: string; readonly isFollowed: boolean },
  ): Promise<void> {
    const { files } = this.options
    await this.#removeLocked(appId, async (tx) => {
      const gone = isFollowed ? await files.findUnreferenced(tx, appId, fileIds, removalId) : []
      await files.unmark(tx, appId, fileIds, removalId)
      return gone
    })
  }

  /**
   * Removes originals and renditions, once no backup holds blobs. A missing blob is no failure.
   */
  async removeBlobs(appId: string, { files }: RemovedFiles, signal: AbortSignal): Promise<void> {
    const { blobs, holds } = this.options
    await holds.untilFree(signal)
    for (const file of files) {
      signal.throwIfAborted()
      const prefix = originalKey({ appId, ...file })
      for (let after: string | null = null; ; ) {
        const page = await blobs.list(prefix, after, keysPerStep)
        await blobs.remove(page.blobs.map(({ key }) => key))
        if (page.next === null) break
        after = page.next
      }
    }
  }

  /** Returns the prefixes of the keys of blobs that jobs have yet to remove. */
  async listUnfinished(db: Queryable, appId: string): Promise<ReadonlySet<string>> {
    const { unfinished } = this.options
    const jobs = await unfinished.listUnfinished(db, appId, blobRemoval.name)
    const files = jobs.flatMap((payload) => (payload as RemovedFiles).files)
    return new Set(files.map((file) => originalKey({ appId, ...file })))
  }

  /** Removes files under the lock of the app's usage, which files and references are recorded under too. */
  async #removeLocked(
    appId: string,
    find: (tx: Tx) => Promise<readonly StoredFile[]>,
  ): Promise<void> {
    const { database, files, usage, withdrawals, jobs } = this.options
    await database.transaction(async (tx) => {
      await usage.lock(tx, appId)
      const gone = await find(tx)
      if (gone.length === 0) return
      await files.deleteMany(tx, gone)
      await withdrawals.deleteMany(
        tx,
        appId,
        gone.map(({ fileId }) => fileId),
      )
      await usage.add(tx, appId, {
        files: -gone.length,
        bytes: -gone.reduce((sum, { size }) => sum + size, 0),
      })
      const payload = { files: gone.map(({ fileId, uploadId }) => ({ fileId, uploadId })) }
      await jobs.enqueue(tx, blobRemoval, { appId, payload })
    })
  }
}
