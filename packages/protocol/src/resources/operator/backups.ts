import { instant, resource } from '../../resource.js'
import { array, boolean, int32, int64, type Static, text } from '../../schema.js'

/** One complete backup. */
export const OperatorBackup = resource('OperatorBackup', 'A complete backup.', {
  name: text('name of its folder'),
  created_at: instant('when it began'),
  verified_at: instant('when it was verified last; 0: never'),
  engine: text('sqlite: it has the database and the files; postgres: it has the files alone'),
  version: text('version of Hermod that made it'),
  schema: int32({ description: 'number of the schema of its database' }),
  database_bytes: int64({ description: 'size of its database' }),
  files: int64({ description: 'number of its files' }),
  file_bytes: int64({ description: 'size of its files, which backups of one folder share' }),
  missing_files: int64({
    description: 'files that the database names, and that were missing in their store already',
  }),
  encrypted: boolean({ description: 'true: a passphrase opens it' }),
  key_inside: boolean({ description: 'true: the secret key is inside' }),
  damaged: boolean({
    description: 'true: its manifest cannot be read, so that the other values are not known',
  }),
})
/** A complete backup. */
export type OperatorBackup = Static<typeof OperatorBackup>

/** Backups in progress are left out. */
export const BackupList = resource('BackupList', 'The complete backups of a folder.', {
  folder: text('the folder of the backups'),
  backups: array(OperatorBackup, { description: 'the newest first' }),
})
/** The complete backups of a folder. */
export type BackupList = Static<typeof BackupList>
