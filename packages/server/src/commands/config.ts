import { type Command, Option } from 'commander'
import { configReference } from '../config/reference.js'
import { type CommandContext, type CommonOptions, printingCommand } from './runtime/command.js'
import { formatTable } from './runtime/output.js'

interface ConfigOptions extends CommonOptions {
  readonly reference?: boolean
}

export function addConfigCommand(program: Command, context: CommandContext): void {
  printingCommand(
    program,
    'config',
    'Checks the settings, and a PostgreSQL database that answers, and prints each setting with its source; secrets are not printed.',
  )
    .addOption(
      new Option('--reference', 'print the reference of all settings as Markdown').conflicts(
        'json',
      ),
    )
    .action(async (options: ConfigOptions) => {
      const { checkDatabase, stderr } = context.dependencies
      if (options.reference) {
        context.dependencies.stdout.write(configReference())
        return
      }
      const loaded = context.load()
      const { settings } = loaded
      context.printer(options).print(settings, () =>
        formatTable(
          settings.map(({ name, value, source }) => ({ setting: name, value, source })),
          '',
        ),
      )
      const unreachable = await checkDatabase(loaded)
      if (unreachable !== null) stderr.write(`hermod: ${unreachable}\n`)
    })
}
