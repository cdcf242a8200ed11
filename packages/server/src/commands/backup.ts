/** The commands on backups. */
import { resolve } from 'node:path'
import { type BackupList, createBackup, listBackups, pruneBackups } from '@hermod/protocol'
import type { Command } from 'commander'
import type { Backups } from '../context/domains/backup.js'
import { counted } from '../lib/counted.js'
import { addBackupVerifyCommand } from './backup-verify.js'
import { passphraseFile } from './passphrase-file.js'
import type { CommandContext } from './runtime/command.js'
import { operationCommand, option, readAs } from './runtime/fields.js'
import { longJobCommand } from './runtime/long-job.js'
import { formatTable, type OutputRow } from './runtime/output.js'

type MadeBackup = Awaited<ReturnType<Backups['create']>>
type Pruned = Awaited<ReturnType<Backups['prune']>>

const mebibyte = 2 ** 20
const folder = (help: string) =>
  readAs(option('--to <folder>', help), (path: string) => resolve(path))
const ofSettings = 'default: that of HERMOD_BACKUP_DIR'
const target = {
  folder: folder(
    `the folder of the backups: missing, empty, or with backups of this installation; ${ofSettings}`,
  ),
}
const existing = { folder: folder(`the folder of the backups; ${ofSettings}`) }

export function addBackupCommands(program: Command, context: CommandContext): void {
  const backup = program
    .command('backup')
    .description('Makes, lists and removes backups of the embedded database and the files.')

  longJobCommand(backup, context, {
    name: 'create',
    description: 'Makes a backup of the embedded database and its files; a server may run.',
    operation: createBackup,
    fields: {
      ...target,
      passphrase_file: passphraseFile(
        'encrypts the backup with the passphrase in a file of one line, and puts the secret key inside',
      ),
    },
    params: (values) => values,
    text: (made: MadeBackup) => `${madeText(made)}\n${keyText(made)}`,
  })
  longJobCommand(backup, context, {
    name: 'files',
    description: 'Copies the files of a folder, with any database.',
    operation: createBackup,
    fields: target,
    params: (values) => ({ ...values, files_only: true }),
    text: madeText,
  })
  operationCommand(backup, context, {
    name: 'list',
    description: 'Lists the complete backups.',
    operation: listBackups,
    fields: existing,
    text: ({ folder, backups }) =>
      formatTable(backups.map(briefBackup), `There is no backup in ${folder}.`),
  })
  addBackupVerifyCommand(backup, context)
  longJobCommand(backup, context, {
    name: 'prune',
    description:
      'Removes backups beyond HERMOD_BACKUP_DAILY and HERMOD_BACKUP_WEEKLY, and the files that only they named.',
    operation: pruneBackups,
    fields: existing,
    params: (values) => values,
    text: ({ removed, removed_files }: Pruned) =>
      `Removed: ${counted(removed.length, 'backup')} and ${counted(removed_files, 'file')}.`,
  })
}

function madeText({ name, folder, database_bytes, files, file_bytes, missing_files }: MadeBackup) {
  const database = database_bytes === 0 ? '' : `a database of ${mebibytes(database_bytes)} and `
  const missing =
    missing_files === 0
      ? ''
      : `\n${counted(missing_files, 'file was', 'files were')} missing in their store already; hermod check names them.`
  return `${folder}/${name} has ${database}${counted(files, 'file')} of ${mebibytes(file_bytes)}.${missing}`
}

function keyText({ key_inside, key_source }: MadeBackup): string {
  if (key_inside)
    return 'It is encrypted, and the secret key is inside. Keep the passphrase at another place: a restore needs it, and nothing else opens the backup.'
  const place = key_source === 'file' ? 'secret.key in the data folder' : 'HERMOD_SECRET_KEY'
  return `The secret key is not inside: keep a copy of ${place} at another place. A restore needs both.`
}

/** One line of a table. */
function briefBackup(each: BackupList['backups'][number]): OutputRow {
  const { name, created_at, verified_at, engine, version, files, encrypted } = each
  if (each.damaged) return { name, created_at, state: 'damaged' }
  return {
    ...{ name, created_at, state: verified_at === 0 ? 'complete' : 'verified' },
    contents: engine === 'sqlite' ? 'database and files' : 'files',
    encrypted: encrypted ? 'yes' : 'no',
    ...{ version, database: mebibytes(Number(each.database_bytes)), files },
    file_size: mebibytes(Number(each.file_bytes)),
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(1)} MiB`
}
