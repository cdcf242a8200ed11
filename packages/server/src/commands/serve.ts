import type { Command } from 'commander'
import { options } from '../config/options.js'
import { CommandFailure } from './runtime/call.js'
import type { CommandContext } from './runtime/command.js'

export function addServeCommand(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('Runs the service until SIGTERM, SIGINT or SIGHUP.')
    .action(async () => {
      await context.dependencies.serve(context.load()).catch((error: unknown) => {
        throw explainListenError(error)
      })
    })
}

/** The operating system's error about the address, in terms of the settings. */
function explainListenError(error: unknown): unknown {
  const {
    code,
    syscall,
    address = '',
    port = '',
  } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (syscall !== 'listen') return error
  const problem = {
    EADDRINUSE: 'is in use',
    EACCES: 'may not be used by this user',
    EADDRNOTAVAIL: 'is not an address of this machine',
  }[code ?? '']
  if (problem === undefined) return error
  return new CommandFailure(
    `${address}:${port} ${problem}; set ${options.host.name} and ${options.port.name} to another address and port`,
  )
}
