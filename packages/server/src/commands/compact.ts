import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, type CommonOptions, printingCommand } from './runtime/command.js'

const mebibyte = 2 ** 20

export function addCompactCommand(program: Command, context: CommandContext): void {
  printingCommand(
    program,
    'compact',
    'Gives space that the embedded database no longer uses back to the disk; the server must be stopped.',
  ).action(async (options: CommonOptions) => {
    const done = await context.dependencies.compact(context.load())
    if (done === null)
      throw new CommandFailure(
        'this is for the embedded database; PostgreSQL uses the space of removed rows again by itself (autovacuum), and gives it back with VACUUM FULL',
      )
    const { before, after } = done
    context
      .printer(options)
      .print(
        { bytes_before: before, bytes_after: after },
        () => `The database had ${mebibytes(before)} MiB and has ${mebibytes(after)} MiB now.`,
      )
  })
}

function mebibytes(bytes: number): string {
  return (bytes / mebibyte).toFixed(1)
}
