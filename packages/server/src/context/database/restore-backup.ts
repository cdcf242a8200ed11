import { type RestoredBackup, restoreBackup } from '../../backup/restore.js'
import type { LoadedConfig } from '../../config/config.js'
import type { WorkOptions } from '../../transfer/digest.js'
import { backupPath, keysOf, verifyChosenBackup } from './verify-backup.js'

/** A backup to restore, as the command names it. */
export interface RestoreChoice {
  /** The path of a backup, or its name in the folder of the settings. */
  readonly backup: string
  /** The data folder to make. */
  readonly to: string
  /** The file with the secret key of the backup; null: that of the settings or of the data folder. */
  readonly keyFile: string | null
}

/** Verifies a backup and restores it. @throws BackupError that says what is wrong and what to do */
export async function restoreChosenBackup(
  loaded: LoadedConfig,
  { backup, to, keyFile }: RestoreChoice,
  work: WorkOptions & { readonly now: number },
): Promise<RestoredBackup> {
  const path = await backupPath(loaded, { backup, folder: null })
  const keys = keysOf(loaded, keyFile)
  const isOfSettings = keyFile === null && loaded.secrets.secretKey !== null
  return restoreBackup({
    ...{ backup: path, to, keys, keepsKey: !isOfSettings },
    ...work,
    verify: async (temporary) => {
      await verifyChosenBackup(loaded, { backup: path, folder: null, keyFile, temporary }, work)
    },
  })
}
