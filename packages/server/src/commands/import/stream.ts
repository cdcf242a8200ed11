import type { Command } from 'commander'
import { stageFile, type StreamSummary } from '../../imports/stream/stream-file.js'
import { StreamStaging } from '../../imports/stream/stream-staging.js'
import { CommandFailure } from '../runtime/call.js'
import { type CommandContext, type CommandWork, printingCommand } from '../runtime/command.js'
import { withProgress } from '../runtime/command-work.js'
import { argument, commandOf, flag } from '../runtime/fields.js'
import { fileNote } from '../runtime/files.js'
import { bytesRead, openInput, readable } from '../runtime/input.js'
import { checkText } from './stream-report.js'
import { temporary, withTemporaryFolder } from './temporary.js'

const fields = {
  file: argument('<file>', `one JSON object a line, or a JSON array of them; ${fileNote}`),
  check: flag('--check', 'only reads the file, without a service, and prints what is in it'),
  temporary,
}

const help = `
Reads the format of Stream (GetStream chat): items of users, channels, members, messages and reactions, in any order.`

export function addStreamCommand(parent: Command, context: CommandContext): void {
  const command = printingCommand(
    parent,
    'stream',
    'Checks a file in the format of Stream: what of it can be imported, and what is wrong with the rest.',
  ).addHelpText('after', help)
  commandOf(command, context, fields, async ({ file, check, temporary: parent }, options) => {
    if (!check) throw new CommandFailure('give --check: nothing else is possible yet')
    const summary = await withTemporaryFolder(parent, (folder) =>
      withProgress(context, options, async (work) => {
        using staging = new StreamStaging(folder)
        return readFile(staging, { context, file }, work)
      }),
    )
    context.printer(options).print(summary, () => checkText(summary))
    if (summary.faults > 0) throw new CommandFailure(`${summary.faults} items are bad`)
  })
}

async function readFile(
  staging: StreamStaging,
  { context, file }: { readonly context: CommandContext; readonly file: string },
  { signal, progress }: CommandWork,
): Promise<StreamSummary> {
  const { input, bytes } = await openInput(context, file)
  try {
    return await stageFile(staging, {
      input: readable(file, input as AsyncIterable<Buffer>),
      name: file,
      signal,
      now: context.now(),
      progress: (text) => progress({ done: Math.min(bytesRead(input), bytes), total: bytes, text }),
    })
  } finally {
    input.destroy()
  }
}
