import { filePurpose } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { pause } from '../../../lib/concurrency/pause.js'
import type { UserKey } from '../../users/user-model.js'
import type { StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileRemoval } from './file-removal.js'

interface FileErasureOptions {
  readonly database: Database
  readonly files: FileStore
  readonly removal: Pick<FileRemoval, 'removeMany' | 'removeBlobs'>
  /** false: another node has the blobs, and removes them by a job. */
  readonly hasBlobs: boolean
}

const filesPerStep = 100
/** The time for which blobs are tried to be removed; a job goes on with it after a failure. */
const patienceMs = 3_600_000
const retryMs = 1_000

/**
 * Removes the files that a person has uploaded, in spite of their references. Avatars of groups stay,
 * as their groups do, without the uploader.
 */
export class FileErasure {
  constructor(private readonly options: FileErasureOptions) {}

  /**
   * @param run.keepsChats leaves files of chats: the messages stay that refer to them
   * @throws when the signal is aborted, and when a blob cannot be removed
   */
  async erase(
    user: UserKey,
    { keepsChats, signal }: { readonly keepsChats: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { database, files, removal, hasBlobs } = this.options
    const { appId } = user
    for (let after = ''; ; ) {
      signal.throwIfAborted()
      const startedAt = performance.now()
      const start = after
      const page: StoredFile[] = await database.snapshot((db) =>
        files.listOfOwner(db, user, { after: start, limit: filesPerStep }),
      )
      const ofGroups = page.filter(({ purpose }) => purpose === filePurpose.groupAvatar)
      const own = page.filter(
        ({ purpose }) =>
          purpose === filePurpose.userAvatar || (purpose === filePurpose.chat && !keepsChats),
      )
      if (ofGroups.length > 0)
        await database.transaction((tx) => files.disown(tx, appId, ofGroups.map(fileIdOf)))
      if (own.length > 0) {
        const gone = await removal.removeMany(appId, own.map(fileIdOf))
        if (hasBlobs) await this.#removeBlobs(appId, gone, signal)
      }
      after = page.at(-1)?.fileId ?? ''
      if (page.length < filesPerStep) return
      await pause(performance.now() - startedAt, signal)
    }
  }

  /** Removes blobs, and waits where a backup holds them or their store is unavailable. */
  async #removeBlobs(
    appId: string,
    files: readonly StoredFile[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const endsAt = performance.now() + patienceMs; ; ) {
      try {
        return await this.options.removal.removeBlobs(appId, { files }, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (performance.now() > endsAt) throw error
        await pause(retryMs, signal)
      }
    }
  }
}

function fileIdOf({ fileId }: StoredFile): string {
  return fileId
}
