import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { compare } from '../../../lib/compare.js'
import { type BatchObserver, BatchQueue } from '../../../lib/concurrency/batch-queue.js'
import { groupBy } from '../../../lib/group-by.js'
import type { ItemOutcome } from '../../item-outcome.js'
import { systemUserId } from '../../users/system-user.js'
import type { User } from '../../users/user-model.js'
import type { StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'

/** A file that is in the store, and the conditions of its ticket and its app. */
export interface UploadedFile {
  readonly file: StoredFile
  /** The credential epoch that the owner must have. */
  readonly credentialEpoch: number
  /** Most bytes of the app; 0: no limit */
  readonly quotaBytes: number
}

/** Locks the owners of files against deletion and against the end of their tokens. */
export interface OwnerLocker {
  /** The result includes deleted users. */
  lockManyKeyShare(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<readonly User[]>
}

interface FileWriterOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly users: OwnerLocker
  readonly observer: BatchObserver
}

/** The errors of the uploads that are refused. */
type Outcomes = Map<UploadedFile, AppError>

const maxBatchFiles = 64
const maxQueuedFiles = 10_000

/** Records the files of all callers in batches, so that one wait for the disk serves them all. */
export class FileWriter {
  readonly #queue: BatchQueue<UploadedFile, null>

  constructor(private readonly options: FileWriterOptions) {
    this.#queue = new BatchQueue<UploadedFile, null>({
      sizeOf: () => 1,
      maxBatchSize: maxBatchFiles,
      maxQueuedSize: maxQueuedFiles,
      maxBatches: options.database.dialect.concurrentBatches,
      run: (uploads) => this.#commit(uploads),
      full: () => new AppError('unavailable', 'too many files are waiting'),
      isErrorOfOne: (error) => !(error instanceof AppError),
      observer: options.observer,
    })
  }

  /**
   * Resolves when the file can be downloaded.
   * @throws AppError upload_ticket_used, upload_ticket_invalid, file_quota_reached: the file was
   * not recorded; unavailable, storage_failed
   */
  async write(upload: UploadedFile): Promise<void> {
    await this.#queue.add(upload)
  }

  get queuedFiles(): number {
    return this.#queue.queuedSize
  }

  /** Resolves when everything that was written is durable. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** Runs one transaction, which locks the rows of apps in the order of their IDs. */
  #commit(uploads: readonly UploadedFile[]): Promise<ItemOutcome[]> {
    const byApp = [...groupBy(uploads, ({ file }) => file.appId)].sort(([a], [b]) => compare(a, b))
    return this.options.database.transaction(async (tx) => {
      const outcomes: Outcomes = new Map()
      for (const [appId, ofApp] of byApp) await this.#refuseEnded(tx, appId, ofApp, outcomes)
      for (const [appId, ofApp] of byApp) {
        const left = ofApp.filter((upload) => !outcomes.has(upload))
        if (left.length > 0) await this.#insert(tx, appId, left, outcomes)
      }
      return uploads.map((upload) => outcomes.get(upload) ?? null)
    })
  }

  /** Refuses uploads whose owner is deleted, or has had all tokens ended since the ticket was made. */
  async #refuseEnded(
    tx: Tx,
    appId: string,
    uploads: readonly UploadedFile[],
    outcomes: Outcomes,
  ): Promise<void> {
    const owned = uploads.filter(({ file }) => file.ownerId !== systemUserId)
    if (owned.length === 0) return
    const ownerIds = owned.map(({ file }) => file.ownerId)
    const owners = await this.options.users.lockManyKeyShare(tx, appId, ownerIds)
    const present = owners.filter(({ isDeleted }) => !isDeleted)
    const epochs = new Map(present.map(({ userId, credentialEpoch }) => [userId, credentialEpoch]))
    for (const upload of owned)
      if (epochs.get(upload.file.ownerId) !== upload.credentialEpoch)
        outcomes.set(upload, new AppError('upload_ticket_invalid'))
  }

  async #insert(
    tx: Tx,
    appId: string,
    uploads: readonly UploadedFile[],
    outcomes: Outcomes,
  ): Promise<void> {
    const { files, usage } = this.options
    const { bytes } = await usage.lock(tx, appId)
    const accepted = withinQuota(uploads, bytes, outcomes)
    const stored = await files.insertMany(
      tx,
      accepted.map(({ file }) => file),
    )
    const added = accepted.filter(({ file }) => stored.has(file.uploadId))
    for (const upload of accepted)
      if (!added.includes(upload)) outcomes.set(upload, new AppError('upload_ticket_used'))
    await usage.add(tx, appId, {
      files: added.length,
      bytes: added.reduce((sum, { file }) => sum + file.size, 0),
    })
  }
}

/** Refuses uploads above the quota. @returns the others */
function withinQuota(
  uploads: readonly UploadedFile[],
  usedBytes: number,
  outcomes: Outcomes,
): UploadedFile[] {
  let bytes = usedBytes
  return uploads.filter((upload) => {
    const { file, quotaBytes } = upload
    if (quotaBytes > 0 && bytes + file.size > quotaBytes) {
      outcomes.set(upload, new AppError('file_quota_reached'))
      return false
    }
    bytes += file.size
    return true
  })
}
