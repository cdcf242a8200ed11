import { operation } from '../operation.js'
import { BackupList } from '../resources/operator/backups.js'
import { StartedJob } from '../resources/operator/jobs.js'
import { boolean, optional, string } from '../schema.js'
import { get, operatorOperation, post } from './fields.js'

const folder = optional(
  string({
    description:
      'absolute path of the folder of the backups on the machine of the service; absent: that of HERMOD_BACKUP_DIR',
    maxLength: 4096,
  }),
)

const passphraseFile = optional(
  string({
    description:
      'absolute path of the file of the passphrase on the machine of the service; absent: that of HERMOD_BACKUP_PASSPHRASE_FILE',
    maxLength: 4096,
  }),
)

/**
 * Of the embedded database and its files; PostgreSQL has tools of its own. The result of the job
 * names the backup.
 */
export const createBackup = operation({
  ...operatorOperation,
  id: 'operator.backup.create',
  methods: post,
  path: '/operator/v1/backup/create',
  summary: 'Makes a backup, as a long job.',
  body: {
    folder,
    files_only: optional(
      boolean({ description: 'true: only the files, with any database; they must be in a folder' }),
    ),
    passphrase_file: passphraseFile,
  },
  data: StartedJob,
  errors: ['backup_refused', 'too_many_jobs', 'restore_unfinished'],
})

/** Backups in progress, and the rest of those that were killed, are left out. */
export const listBackups = operation({
  ...operatorOperation,
  id: 'operator.backup.list',
  methods: get,
  path: '/operator/v1/backup/list',
  summary: 'Lists the complete backups of a folder.',
  query: { folder },
  data: BackupList,
  errors: ['backup_refused'],
})

/** Never removes the newest backup, nor the newest verified one. */
export const pruneBackups = operation({
  ...operatorOperation,
  id: 'operator.backup.prune',
  methods: post,
  path: '/operator/v1/backup/prune',
  summary: 'Removes the backups that are no longer retained, as a long job.',
  body: { folder },
  data: StartedJob,
  errors: ['backup_refused', 'too_many_jobs', 'restore_unfinished'],
})

/**
 * Compares every byte of a backup with its hashes, restores its database into a temporary folder and
 * checks it. The service does so by itself once a week.
 */
export const verifyBackup = operation({
  ...operatorOperation,
  id: 'operator.backup.verify',
  methods: post,
  path: '/operator/v1/backup/verify',
  summary: 'Verifies a backup, as a long job.',
  body: {
    folder,
    backup: optional(
      string({ description: 'name of a backup in the folder; absent: the newest', maxLength: 100 }),
    ),
    passphrase_file: passphraseFile,
  },
  data: StartedJob,
  errors: ['backup_refused', 'too_many_jobs', 'restore_unfinished'],
})
