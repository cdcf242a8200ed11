import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { targetError } from './backup-error.js'
import { filesIds, filesRoot } from './encryption/files-key.js'
import { expiredBackups, type Retention } from './retention.js'
import type { BackupTarget, FoundBackup } from './target.js'
import { BackupThread } from './thread.js'

/** The result of pruning. */
export interface PruneResult {
  /** Names of the removed backups. */
  readonly removed: readonly string[]
  /** The number of removed files, which no backup named any more. */
  readonly removedFiles: number
}

/** The folder of temporary files. The next lock of the target removes that of a killed process. */
const scratchName = '.incoming-prune'

/**
 * Removes the backups that are not retained, and the files that none of the others names.
 * @param now milliseconds since 1970
 * @throws BackupError; the reason of the signal
 */
export async function pruneBackups(
  target: BackupTarget,
  retention: Retention,
  { now, signal }: { readonly now: number; readonly signal: AbortSignal },
): Promise<PruneResult> {
  await using locked = await target.lock()
  const ending = AbortSignal.any([signal, locked.lost])
  const scratch = join(target.folder, scratchName)
  try {
    const expired = new Set(expiredBackups((await target.list()).map(asRetained), retention, now))
    for (const each of expired) {
      ending.throwIfAborted()
      await locked.remove(each)
    }
    await mkdir(scratch, { mode: 0o700 })
    await using thread = new BackupThread()
    ending.addEventListener('abort', () => void thread[Symbol.asyncDispose]())
    const backups = await target.list()
    let removedFiles = 0
    for (const { root, named, isUsed } of await filesOf(target.folder, backups)) {
      ending.throwIfAborted()
      await locked.requireHeld()
      removedFiles += await thread.run('removeUnnamed', { target: root, backups: named, scratch })
      if (!isUsed) await rm(root, { recursive: true, force: true })
    }
    return { removed: [...expired].map(({ name }) => name), removedFiles }
  } catch (error) {
    throw ending.aborted ? ending.reason : targetError(target.folder, error)
  } finally {
    await rm(scratch, { recursive: true, force: true }).catch(() => {})
  }
}

/** Returns each place of files, with the folders of the backups that may name files in it. */
async function filesOf(
  target: string,
  backups: readonly FoundBackup[],
): Promise<{ readonly root: string; readonly named: string[]; readonly isUsed: boolean }[]> {
  const places = [undefined, ...(await filesIds(target)).map((id) => ({ files: { id } }))]
  return places.map((place) => {
    // It is unknown where a damaged one has its files.
    const named = backups
      .filter(({ manifest }) => !manifest || manifest.encryption?.files.id === place?.files.id)
      .map(({ folder }) => folder)
    const isUsed = place === undefined || named.length > 0
    return { root: filesRoot(target, place), named, isUsed }
  })
}

function asRetained(backup: FoundBackup) {
  const { manifest, verifiedAt } = backup
  return { ...backup, engine: manifest?.engine ?? null, isVerified: verifiedAt !== null }
}
