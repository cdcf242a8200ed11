/** Imports: of an export of another installation, and of files of other systems. */
import type { Command } from 'commander'
import type { CommandContext } from '../runtime/command.js'
import { addImportCommand } from '../transfer.js'
import { addCsvCommand } from './csv.js'
import { addStreamCommand } from './stream.js'

export function addImportCommands(program: Command, context: CommandContext): void {
  const command = addImportCommand(program, context)
  addStreamCommand(command, context)
  addCsvCommand(command, context)
}
