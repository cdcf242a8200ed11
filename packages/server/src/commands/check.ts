import { type CheckReport, checkIntegrity } from '@hermod/protocol'
import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, type CommonOptions, operatingCommand } from './runtime/command.js'
import { formatTable } from './runtime/output.js'

export function addCheckCommand(program: Command, context: CommandContext): void {
  operatingCommand(
    program,
    'check',
    'Checks every derived fact against its log; exit code 1 when one is wrong.',
  ).action(async (options: CommonOptions) => {
    const report = await context.operate(checkIntegrity, {}, options)
    context
      .printer(options)
      .print(report, () =>
        formatTable(report.faults, `${report.checked} facts checked, all agree.`),
      )
    if (report.faults.length > 0) throw new CommandFailure(checkSummary(report))
  })
}

function checkSummary({ checked, faults, truncated }: CheckReport): string {
  const count = `${truncated ? 'more than ' : ''}${faults.length}`
  const isExpiry = faults.every(({ check }) => check === 'push_certificate_expiry')
  const advice = isExpiry
    ? 'set new push certificates'
    : 'keep a copy of the data and restore a sound backup, or report the fault'
  return `${checked} facts checked, ${count} wrong; ${advice}`
}
