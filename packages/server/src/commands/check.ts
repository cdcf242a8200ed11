import { type CheckReport, checkIntegrity, upkeepChecks } from '@hermod/protocol'
import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import type { CommandContext } from './runtime/command.js'
import { flag, operationCommand } from './runtime/fields.js'
import { stateText } from './maintenance.js'
import { formatTable } from './runtime/output.js'

export function addCheckCommand(program: Command, context: CommandContext): void {
  operationCommand(program, context, {
    name: 'check',
    description: 'Checks every derived fact against its log; exit code 1 when one is wrong.',
    operation: checkIntegrity,
    fields: {
      acknowledge: flag(
        '--acknowledge',
        'first acknowledges the lost histories that earlier checks have reported, so that they are no fault any more',
      ),
    },
    text: ({ faults, checked, service }, { acknowledge }) =>
      [
        ...(service.state === 'serving' ? [] : [stateText(service)]),
        ...(acknowledge ? ['The lost histories of earlier checks are acknowledged.'] : []),
        formatTable(faults, `${checked} facts checked, all agree.`),
      ].join('\n'),
    requireSuccess(report) {
      if (report.faults.length > 0) throw new CommandFailure(checkSummary(report))
    },
  })
}

const repair = 'keep a copy of the data and restore a sound backup, or report the fault'

function checkSummary({ checked, faults, truncated }: CheckReport): string {
  const count = `${truncated ? 'more than ' : ''}${faults.length}`
  const all = new Set(faults.map(({ check }) => upkeepChecks[check] ?? repair))
  const advice = all.has(repair) ? repair : [...all].join(', ')
  return `${checked} facts checked, ${count} wrong; ${advice}`
}
