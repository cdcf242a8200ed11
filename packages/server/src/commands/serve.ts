import type { Command } from 'commander'
import { options } from '../config/options.js'
import { withoutCopyFlag } from './database.js'
import { CommandFailure } from './runtime/call.js'
import type { CommandContext } from './runtime/command.js'

export function addServeCommand(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('Runs the service until SIGTERM, SIGINT or SIGHUP.')
    .option(...withoutCopyFlag)
    .action(async ({ withoutCopy = false }: { readonly withoutCopy?: boolean }) => {
      const loaded = context.load()
      await context.dependencies.serve(loaded, { withoutCopy }).catch((error: unknown) => {
        throw explainListenError(error, loaded.config.http.host)
      })
    })
}

type ListenError = NodeJS.ErrnoException & {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

/** The operating system's error about the address, in terms of the settings. */
function explainListenError(error: unknown, host: string): unknown {
  const { code, syscall, hostname, address = '', port = '' } = error as ListenError
  if (syscall === 'getaddrinfo' && hostname === host)
    return new CommandFailure(
      `${options.host.name} (${host}) is the name of no address (${code}); for example ${options.host.name}=${options.host.example}`,
    )
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
