import type { Command } from 'commander'
import { findImportedMessages } from '@hermod/protocol'
import type { CallOperation } from '../../imports/operations.js'
import { compareMessages } from '../../imports/stream/stream-compare.js'
import { summaryOf, stageFile, type StreamSummary } from '../../imports/stream/stream-file.js'
import { StreamImport } from '../../imports/stream/stream-import.js'
import { StreamStaging } from '../../imports/stream/stream-staging.js'
import { counted } from '../../lib/counted.js'
import { CommandFailure } from '../runtime/call.js'
import {
  type CommandContext,
  type CommandWork,
  type Operate,
  operatingCommand,
} from '../runtime/command.js'
import { withProgress } from '../runtime/command-work.js'
import {
  argument,
  byDefault,
  commandOf,
  flag,
  type GivenOptions,
  option,
} from '../runtime/fields.js'
import { fileNote } from '../runtime/files.js'
import { bytesRead, openInput, readable } from '../runtime/input.js'
import { patiently } from '../runtime/patience.js'
import { temporary, withTemporaryFolder } from './temporary.js'
import { checkText, type RunReport, runText } from './stream-report.js'

/** The name under which the service keeps the IDs of the other system. */
export const source = byDefault(
  option('--source <name>', 'names the import; the same name continues it'),
  'stream',
)

const fields = {
  file: argument('<file>', `one JSON object a line, or a JSON array of them; ${fileNote}`),
  check: flag('--check', 'only reads the file, without a service, and prints what is in it'),
  app_id: option('--app <app_id>', 'the application'),
  source,
  issuer: byDefault(
    option('--issuer <issuer>', 'the IDs of the users become their subjects of this issuer'),
    'stream',
  ),
  skip: flag('--skip-faults', 'imports the rest of a file that has bad items'),
  temporary,
}

const help = `
Reads the format of Stream (GetStream chat): items of users, channels, members, messages and reactions, in any order.
Run it again after an interruption: what is there already is not stored twice. Exit code 1 when an item could not be imported or differs.`

const comparedMessages = 1_000

type Values = Parameters<Parameters<typeof commandOf<typeof fields>>[3]>[0]

export function addStreamCommand(parent: Command, context: CommandContext): void {
  const command = operatingCommand(
    parent,
    'stream',
    'Imports users, groups, messages, reactions and read positions from a file in the format of Stream.',
  ).addHelpText('after', help)
  commandOf(command, context, fields, async (values, options) => {
    if (!values.check && values.app_id === undefined)
      throw new CommandFailure('give --app <app_id>, or --check to read the file only')
    await withTemporaryFolder(values.temporary, async (folder) => {
      using staging = new StreamStaging(folder)
      await runStaged(staging, { context, values, options })
    })
  })
}

interface Run {
  readonly context: CommandContext
  readonly values: Values
  readonly options: GivenOptions
}

async function runStaged(staging: StreamStaging, run: Run): Promise<void> {
  const { context, values, options } = run
  const printer = context.printer(options)
  const summary = await withProgress(context, options, (work) => readFile(staging, run, work))
  if (values.check) {
    printer.print(summary, () => checkText(summary))
    if (summary.faults > 0)
      throw new CommandFailure(`${counted(summary.faults, 'item is', 'items are')} bad`)
    return
  }
  if (!values.skip && summary.faults > 0) throw badItems(summary)
  const report = await withProgress(context, options, (work) => importStaged(staging, run, work))
  printer.print(report, () => runText(report))
  requireSuccess(report, summary.faults)
}

async function readFile(
  staging: StreamStaging,
  { context, values: { file } }: Run,
  { signal, progress }: CommandWork,
): Promise<StreamSummary> {
  const { input, bytes } = await openInput(context, file, signal)
  try {
    return await stageFile(staging, {
      input: readable(file, input as AsyncIterable<Buffer>),
      name: file,
      signal,
      now: context.now(),
      maxMessageBytes: context.load().config.messages.maxMessageBytes,
      progress: (text) => progress({ done: Math.min(bytesRead(input), bytes), total: bytes, text }),
    })
  } finally {
    input.destroy()
  }
}

/** Sends everything in the order that the service needs, and compares it afterwards. */
async function importStaged(
  staging: StreamStaging,
  { context, values, options }: Run,
  { signal, progress }: CommandWork,
): Promise<RunReport> {
  const { app_id: appId = '', source, issuer, skip = false } = values
  const { mapped } = summaryOf(staging)
  const total = mapped.users + mapped.groups + mapped.messages + mapped.members
  let done = 0
  return context.session(options, async (operate) => {
    const call = callsOf(operate, signal)
    const work = new StreamImport({
      ...{ staging, call, appId, source, issuer },
      progress(text, by) {
        done += by
        progress({ done, total, text })
      },
    })
    const users = await work.users()
    const groups = users.failed > 0 && !skip ? null : await work.groups()
    if (groups === null || (groups.failed > 0 && !skip)) throw refused(staging)
    const messages = await work.messages()
    const members = await work.members()
    progress({ text: 'comparing' })
    const compared = await compareMessages(staging, comparedMessages, async (external_ids) => {
      const { messages } = await call(findImportedMessages, { app_id: appId, source, external_ids })
      return messages
    })
    return { ...summaryOf(staging), imported: { users, groups, messages, members }, compared }
  })
}

function refused(staging: StreamStaging): CommandFailure {
  const [first] = staging.samples(1)
  return new CommandFailure(
    `users or groups could not be imported, and no message was; the first: ${first?.type} of line ${first?.line}: ${first?.reason}. ` +
      'Correct them and run the command again, or leave them and their messages out with --skip-faults',
  )
}

function callsOf(operate: Operate, signal: AbortSignal): CallOperation {
  return (operation, params) =>
    patiently(() => {
      signal.throwIfAborted()
      return operate(operation, params as never)
    })
}

/** Messages come in their order: what is left out now cannot be added later between others. */
function badItems({ faults, samples: [first] }: StreamSummary): CommandFailure {
  return new CommandFailure(
    `${counted(faults, 'item is', 'items are')} bad, and nothing was imported; the first: ${first?.type} of line ${first?.line}: ${first?.reason}. ` +
      'See all with --check, and correct them, since messages cannot be added later between others, or leave them out with --skip-faults',
  )
}

function requireSuccess({ compared, faults }: RunReport, known: number): void {
  const problems = [
    ...(compared.different > 0
      ? [
          `${counted(compared.different, 'message differs', 'messages differ')} from the file (compared: ${compared.compared})`,
        ]
      : []),
    ...(faults > known ? [`${counted(faults - known, 'item')} could not be imported`] : []),
  ]
  if (problems.length > 0) throw new CommandFailure(problems.join('; '))
}
