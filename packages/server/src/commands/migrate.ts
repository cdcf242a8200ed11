import type { Command } from 'commander'
import {
  type CommandContext,
  type CommonOptions,
  type Migration,
  printingCommand,
} from './runtime/command.js'
import { formatTable } from './runtime/output.js'

interface MigrateOptions extends CommonOptions {
  readonly status?: boolean
}

const words = { applied: 'applied', appliedNow: 'applied now', pending: 'pending' } as const

export function addMigrateCommand(program: Command, context: CommandContext): void {
  printingCommand(
    program,
    'migrate',
    'Brings the database schema up to date; serve does the same when it starts.',
  )
    .option('--status', 'only list the migrations and their state')
    .action(async (options: MigrateOptions) => {
      const migrations = await context.dependencies.migrate(context.load(), {
        statusOnly: options.status ?? false,
      })
      context
        .printer(options)
        .print(migrations, () => `${migrationTable(migrations)}\n${migrationSummary(migrations)}`)
    })
}

function migrationTable(migrations: readonly Migration[]): string {
  const rows = migrations.map(({ name, state }) => ({ migration: name, state: words[state] }))
  return formatTable(rows, 'There are no migrations.')
}

function migrationSummary(migrations: readonly Migration[]): string {
  const pending = migrations.filter(({ state }) => state === 'pending').length
  return pending === 0 ? 'The schema is up to date.' : `${pending} to be applied by hermod migrate.`
}
