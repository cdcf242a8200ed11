import { type RestoredBackup, restoreBackup } from '../../backup/restore.js'
import type { LoadedConfig } from '../../config/config.js'
import type { WorkOptions } from '../../transfer/digest.js'
import { openChosenBackup, verifyOpenedBackup } from './verify-backup.js'

/** A backup to restore, as the command names it. */
export interface RestoreChoice {
  /** The path of a backup, or its name in the folder of the settings. */
  readonly backup: string
  /** The data folder to make. */
  readonly to: string
  /** The file with the secret key of the backup; null: that of the settings or of the data folder. */
  readonly keyFile: string | null
  /** The file with the passphrase of an encrypted backup; null: that of the settings. */
  readonly passphraseFile: string | null
}

/** Verifies a backup and restores it. @throws BackupError that says what is wrong and what to do */
export async function restoreChosenBackup(
  loaded: LoadedConfig,
  { to, ...choice }: RestoreChoice,
  work: WorkOptions & { readonly now: number },
): Promise<RestoredBackup> {
  const opened = await openChosenBackup(loaded, { ...choice, folder: null })
  const { backup, keys } = opened
  const isOfSettings =
    backup.secrets === null && choice.keyFile === null && loaded.secrets.secretKey !== null
  return restoreBackup({
    ...{ backup, to, keys, keepsKey: !isOfSettings },
    ...work,
    verify: async (temporary) => {
      await verifyOpenedBackup(loaded, opened, { ...work, temporary })
    },
  })
}
