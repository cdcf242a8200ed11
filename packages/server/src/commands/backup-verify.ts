/** `hermod backup verify`, which needs no service and runs beside one. */
import { verifyBackup } from '@hermod/protocol'
import type { Command } from 'commander'
import type { BackupChoice, verifyChosenBackup } from '../context/database/verify-backup.js'
import { counted } from '../lib/counted.js'
import { passphraseFile } from './passphrase-file.js'
import { type CommandContext, printingCommand } from './runtime/command.js'
import { argument, commandOf, type GivenOptions, option } from './runtime/fields.js'
import { runLongJob } from './runtime/long-job.js'
import { formatTable } from './runtime/output.js'
import { withProgress } from './runtime/command-work.js'

export function addBackupVerifyCommand(parent: Command, context: CommandContext): void {
  const command = printingCommand(
    parent,
    'verify',
    'Compares every byte of a backup, restores its database into a temporary folder and checks it; default: the newest backup.',
  )
  const fields = {
    backup: argument('[backup]', 'its name, or the path of its folder'),
    to: option('--to <folder>', 'the folder of the backups; default: that of HERMOD_BACKUP_DIR'),
    key_file: option(
      '--key-file <file>',
      'the secret.key of the backup; default: that of the settings or the data folder; never for an encrypted backup, which has it inside',
    ),
    passphrase_file: passphraseFile('the file of the passphrase of an encrypted backup'),
    temporary: option(
      '--temporary <folder>',
      'where the database is restored for a while; default: the folder of the backups, and for an encrypted backup the data folder',
    ),
    url: option(
      '--url <url>',
      'a restored copy of a PostgreSQL database (postgres://…), with the files of the backup if one is named; or a server elsewhere (https://…), which verifies its own backups',
    ),
  }
  commandOf(command, context, fields, async (given, options) => {
    const { backup = null, to = null, key_file = null, temporary = null, url } = given
    const passphraseFile = given.passphrase_file ?? null
    const choice = { backup, folder: to, keyFile: key_file, passphraseFile, temporary }
    if (url === undefined) await verify(context, options, choice)
    else if (/^postgres(?:ql)?:/.test(url)) await verifyCopy(context, { ...options, url }, choice)
    else await verifyElsewhere(context, { ...options, url }, choice)
  })
}

async function verify(context: CommandContext, options: GivenOptions, choice: BackupChoice) {
  const { verification } = context.dependencies
  const found = await withProgress(context, options, (work) =>
    verification.backup(context.load(), choice, work),
  )
  context.printer(options).print(found, () => verifiedText(found))
}

type Verified = Awaited<ReturnType<typeof verifyChosenBackup>>

function verifiedText({
  backup,
  created_at,
  bytes,
  files,
  rows,
  facts,
  digest,
  is_noted,
}: Verified) {
  const ofRows =
    digest === 'equal'
      ? `its ${counted(rows, 'row is the one that was', 'rows are those that were')} backed up`
      : 'its rows were not compared, since an earlier version made it'
  // A backup of the files alone has no facts.
  const ofDatabase =
    facts === 0 ? '' : `, ${ofRows}, and hermod check finds no fault in ${counted(facts, 'fact')}`
  return [
    `The backup ${backup} of ${created_at} is verified: ${counted(bytes, 'byte')} and ${counted(files, 'file')} are as they were written${ofDatabase}.`,
    ...(is_noted
      ? []
      : ['Its folder is read only, so hermod backup list does not show it as verified.']),
  ].join('\n')
}

async function verifyCopy(
  context: CommandContext,
  options: GivenOptions & { readonly url: string },
  choice: BackupChoice,
) {
  const { verification } = context.dependencies
  const found = await withProgress(context, options, (work) =>
    verification.copy(context.load(), options.url, choice, work),
  )
  const { rows, facts, files, digest } = found
  context.printer(options).print(found, () =>
    [
      `The copy is verified: hermod check finds no fault in ${counted(facts, 'fact')}, and all of it can be read: ${counted(rows, 'row')}.`,
      files === null
        ? 'No files were compared; name a backup of hermod backup files to do so.'
        : `Its ${counted(files, 'file is as it was', 'files are as they were')} written.`,
      formatTable(
        Object.entries(digest).map(([type, each]) => ({ type, ...each })),
        'It has no rows.',
      ),
    ].join('\n'),
  )
}

async function verifyElsewhere(
  context: CommandContext,
  options: GivenOptions & { readonly url: string },
  { backup, folder, passphraseFile }: BackupChoice,
) {
  const params = {
    ...(backup !== null && { backup }),
    ...(folder !== null && { folder }),
    ...(passphraseFile !== null && { passphrase_file: passphraseFile }),
  }
  const found = await runLongJob<typeof params, Verified>(context, {
    ...{ operation: verifyBackup, params, options },
  })
  if (!options.json) context.printer(options).print(found, () => verifiedText(found))
}
