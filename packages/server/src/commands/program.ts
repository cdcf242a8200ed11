/** The `hermod` command: its subcommands, its exit codes and the report of failures. */
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config/config.js'
import { CommandFailure, RestartNeeded } from './runtime/call.js'
import { printable } from './runtime/output.js'
import { CommandContext, type CommandDependencies } from './runtime/command.js'

export type {
  CommandDependencies,
  Migration,
  MigrationResult,
  MigrationState,
} from './runtime/command.js'

/** EX_TEMPFAIL of sysexits.h: the same command may succeed when it is run again. */
export const restartCode = 75

const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

type AddCommands = (program: Command, context: CommandContext) => void

/** The subcommands. A call loads its own only; help loads all. */
const commands: Readonly<Record<string, () => Promise<AddCommands>>> = {
  serve: async () => (await import('./serve.js')).addServeCommand,
  alert: async () => (await import('./alert.js')).addAlertCommands,
  app: async () => (await import('./app.js')).addAppCommands,
  backup: async () => (await import('./backup.js')).addBackupCommands,
  token: async () => (await import('./token.js')).addTokenCommands,
  certificate: async () => (await import('./certificate.js')).addCertificateCommands,
  file: async () => (await import('./file.js')).addFileCommands,
  maintenance: async () => (await import('./maintenance.js')).addMaintenanceCommands,
  hold: async () => (await import('./hold.js')).addHoldCommands,
  job: async () => (await import('./job.js')).addJobCommands,
  nodes: async () => (await import('./nodes.js')).addNodeCommands,
  secret: async () => (await import('./secret.js')).addSecretCommands,
  user: async () => (await import('./user/user.js')).addUserCommands,
  config: async () => (await import('./config.js')).addConfigCommand,
  migrate: async () => (await import('./database.js')).addMigrateCommand,
  database: async () => (await import('./database.js')).addDatabaseCommand,
  digest: async () => (await import('./transfer.js')).addDigestCommand,
  export: async () => (await import('./transfer.js')).addExportCommand,
  import: async () => (await import('./import/import.js')).addImportCommands,
  compact: async () => (await import('./database.js')).addCompactCommand,
  restore: async () => (await import('./restore.js')).addRestoreCommands,
  check: async () => (await import('./check.js')).addCheckCommand,
  identity: async () => (await import('./identity.js')).addIdentityCommands,
  push: async () => (await import('./push.js')).addPushCommands,
  webhook: async () => (await import('./webhook.js')).addWebhookCommands,
  demo: async () => (await import('./demo.js')).loadDemoCommand(),
  'push-simulator': async () => (await import('./push-simulator.js')).addPushSimulatorCommand,
}

/** The whole command as its help shows it, for the check of the pages that name commands. */
export async function hermodProgram(): Promise<Command> {
  return createProgram({ version: '' } as CommandDependencies, undefined)
}

/** @param name of the only command to load; an unknown name loads all */
async function createProgram(
  dependencies: CommandDependencies,
  name: string | undefined,
): Promise<Command> {
  const program = new Command('hermod')
    .description('A self-hosted instant-messaging backend.')
    .version(dependencies.version)
    .exitOverride()
    // An option after the name of a subcommand is that of the subcommand, also where both have it.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => dependencies.stdout.write(text),
      writeErr: (text) => dependencies.stderr.write(text),
    })
    .addHelpText(
      'after',
      '\nSettings come from HERMOD_* variables and the file of HERMOD_CONFIG; see hermod config --reference.' +
        '\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration, 75 (serve) to be started again.',
    )
  const context = new CommandContext(dependencies)
  const only = Object.hasOwn(commands, name ?? '') ? commands[name ?? ''] : undefined
  const wanted = only ? [only] : Object.values(commands)
  for (const add of await Promise.all(wanted.map((load) => load()))) add(program, context)
  return program
}

/**
 * Runs the command line and reports failures on stderr.
 * @param args without the interpreter and the script
 * @returns the exit code
 */
export async function runProgram(
  dependencies: CommandDependencies,
  args: readonly string[],
): Promise<number> {
  try {
    const program = await createProgram(dependencies, args[0])
    await program.parseAsync(args, { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    // Commander has reported its own failures already.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    const report = args.includes('--json')
      ? JSON.stringify(asJson(error))
      : `hermod: ${printable(optionText(error))}`
    dependencies.stderr.write(`${report}\n`)
    if (error instanceof RestartNeeded) return restartCode
    return error instanceof ConfigError ? exitCodes.usage : exitCodes.failed
  }
}

function asJson(error: unknown) {
  return {
    code: error instanceof CommandFailure ? (error.code ?? null) : null,
    message: error instanceof Error ? error.message : String(error),
    ...(error instanceof ConfigError ? { violations: error.violations } : {}),
  }
}

function optionText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The stack helps with bugs only.
  return isBug(error) ? (error.stack ?? error.message) : error.message
}

function isBug(error: Error): boolean {
  return (
    error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError
  )
}
