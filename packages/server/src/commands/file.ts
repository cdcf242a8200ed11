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
import { type Command, Option } from 'commander'
import { definedOnly } from '../lib/defined-only.js'
import {
  type AppOptions,
  type CommandContext,
  type CommonOptions,
  ofApp,
  operatingCommand,
  parseId,
} from './runtime/command.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

interface ListFilesOptions extends AppOptions {
  readonly limit: number
  readonly after?: string
}

const purposeWords = meaningsOf(filePurpose)

export function addFileCommands(program: Command, context: CommandContext): void {
  const file = program
    .command('file')
    .description('Lists, shows and deletes files, shows what they take, and ends their addresses.')
  const ofFile = (name: string, description: string) =>
    ofApp(operatingCommand(file, name, description)).argument('<file_id>', 'the file')

  ofApp(operatingCommand(file, 'list', 'Lists files, newest first.'))
    .addOption(
      new Option('--limit <number>', 'at most this many, up to 200').default(50).argParser(parseId),
    )
    .option('--after <cursor>', 'where the list before this one ended')
    .action(async ({ limit, after, ...options }: ListFilesOptions) => {
      const params = definedOnly({ app_id: options.app, limit, cursor: after })
      const page = await context.operate(listFiles, params, options)
      const more = page.next_cursor === '' ? '' : `\n\nThere are more: --after ${page.next_cursor}`
      context
        .printer(options)
        .print(
          page,
          () => formatTable(page.files.map(briefFile), `${options.app} has no such file.`) + more,
        )
    })

  ofFile('show', 'Shows a file and what names it.').action(
    async (fileId: string, options: AppOptions) => {
      const params = { app_id: options.app, file_id: fileId }
      const found = await context.operate(getFile, params, options)
      context.printer(options).print(found, () => fileLines(found))
    },
  )

  operatingCommand(file, 'usage', 'Shows how much every application has in files.').action(
    async (options: CommonOptions) => {
      const usage = await context.operate(getFileUsage, {}, options)
      context.printer(options).print(usage, () => formatTable(usage, 'There is no application.'))
    },
  )

  ofFile('delete', 'Deletes a file, whatever names it.').action(
    async (fileId: string, options: AppOptions) => {
      const params = { app_id: options.app, file_id: fileId }
      const done = await context.operate(deleteFile, params, options)
      context.printer(options).print(done, () => `The file ${fileId} is deleted.`)
    },
  )

  ofApp(
    operatingCommand(
      file,
      'revoke-links',
      'Ends all addresses of files that were made so far, those in old messages too, for ever.',
    ),
  ).action(async (options: AppOptions) => {
    const done = await context.operate(revokeFileLinks, { app_id: options.app }, options)
    context
      .printer(options)
      .print(done, () => `All addresses of files of ${options.app} made so far have ended.`)
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
