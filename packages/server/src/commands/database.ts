/** The commands on the database, which work on a stopped server too. */

import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import {
  type CommandContext,
  type CommonOptions,
  type Migration,
  printingCommand,
} from './runtime/command.js'
import { commandOf, flag } from './runtime/fields.js'
import { formatTable } from './runtime/output.js'

/** For the commands that change the schema. */
export const withoutCopyFlag = [
  '--without-copy',
  'change the schema without a copy of the embedded database from before',
] as const

const mebibyte = 2 ** 20
const words = { applied: 'applied', appliedNow: 'applied now', pending: 'pending' } as const

export function addMigrateCommand(program: Command, context: CommandContext): void {
  const command = printingCommand(
    program,
    'migrate',
    'Brings the database schema up to date; serve does the same when it starts.',
  )
  const fields = {
    status: flag('--status', 'only list the migrations and their state'),
    without_copy: flag(...withoutCopyFlag),
  }
  commandOf(
    command,
    context,
    fields,
    async ({ status: statusOnly = false, without_copy: withoutCopy = false }, options) => {
      const { migrations, copy } = await context.dependencies.migrate(context.load(), {
        statusOnly,
        withoutCopy,
      })
      const text = [
        migrationTable(migrations),
        migrationSummary(migrations),
        ...(copy === null ? [] : [`The database from before is kept for a week as ${copy}.`]),
      ]
      context.printer(options).print({ migrations, copy }, () => text.join('\n'))
    },
  )
}

function migrationTable(migrations: readonly Migration[]): string {
  const rows = migrations.map(({ name, state }) => ({ migration: name, state: words[state] }))
  return formatTable(rows, 'There are no migrations.')
}

function migrationSummary(migrations: readonly Migration[]): string {
  const pending = migrations.filter(({ state }) => state === 'pending').length
  return pending === 0 ? 'The schema is up to date.' : `${pending} to be applied by hermod migrate.`
}

export function addCompactCommand(program: Command, context: CommandContext): void {
  printingCommand(
    program,
    'compact',
    'Gives space that the embedded database no longer uses back to the disk; the server must be stopped.',
  ).action(async (options: CommonOptions) => {
    const done = await context.dependencies.compact(context.load())
    if (done === null)
      throw new CommandFailure(
        'this is for the embedded database; PostgreSQL reuses the space of removed rows (autovacuum), and gives it back with VACUUM FULL',
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

export function addDatabaseCommand(program: Command, context: CommandContext): void {
  const database = program.command('database').description('Acts on the database as a whole.')
  printingCommand(
    database,
    'new-epoch',
    'Begins a new history after a restore by hand: connected apps load everything again. All nodes must be stopped.',
  ).action(async (options: CommonOptions) => {
    const epoch = await context.dependencies.newEpoch(context.load())
    context.printer(options).print({ epoch }, () => `The database has the new epoch ${epoch}.`)
  })
}

function mebibytes(bytes: number): string {
  return (bytes / mebibyte).toFixed(1)
}
