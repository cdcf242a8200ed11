import { AppError } from '@hermod/protocol'
import type { BlobStore } from '../../../blobs/blob-store.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import { type FileKey, newRemovalId, originalKey, type StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'

/** Files that are gone, and of which the store still has bytes. */
export interface RemovedFiles {
  readonly files: readonly Pick<StoredFile, 'fileId' | 'uploadId'>[]
}

/** Done by {@link FileRemoval.removeBlobs}. */
export const blobRemoval = jobKind<RemovedFiles>('blob_removal')

export interface FileRemovalOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly blobs: Pick<BlobStore, 'list' | 'remove'>
  readonly jobs: JobQueue
  readonly unfinished: {
    listUnfinished(db: Queryable, appId: string, kind: string): Promise<readonly unknown[]>
  }
}

const keysPerStep = 1_000

/** Removes files: what is known of them and what they count for at once, their bytes in the store by a job that follows. */
export class FileRemoval {
  constructor(private readonly options: FileRemovalOptions) {}

  /** Whatever names it. @throws AppError file_not_found */
  async remove(key: FileKey): Promise<void> {
    const { files } = this.options
    await this.#inTurn(key.appId, async (tx) => {
      const file = await files.findWithPendingRemoval(tx, key)
      if (!file) throw new AppError('file_not_found')
      return [file]
    })
  }

  /**
   * Begins to remove those of the files that nothing names: from now on their addresses answer file_not_found. What was committed before
   * may name them and not be noted yet, so they are removed by {@link finish} only, when that has been followed.
   * @param fileIds one at least
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
   * Removes those of the files that nothing names even now; the others can be had again. A removal that was killed in between is finished
   * like any other.
   * @param isFollowed whether all has been followed that was committed before the removal began; if not, all of its files stay
   */
  async finish(
    appId: string,
    fileIds: readonly string[],
    { removalId, isFollowed }: { readonly removalId: string; readonly isFollowed: boolean },
  ): Promise<void> {
    const { files } = this.options
    await this.#inTurn(appId, async (tx) => {
      const gone = isFollowed ? await files.findUnreferenced(tx, appId, fileIds, removalId) : []
      await files.unmark(tx, appId, fileIds, removalId)
      return gone
    })
  }

  /** The files as they were uploaded, and their renditions. What is gone already is no failure. */
  async removeBlobs(appId: string, { files }: RemovedFiles, signal: AbortSignal): Promise<void> {
    const { blobs } = this.options
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

  /** What the keys of blobs begin with that jobs have yet to remove. */
  async listUnfinished(db: Queryable, appId: string): Promise<ReadonlySet<string>> {
    const { unfinished } = this.options
    const jobs = await unfinished.listUnfinished(db, appId, blobRemoval.name)
    const files = jobs.flatMap((payload) => (payload as RemovedFiles).files)
    return new Set(files.map((file) => originalKey({ appId, ...file })))
  }

  /** While nobody else notes a file of the app, or what names one. */
  async #inTurn(appId: string, find: (tx: Tx) => Promise<readonly StoredFile[]>): Promise<void> {
    const { database, files, usage, jobs } = this.options
    await database.transaction(async (tx) => {
      await usage.lock(tx, appId)
      const gone = await find(tx)
      if (gone.length === 0) return
      await files.deleteMany(tx, gone)
      await usage.add(tx, appId, {
        files: -gone.length,
        bytes: -gone.reduce((sum, { size }) => sum + size, 0),
      })
      const payload = { files: gone.map(({ fileId, uploadId }) => ({ fileId, uploadId })) }
      await jobs.enqueue(tx, blobRemoval, { appId, payload })
    })
  }
}
