/** The commands that move all data, which need no service. */
import type { Command } from 'commander'
import type { importData } from '../context/database/transfer.js'
import { counted } from '../lib/counted.js'
import { CommandFailure } from './runtime/call.js'
import {
  type CommandContext,
  type CommandProgress,
  type CommonOptions,
  printingCommand,
} from './runtime/command.js'
import { argument, commandOf, flag, option } from './runtime/fields.js'
import { formatTable } from './runtime/output.js'
import { openProgress } from './runtime/progress.js'

export function addDigestCommand(program: Command, context: CommandContext): void {
  printingCommand(
    program,
    'digest',
    'Prints the number of rows of each type and the sum of their hashes, which are equal for equal data in any database.',
  ).action(async (options: CommonOptions) => {
    const digest = await withProgress(context, (progress) =>
      context.dependencies.data.digest(context.load(), progress),
    )
    const rows = Object.entries(digest).map(([type, found]) => ({ type, ...found }))
    context.printer(options).print(digest, () => formatTable(rows, 'There are no rows.'))
  })
}

export function addExportCommand(program: Command, context: CommandContext): void {
  const command = printingCommand(
    program,
    'export',
    'Writes all data of an installation that no service runs on into a folder, from which hermod import moves it to another folder or database.',
  )
  const fields = {
    move: flag('--move', 'everything, with tokens and secrets, which need the same secret key'),
    to: option('--to <folder>', 'a new folder; default: hermod-export and the time'),
    drop: flag(
      '--drop-undelivered',
      'leaves out the events, pushes and jobs that are not done, and prints how many there are; jobs that change the exported data are never left out',
    ),
  }
  commandOf(command, context, fields, async ({ move, to, drop = false }, options) => {
    if (!move)
      throw new CommandFailure(
        'give --move, which exports everything; other exports do not exist yet',
      )
    const folder = to ?? defaultFolder(context.now())
    const report = await withProgress(context, (progress) =>
      context.dependencies.data.export(
        context.load(),
        { to: folder, dropsUndelivered: drop },
        progress,
      ),
    )
    context.printer(options).print(report, () => {
      const dropped = report.dropped.map(({ what, count }) => `Left out: ${what} (${count}).`)
      return [
        `${counted(report.rows, 'row')} and ${filesText(report.files)} are in ${report.folder}.`,
        ...dropped,
        'The secret key is not in it: hermod import needs it too. Tokens and addresses are in it: keep it secret.',
      ].join('\n')
    })
  })
}

export function addImportCommand(program: Command, context: CommandContext): Command {
  const command = printingCommand(
    program,
    'import',
    'Reads a folder of hermod export into an empty database; run again after an interruption, it continues.',
  )
  const fields = {
    folder: argument('<folder>', 'the folder of hermod export'),
    check: flag('--check', 'only checks the folder and what cannot be imported'),
  }
  return commandOf(command, context, fields, async ({ folder: from, check = false }, options) => {
    const { data } = context.dependencies
    const run = check ? checkFolder : importFolder
    await run(context, options, from, data)
  })
}

type Run = (
  context: CommandContext,
  options: CommonOptions,
  from: string,
  data: CommandContext['dependencies']['data'],
) => Promise<void>

const importFolder: Run = async (context, options, from, data) => {
  const report = await withProgress(context, (progress) =>
    data.import(context.load(), { from }, progress),
  )
  const { isRestored, rows, files } = report
  const next = isRestored
    ? 'The data is that of a copy: start the service and run hermod restore finish, which begins it for users.'
    : 'The service can start.'
  context
    .printer(options)
    .print(
      { restored: isRestored, rows, files },
      () =>
        `${counted(rows, 'row')} and ${filesText(files)} are imported, and equal those of the export. ${next}`,
    )
}

const checkFolder: Run = async (context, options, from, data) => {
  const report = await withProgress(context, (progress) =>
    data.checkImport(context.load(), { from }, progress),
  )
  const { version, created_at, counts, problems, samples, files } = report
  context.printer(options).print(report, () => {
    const rows = Object.entries(counts).map(([type, count]) => ({ type, rows: count }))
    return [
      `An export of ${created_at} by Hermod ${version}, with ${filesText(files)}.`,
      formatTable(rows, 'It has no rows.'),
      ...(samples.length > 0
        ? [
            '',
            formatTable(
              samples.map((each) => ({ ...each })),
              '',
            ),
          ]
        : []),
    ].join('\n')
  })
  if (problems > 0)
    throw new CommandFailure(
      `${counted(problems, 'line')} cannot be imported; above with the reasons: ${samples.length}`,
    )
}

type ImportedFiles = Awaited<ReturnType<typeof importData>>['files']

function filesText({ store, count, bytes, missing }: ImportedFiles): string {
  const size = `${counted(count, 'file')} of ${counted(bytes, 'byte')}${store === 's3' ? ', which stay in S3,' : ''}`
  return missing === 0
    ? size
    : `${size} (${counted(missing, 'more is', 'more are')} missing in the store)`
}

function defaultFolder(now: number): string {
  return `hermod-export-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
}

/** Shows the progress on a terminal. */
async function withProgress<T>(
  context: CommandContext,
  work: (progress: (progress: CommandProgress) => void) => Promise<T>,
): Promise<T> {
  const bar = await openProgress(context.dependencies.stderr, 0)
  try {
    return await work(({ done = 0, text = '', total }) => bar.show(done, text, total))
  } finally {
    bar.close()
  }
}
