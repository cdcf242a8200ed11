import {
  beginMaintenance,
  endMaintenance,
  getServiceStatus,
  type ServiceStatus,
} from '@hermod/protocol'
import type { Command } from 'commander'
import type { CommandContext } from './runtime/command.js'
import { operationCommand, option } from './runtime/fields.js'

export function addMaintenanceCommands(program: Command, context: CommandContext): void {
  const maintenance = program
    .command('maintenance')
    .description('Refuses what changes something, while reads work.')

  operationCommand(maintenance, context, {
    name: 'on',
    description:
      'Refuses writes with 503 on all nodes, and waits for those in progress; operators can do everything.',
    operation: beginMaintenance,
    namesOptions: true,
    fields: { text: option('--text <text>', 'what callers read; default: maintenance') },
    text: stateText,
  })
  operationCommand(maintenance, context, {
    name: 'off',
    description: 'Takes writes again.',
    operation: endMaintenance,
    fields: {},
    text: stateText,
  })
  operationCommand(maintenance, context, {
    name: 'status',
    description: 'Shows what the service refuses (default).',
    operation: getServiceStatus,
    fields: {},
    isDefault: true,
    text: stateText,
  })
}

/** A sentence about the state of the service. */
export function stateText({ state, text, since }: ServiceStatus): string {
  if (state === 'serving') return 'The service takes reads and writes.'
  // The text of restored data says of what moment it is.
  if (state === 'restored')
    return `Users are refused, and nothing is sent: ${text}. hermod restore finish begins the service.`
  const from = `since ${new Date(Number(since)).toISOString()}${text === '' ? '' : ` (${text})`}`
  return `The service is in maintenance ${from}: reads work, writes are refused. hermod maintenance off ends it.`
}
