/** Imports: of an export of another installation, and of files of other systems. */
import { finishImport } from '@hermod/protocol'
import type { Command } from 'commander'
import type { CommandContext } from '../runtime/command.js'
import { app, operationCommand } from '../runtime/fields.js'
import { record } from '../runtime/output.js'
import { addImportCommand } from '../transfer.js'
import { addCsvCommand } from './csv.js'
import { addStreamCommand, source } from './stream.js'

export function addImportCommands(program: Command, context: CommandContext): void {
  const command = addImportCommand(program, context)
  addStreamCommand(command, context)
  addCsvCommand(command, context)
  operationCommand(command, context, {
    name: 'finish',
    description:
      'Ends an import from another system: its IDs are forgotten, and its source takes nothing more.',
    operation: finishImport,
    fields: { app_id: app, source },
    namesOptions: true,
    text: (finished) => record(finished),
  })
}
