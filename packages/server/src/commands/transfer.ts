/** The commands that move data, which need no service. */
import type { Command } from 'commander'
import type { importData } from '../context/database/import-data.js'
import { counted } from '../lib/counted.js'
import { CommandFailure } from './runtime/call.js'
import {
  type ChosenRows,
  type CommandContext,
  type CommandProgress,
  type CommonOptions,
  type ExportedApps,
  printingCommand,
} from './runtime/command.js'
import { argument, commandOf, type Field, flag, option } from './runtime/fields.js'
import { formatTable } from './runtime/output.js'
import { openProgress } from './runtime/progress.js'

const apps = option(
  '--app <app_id>',
  'an application of a portable export; may be given several times; all when left out',
  (text: string, before: readonly string[] = []): readonly string[] => [...before, text],
)

export function addDigestCommand(program: Command, context: CommandContext): void {
  const command = printingCommand(
    program,
    'digest',
    'Prints the number of rows of each type and the sum of their hashes, which are equal for equal data in any database.',
  )
  const fields = {
    portable: flag('--portable', 'only what a portable export has of the applications'),
    apps,
  }
  commandOf(command, context, fields, async ({ portable, apps: chosen }, options) => {
    const kind = portable || chosen ? 'portable' : 'move'
    const digest = await withProgress(context, (progress) =>
      context.dependencies.data.digest(context.load(), { kind, apps: chosen ?? [] }, progress),
    )
    const rows = Object.entries(digest).map(([type, found]) => ({ type, ...found }))
    context.printer(options).print(digest, () => formatTable(rows, 'There are no rows.'))
  })
}

export function addExportCommand(program: Command, context: CommandContext): void {
  const command = printingCommand(
    program,
    'export',
    'Writes applications of an installation that no service runs on, or all of the installation, into a folder, which hermod import reads.',
  )
  const fields = {
    portable: flag(
      '--portable',
      'applications without tokens, passwords and secrets, for any installation; the default',
    ),
    move: flag(
      '--move',
      'the installation, with tokens and secrets, which need the same secret key',
    ),
    apps,
    to: option('--to <folder>', 'a new folder; default: hermod-export and the time'),
    drop: flag(
      '--drop-undelivered',
      'with --move: leaves out the events, pushes and jobs that are not done, and prints how many there are; jobs that change the exported data are never left out',
    ),
  }
  commandOf(command, context, fields, async ({ to, drop = false, ...given }, options) => {
    const chosen = chosenRows(given)
    if (drop && chosen.kind === 'portable')
      throw new CommandFailure(
        '--drop-undelivered belongs to --move: a portable export has no events, and the installation still delivers its own',
      )
    const folder = to ?? defaultFolder(context.now())
    const report = await withProgress(context, (progress) =>
      context.dependencies.data.export(
        context.load(),
        { ...chosen, to: folder, dropsUndelivered: drop },
        progress,
      ),
    )
    context.printer(options).print(report, () => {
      const dropped = report.dropped.map(({ what, count }) => `Left out: ${what} (${count}).`)
      return [
        `${counted(report.rows, 'row')} and ${filesText(report.files)} are in ${report.folder}.`,
        ...dropped,
        chosen.kind === 'move'
          ? 'The secret key is not in it: hermod import needs it too. Tokens and addresses are in it: keep it secret.'
          : 'Passwords, tokens and secrets are not in it. Messages and profiles are in it: keep it secret.',
      ].join('\n')
    })
  })
}

function chosenRows(given: {
  readonly portable?: true
  readonly move?: true
  readonly apps?: readonly string[]
}): ChosenRows {
  const { portable, move, apps: chosen = [] } = given
  if (move && (portable || chosen.length > 0))
    throw new CommandFailure(
      '--move exports all of an installation; leave out --portable and --app',
    )
  return { kind: move ? 'move' : 'portable', apps: chosen }
}

export function addImportCommand(program: Command, context: CommandContext): Command {
  const command = printingCommand(
    program,
    'import',
    'Reads a folder of hermod export into a database that no service uses: an empty one, or for a portable export beside other applications; run again after an interruption, it continues.',
  )
  const fields = {
    folder: argument('[folder]', 'the folder of hermod export') as Field<string | undefined>,
    check: flag('--check', 'only checks the folder and what cannot be imported'),
    undo: flag('--undo', 'removes the applications of an unfinished import; without a folder'),
  }
  return commandOf(command, context, fields, async ({ folder, check, undo }, options) => {
    const { data } = context.dependencies
    if (undo) {
      if (folder !== undefined || check)
        throw new CommandFailure('--undo has no folder and no other option')
      return undoImport(context, options)
    }
    if (folder === undefined)
      throw new CommandFailure('name the folder of hermod export, or give --undo')
    const run = check ? checkFolder : importFolder
    await run(context, options, folder, data)
  })
}

async function undoImport(context: CommandContext, options: CommonOptions): Promise<void> {
  const removed = await withProgress(context, (progress) =>
    context.dependencies.data.undoImport(context.load(), progress),
  )
  context
    .printer(options)
    .print(
      { apps: removed },
      () => `The import of ${removed.join(', ')} is undone. The service can start.`,
    )
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
  const { isRestored, rows, files, apps: imported } = report
  const next = isRestored
    ? 'The data is that of a copy: start the service and run hermod restore finish, which begins it for users.'
    : 'The service can start.'
  context
    .printer(options)
    .print({ restored: isRestored, rows, files, apps: imported }, () =>
      [
        `${counted(rows, 'row')} and ${filesText(files)} are imported, and equal those of the export. ${next}`,
        ...nextSteps(imported),
      ].join('\n'),
    )
}

/** The ways in which an application gets again what an export leaves behind. */
const remedies: Readonly<Record<string, (appId: string) => string>> = {
  admin_tokens: (appId) => `hermod token create --app ${appId} --name …`,
  registration_secret: (appId) =>
    `hermod app update ${appId} --registration-secret …, until when /user/register/push is refused`,
  identity_issuers: (appId) => `hermod identity set --app ${appId} …`,
  push_certificates: (appId) => `hermod certificate set --app ${appId} …`,
  webhook_endpoints: (appId) => `hermod webhook create --app ${appId} …`,
  event_consumers: () => 'readers of the log begin with a cursor of their own, or the next event',
}

/** Another version may name more. */
function remedyOf(what: string): ((appId: string) => string) | undefined {
  return Object.hasOwn(remedies, what) ? remedies[what] : undefined
}

function nextSteps(imported: ExportedApps): string[] {
  const lines = Object.entries(imported).flatMap(([appId, had]) => [
    `${appId}: users have no password; they log in with tokens of the app's server, by an identity issuer, or after hermod user reset-password.`,
    ...Object.entries({ admin_tokens: 0, ...had }).map(([what, count]) => {
      const name = what.replaceAll('_', ' ')
      const had = count > 0 ? `${count} ${name} were left behind` : `no ${name} yet`
      return `  ${had}: ${remedyOf(what)?.(appId) ?? 'set them up again'}`
    }),
  ])
  return lines.length > 0 ? ['', 'Next, when the service runs:', ...lines] : []
}

const checkFolder: Run = async (context, options, from, data) => {
  const report = await withProgress(context, (progress) =>
    data.checkImport(context.load(), { from }, progress),
  )
  const { version, created_at, kind, apps: found, counts, problems, samples, files } = report
  context.printer(options).print(report, () => {
    const rows = Object.entries(counts).map(([type, count]) => ({ type, rows: count }))
    return [
      `An export (${kind}) of ${created_at} by Hermod ${version}, with ${filesText(files)}.`,
      ...(kind === 'portable' ? [`Applications: ${Object.keys(found).join(', ') || 'none'}.`] : []),
      formatTable(rows, 'It has no rows.'),
      ...(samples.length > 0 ? ['', formatTable(samples, '')] : []),
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
