import { type CheckReport, checkErased, checkIntegrity, upkeepChecks } from '@hermod/protocol'
import type { Command } from 'commander'
import { counted } from '../lib/counted.js'
import { CommandFailure } from './runtime/call.js'
import { stateText } from './maintenance.js'
import { type CommandContext, operatingCommand, parseId } from './runtime/command.js'
import { commandOf, fileOption, flag, type GivenOptions, option } from './runtime/fields.js'
import { fileNote } from './runtime/files.js'
import { formatTable } from './runtime/output.js'

export function addCheckCommand(program: Command, context: CommandContext): void {
  const command = operatingCommand(
    program,
    'check',
    'Checks every derived fact against its log; exit code 1 when one is wrong.',
  )
  commandOf(command, context, fields, async ({ erased, acknowledge = false, ...of }, options) => {
    if (erased !== undefined) return printErased(context, { user_id: erased, ...of }, options)
    const report = await context.operate(
      checkIntegrity,
      acknowledge ? { acknowledge } : {},
      options,
    )
    context.printer(options).print(report, () => checkText(report, acknowledge))
    if (report.faults.length > 0) throw new CommandFailure(checkSummary(report))
  })
}

const fields = {
  acknowledge: flag(
    '--acknowledge',
    'first acknowledges the lost histories that earlier checks have reported, so that they are no fault any more',
  ),
  erased: option(
    '--erased <user_id>',
    'looks for data of a user who was erased instead; needs --app',
    parseId,
  ),
  app_id: option('--app <app_id>', 'the application of the erased user'),
  texts: fileOption(
    '--texts-file <file>',
    `texts of the erased user to look for everywhere, one a line; ${fileNote}`,
    linesOf,
  ),
}

interface ErasedUser {
  readonly user_id: number
  readonly app_id?: string
  readonly texts?: string[]
}

async function printErased(
  context: CommandContext,
  { app_id, ...user }: ErasedUser,
  options: GivenOptions,
): Promise<void> {
  if (app_id === undefined) throw new CommandFailure('--erased needs the application in --app')
  const report = await context.operate(checkErased, { app_id, ...user }, options)
  const { checked, faults } = report
  context
    .printer(options)
    .print(report, () =>
      formatTable(
        faults,
        `${counted(checked, 'table or file', 'tables and files')} searched, nothing of the user found.`,
      ),
    )
  if (faults.length > 0)
    throw new CommandFailure(
      `${counted(faults.length, 'place has', 'places have')} data of the user`,
    )
}

function linesOf(bytes: Buffer): string[] {
  return bytes
    .toString('utf8')
    .split(/\r?\n/)
    .filter((line) => line !== '')
}

function checkText({ faults, checked, service }: CheckReport, acknowledged: boolean): string {
  return [
    ...(service.state === 'serving' ? [] : [stateText(service)]),
    ...(acknowledged ? ['The lost histories of earlier checks are acknowledged.'] : []),
    formatTable(faults, `${counted(checked, 'fact')} checked, all agree.`),
  ].join('\n')
}

const repair = 'keep a copy of the data and restore a sound backup, or report the fault'

function checkSummary({ checked, faults, truncated }: CheckReport): string {
  const count = `${truncated ? 'more than ' : ''}${faults.length}`
  const all = new Set(faults.map(({ check }) => upkeepChecks[check] ?? repair))
  const advice = all.has(repair) ? repair : [...all].join(', ')
  return `${counted(checked, 'fact')} checked, ${count} wrong; ${advice}`
}
