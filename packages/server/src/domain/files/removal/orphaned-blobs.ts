import type { BlobStore, ListedBlob } from '../../../blobs/blob-store.js'
import type { Database } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import { fileOfKey, isTemporaryKey } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileHolds } from './file-holds.js'

interface OrphanedBlobsOptions {
  readonly database: Database
  readonly files: FileStore
  readonly blobs: Pick<BlobStore, 'list' | 'remove' | 'tidy'>
  readonly holds: Pick<FileHolds, 'isHeld'>
  readonly clock: Clock
}

/** Blobs younger than this may still get a row: an upload and a rendition take less time. */
export const orphanLifeMs = dayMs

const blobsPerStep = 1_000
/** Pages of one run; the next run continues there. */
const stepsPerRun = 10
/** The pause between two walks through the store. */
const restMs = 3_600_000

/** Removes blobs that belong to no file: the remains of kills, broken uploads and failures (rule J7). */
export class OrphanedBlobs {
  #after: string | null = null
  #restsUntil = Number.NEGATIVE_INFINITY

  constructor(private readonly options: OrphanedBlobsOptions) {}

  /** Checks a limited number of blobs. */
  async run(signal: AbortSignal): Promise<void> {
    const { blobs, holds, clock } = this.options
    if (clock.now() < this.#restsUntil) return
    const before = clock.now() - orphanLifeMs
    if (this.#after === null) await blobs.tidy(before)
    for (let steps = stepsPerRun; steps > 0 && !signal.aborted; steps--) {
      const page = await blobs.list('', this.#after, blobsPerStep)
      const old = page.blobs.filter(({ modifiedAt }) => modifiedAt < before)
      const orphans = await this.orphans(old)
      if (orphans.length > 0 && (await holds.isHeld())) return
      await blobs.remove(orphans)
      this.#after = page.next
      if (page.next === null) {
        this.#restsUntil = clock.now() + restMs
        return
      }
    }
  }

  /** Returns the keys of blobs that belong to no file, without keys that the service has not made. */
  async orphans(listed: readonly Pick<ListedBlob, 'key'>[]): Promise<string[]> {
    const { database, files } = this.options
    const owned = listed.flatMap(({ key }) => {
      const file = fileOfKey(key)
      return file ? [{ key, file }] : []
    })
    const orphans = listed.map(({ key }) => key).filter(isTemporaryKey)
    for (const [, ofApp] of groupBy(owned, ({ file }) => file.appId)) {
      const keys = ofApp.map(({ file }) => file)
      const uploads = await database.read((db) => files.findUploads(db, keys))
      for (const { key, file } of ofApp)
        if (uploads.get(file.fileId) !== file.uploadId) orphans.push(key)
    }
    return orphans
  }
}
