/** The `hermod` command: its subcommands, its exit codes and how failures are reported. */
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config/config.js'
import { addAppCommands } from './app.js'
import { addCertificateCommands } from './certificate.js'
import { addCheckCommand } from './check.js'
import { addConfigCommand } from './config.js'
import { addMigrateCommand } from './migrate.js'
import { addPushCommands } from './push.js'
import { addPushSimulatorCommand } from './push-simulator.js'
import { CommandFailure } from './runtime/call.js'
import { CommandContext, type CommandDependencies } from './runtime/command.js'
import { addSecretCommands } from './secret.js'
import { addServeCommand } from './serve.js'
import { addTokenCommands } from './token.js'
import { addUserCommands } from './user/user.js'

export type { CommandDependencies, Migration, MigrationState } from './runtime/command.js'

export const exitCodes = { ok: 0, failed: 1, usage: 2 } as const

export function createProgram(dependencies: CommandDependencies): Command {
  const program = new Command('hermod')
    .description('A self-hosted instant-messaging backend.')
    .version(dependencies.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => dependencies.stdout.write(text),
      writeErr: (text) => dependencies.stderr.write(text),
    })
    .addHelpText(
      'after',
      '\nSettings come from HERMOD_* variables and the file of HERMOD_CONFIG; see hermod config --reference.' +
        '\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration.',
    )
  const context = new CommandContext(dependencies)
  addServeCommand(program, context)
  addAppCommands(program, context)
  addTokenCommands(program, context)
  addCertificateCommands(program, context)
  addSecretCommands(program, context)
  addUserCommands(program, context)
  addConfigCommand(program, context)
  addMigrateCommand(program, context)
  addCheckCommand(program, context)
  addPushCommands(program, context)
  addPushSimulatorCommand(program, context)
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
    await createProgram(dependencies).parseAsync(args, { from: 'user' })
    return exitCodes.ok
  } catch (error) {
    // Commander has reported its own failures already.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    const report = args.includes('--json')
      ? JSON.stringify(asJson(error))
      : `hermod: ${optionText(error)}`
    dependencies.stderr.write(`${report}\n`)
    return error instanceof ConfigError ? exitCodes.usage : exitCodes.failed
  }
}

function asJson(error: unknown) {
  return {
    code: error instanceof CommandFailure ? (error.code ?? null) : null,
    message: error instanceof Error ? error.message : String(error),
    ...(error instanceof ConfigError ? { faults: error.faults } : {}),
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
