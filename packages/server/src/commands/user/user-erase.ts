import {
  type ErasureCertificate,
  eraseUser,
  erasureModes,
  exportUserData,
  listErasures,
} from '@hermod/protocol'
import type { Command } from 'commander'
import { counted } from '../../lib/counted.js'
import { type CommandContext, parseId } from '../runtime/command.js'
import { argument, choice, operationCommand, option, required } from '../runtime/fields.js'
import { longJobCommand } from '../runtime/long-job.js'
import { formatTable, record } from '../runtime/output.js'
import { app_id, which, withUserFields } from './which-user.js'

const fields = {
  app_id,
  user: argument('<user>', 'username or user ID; of a deleted user the ID', which),
}

type ErasureResult = ErasureCertificate & { readonly unlisted: readonly string[] }

interface ExportResult {
  readonly folder: string
  readonly rows: Readonly<Record<string, number>>
  readonly files: number
}

export function addUserErasureCommands(parent: Command, context: CommandContext): void {
  longJobCommand(parent, context, {
    name: 'erase',
    description:
      'Erases everything of a user, deleted or not, for good; prints the certificate. Safe to repeat.',
    operation: eraseUser,
    fields: {
      ...fields,
      messages: required(
        choice(
          '--messages <mode>',
          'keep: as they are; anonymise: the texts alone stay; delete: tombstones take their place',
          erasureModes,
        ),
      ),
      reason: required(option('--reason <text>', 'why, for the certificate; nothing personal')),
    },
    params: withUserFields,
    text: ({ unlisted, ...certificate }: ErasureResult) =>
      certificateText(certificate) + unlistedText(unlisted),
  })

  operationCommand(parent, context, {
    name: 'erasures',
    description: 'Lists the certificates of erasures, the newest first.',
    operation: listErasures,
    fields: {
      app_id,
      user_id: option('--user <user_id>', 'only those of this user', parseId),
    },
    shown: ({ erasures }) => erasures,
    text: ({ erasures }, { app_id }) =>
      formatTable(
        erasures.map(({ user_id, finished_at, messages, files, reason, digest }) => ({
          ...{ user_id, finished_at, messages, files, reason, digest },
        })),
        `${app_id} has no erasures.`,
      ),
  })

  longJobCommand(parent, context, {
    name: 'data-export',
    description: 'Writes the data of a user to a folder, for the user.',
    operation: exportUserData,
    fields: {
      ...fields,
      folder: option(
        '--to <folder>',
        'an absolute path on the machine of the service; default: a new folder in exports of the data folder',
      ),
    },
    params: withUserFields,
    text: ({ folder, rows, files }: ExportResult) =>
      `${counted(
        Object.values(rows).reduce((sum, count) => sum + count, 0),
        'line',
      )} and ${counted(files, 'file')} are in ${folder}.`,
  })
}

function unlistedText(folders: readonly string[]): string {
  if (folders.length === 0) return ''
  return `\n\nA restore from these folders does not repeat the erasure, since erasures.ndjson in them cannot be written: ${folders.join(', ')}. Make them writable and run the command again.`
}

function certificateText({ counts, ...certificate }: ErasureCertificate): string {
  const rows = Object.entries(counts).map(([table, count]) => ({ table, rows: count }))
  return `${record(certificate)}\n\n${formatTable(rows, 'There was nothing of the user.')}`
}
