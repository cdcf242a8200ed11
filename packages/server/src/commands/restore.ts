/** Restores of backups, and their end. */
import {
  type FinishedRestore,
  finishRestore,
  getRestoreStatus,
  type RestoreStatus,
} from '@hermod/protocol'
import type { Command } from 'commander'
import { counted } from '../lib/counted.js'
import { passphraseFile } from './passphrase-file.js'
import { type CommandContext, printingCommand } from './runtime/command.js'
import { argument, commandOf, flag, operationCommand, option, required } from './runtime/fields.js'
import { withProgress } from './runtime/command-work.js'

export function addRestoreCommands(program: Command, context: CommandContext): void {
  const restore = program
    .command('restore')
    .description(
      'Makes a new data folder of a backup: hermod restore <backup> --to <folder> --key-file <secret.key>, or --passphrase-file <file> for an encrypted one. Its options: hermod restore from --help.',
    )
  const from = printingCommand(
    restore,
    'from',
    'Makes a new data folder of a backup (default). The service on it serves users after hermod restore finish.',
    { isDefault: true },
  )
  const fields = {
    backup: argument('<backup>', 'its path, or its name in the folder of HERMOD_BACKUP_DIR'),
    to: required(option('--to <folder>', 'the data folder, which does not exist or is empty')),
    key_file: option(
      '--key-file <file>',
      'the secret.key of the data folder that was backed up; default: that of the settings or the data folder; never for an encrypted backup, which has it inside',
    ),
    passphrase_file: passphraseFile('the file of the passphrase of an encrypted backup'),
  }
  commandOf(from, context, fields, async (given, options) => {
    const { backup, to, key_file: keyFile = null, passphrase_file: passphraseFile = null } = given
    const restored = await withProgress(context, options, (work) =>
      context.dependencies.restore(
        context.load(),
        { backup, to, keyFile, passphraseFile },
        { ...work, now: context.now() },
      ),
    )
    const { folder, bytes, manifest } = restored
    const { created_at, version, newest_message, files } = manifest
    context
      .printer(options)
      .print({ folder, bytes, created_at, version, newest_message, files }, () =>
        [
          `The backup of ${created_at} is restored in ${folder}: ${(bytes / 2 ** 20).toFixed(1)} MiB.`,
          newest_message === null
            ? 'It has no messages.'
            : `Its newest message is of ${newest_message.at} (msg_id ${newest_message.msg_id}); whatever happened later is not in it.`,
          ...(files.store === 's3' ? ['Its files are in S3, and were not copied.'] : []),
          '',
          `Start the service with HERMOD_DATA_DIR=${folder}: it serves operators, and sends nothing.`,
          'Look at the data with hermod check and hermod restore status; hermod restore finish begins the service for users.',
        ].join('\n'),
      )
  })

  operationCommand(restore, context, {
    name: 'status',
    description: 'Shows what a restored service sends once the restore is finished.',
    operation: getRestoreStatus,
    fields: {},
    text: (status) =>
      status.restored
        ? [...statusLines(status), '', 'hermod restore finish begins the service.'].join('\n')
        : 'The service is not restored from a backup, or the restore is finished.',
  })
  operationCommand(restore, context, {
    name: 'finish',
    description:
      'Begins the service on restored data: ends old pushes, erases again who was erased after the backup, and serves users.',
    operation: finishRestore,
    fields: { end_logins: flag('--end-logins', 'ends all tokens of users, who log in again') },
    text: finishText,
  })
}

function statusLines({
  newest_msg_id,
  newest_message_at,
  webhook_events,
  pushes,
  oldest_push_at,
  user_tokens,
  admin_tokens,
}: RestoreStatus): string[] {
  return [
    newest_msg_id === 0
      ? 'There are no messages.'
      : `The newest message is of ${timeText(newest_message_at)} (msg_id ${newest_msg_id}). Messages, users, changes and revoked tokens after it are unknown.`,
    ...webhook_events.map(
      ({ app_id, count, oldest_at }) =>
        `To webhooks of ${app_id} go up to ${counted(count, 'event')}, the oldest of ${timeText(oldest_at)}.`,
    ),
    ...(Number(pushes) > 0
      ? [
          `${counted(pushes, 'push is', 'pushes are')} not sent yet, the oldest of ${timeText(oldest_push_at)}.`,
        ]
      : []),
    `Valid are ${counted(user_tokens, 'token')} of users and ${counted(admin_tokens, 'Admin token')}, also those that were ended after the backup (hermod restore finish --end-logins, hermod token revoke).`,
  ]
}

function finishText(finished: FinishedRestore): string {
  const { ended_message_pushes, ended_core_pushes, ended_user_tokens } = finished
  const { repeated_erasures, unreadable_erasures } = finished
  return [
    'The service serves users.',
    '',
    ...statusLines(finished),
    `Ended and not sent: ${counted(ended_message_pushes, 'push', 'pushes')} of messages older than five minutes, ${counted(ended_core_pushes, 'push', 'pushes')} to connected devices.`,
    `Ended tokens of users: ${ended_user_tokens}. Erased again: ${counted(repeated_erasures, 'user')}.`,
    ...(Number(unreadable_erasures) > 0
      ? [
          `${counted(unreadable_erasures, 'line')} of erasures.ndjson in the data folder cannot be read, and the users there were not erased again; read the file, and repeat the erasures with hermod user erase.`,
        ]
      : []),
  ].join('\n')
}

function timeText(at: number | bigint): string {
  return Number(at) === 0 ? 'an unknown time' : new Date(Number(at)).toISOString()
}
