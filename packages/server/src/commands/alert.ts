import { listAlerts, testAlert } from '@hermod/protocol'
import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import type { CommandContext } from './runtime/command.js'
import { operationCommand } from './runtime/fields.js'
import { formatTable } from './runtime/output.js'

export function addAlertCommands(program: Command, context: CommandContext): void {
  const alert = program
    .command('alert')
    .description('Shows the conditions that raise alerts, and tests their receiver.')

  operationCommand(alert, context, {
    name: 'list',
    description: 'Looks at every condition, and shows its last alert (default).',
    operation: listAlerts,
    fields: {},
    isDefault: true,
    text: ({ receiver, alerts }) =>
      [
        receiver === '' ? 'Alerts are in the log only: HERMOD_ALERT_URL is not set.' : receiver,
        formatTable(alerts, ''),
      ].join('\n\n'),
  })
  operationCommand(alert, context, {
    name: 'test',
    description: 'Sends a test alert to HERMOD_ALERT_URL. Exit code 1 when it is not delivered.',
    operation: testAlert,
    fields: {},
    text: ({ delivered, status, error }) =>
      delivered ? 'The receiver took it.' : error || `The receiver answered ${status}.`,
    requireSuccess({ delivered, status, error }) {
      if (!delivered)
        throw new CommandFailure(
          `the alert was not delivered: ${error || `it was answered ${status}`}`,
        )
    },
  })
}
