import {
  deleteFile,
  filePurpose,
  getFile,
  getFileUsage,
  listFiles,
  meaningsOf,
  type OperatorFile,
  type OperatorFileDetails,
  revokeFileLinks,
} from '@hermod/protocol'
import type { Command } from 'commander'
import type { CommandContext } from './runtime/command.js'
import { app, argument, moreText, operationCommand, page } from './runtime/fields.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

const purposeWords = meaningsOf(filePurpose)

const fileFields = { app_id: app, file_id: argument('<file_id>', 'the file') }

export function addFileCommands(program: Command, context: CommandContext): void {
  const file = program
    .command('file')
    .description('Lists, shows and deletes files, shows what they take, and ends their addresses.')

  operationCommand(file, context, {
    name: 'list',
    description: 'Lists files, newest first.',
    operation: listFiles,
    fields: { app_id: app, ...page },
    text: (found, { app_id }) =>
      formatTable(found.files.map(briefFile), `${app_id} has no such file.`) + moreText(found),
  })
  operationCommand(file, context, {
    name: 'show',
    description: 'Shows a file and what names it.',
    operation: getFile,
    fields: fileFields,
    text: fileLines,
  })
  operationCommand(file, context, {
    name: 'usage',
    description: 'Shows how much every application has in files.',
    operation: getFileUsage,
    fields: {},
    text: (usage) => formatTable(usage, 'There is no application.'),
  })
  operationCommand(file, context, {
    name: 'delete',
    description: 'Deletes a file, whatever names it.',
    operation: deleteFile,
    fields: fileFields,
    text: (_, { file_id }) => `The file ${file_id} is deleted.`,
  })
  operationCommand(file, context, {
    name: 'revoke-links',
    description:
      'Ends all addresses of files that were made so far, those in old messages too, for ever.',
    operation: revokeFileLinks,
    fields: { app_id: app },
    text: (_, { app_id }) => `All addresses of files of ${app_id} made so far have ended.`,
  })
}

/** One line of a table. */
function briefFile({
  file_id,
  owner_id,
  purpose,
  content_type,
  size,
  name,
  created_at,
}: OperatorFile): OutputRow {
  const what = purposeWords[purpose] ?? purpose
  return { file_id, created_at, size, content_type, purpose: what, owner_id, name }
}

function fileLines({ references, ...file }: OperatorFileDetails): string {
  const head = record({ ...file, purpose: purposeWords[file.purpose] ?? file.purpose })
  const named = references.map((reference) => `  ${reference}`)
  return [head, '', ...(named.length > 0 ? ['Named by', ...named] : ['Nothing names it.'])].join(
    '\n',
  )
}
