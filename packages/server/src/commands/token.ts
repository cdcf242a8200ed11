import { createAdminToken, listAdminTokens, revokeAdminToken } from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { dayMs } from '../lib/clock.js'
import { definedOnly } from '../lib/defined-only.js'
import {
  type AppOptions,
  type CommandContext,
  ofApp,
  operatingCommand,
  parseId,
} from './runtime/command.js'
import { formatTable, record } from './runtime/output.js'

interface CreateTokenOptions extends AppOptions {
  readonly name: string
  /** Milliseconds since 1970. */
  readonly expires?: number
}

export function addTokenCommands(program: Command, context: CommandContext): void {
  const token = program.command('token').description('Makes, lists and revokes Admin tokens.')

  ofApp(
    operatingCommand(token, 'create', 'Makes an Admin token of an application and shows it once.'),
  )
    .requiredOption('--name <name>', 'what it is for')
    .option(
      '--expires <when>',
      'a span such as 12h, 90d or 52w, or a time such as 2030-01-31T12:00:00Z; never when left out',
      (input) => parseExpiry(input, context.now()),
    )
    .action(async (options: CreateTokenOptions) => {
      const params = definedOnly({
        app_id: options.app,
        name: options.name,
        expires_at: options.expires,
      })
      const created = await context.operate(createAdminToken, params, options)
      context
        .printer(options)
        .print(created, () => `${record(created)}\n\nKeep the token now: it is not shown again.`)
    })

  ofApp(
    operatingCommand(
      token,
      'list',
      'Lists the Admin tokens of an application, without the tokens themselves.',
    ),
  ).action(async (options: AppOptions) => {
    const tokens = await context.operate(listAdminTokens, { app_id: options.app }, options)
    context
      .printer(options)
      .print(tokens, () => formatTable(tokens, `${options.app} has no Admin token.`))
  })

  ofApp(operatingCommand(token, 'revoke', 'Revokes an Admin token; it stops working at once.'))
    .argument('<token_id>', 'as hermod token list shows it', parseId)
    .action(async (tokenId: number, options: AppOptions) => {
      const answer = await context.operate(
        revokeAdminToken,
        { app_id: options.app, token_id: tokenId },
        options,
      )
      context.printer(options).print(answer, () => `Token ${tokenId} of ${options.app} is revoked.`)
    })
}

const spanMs: Readonly<Record<string, number>> = { h: 3_600_000, d: dayMs, w: 7 * dayMs }
const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** @returns milliseconds since 1970 */
function parseExpiry(input: string, now: number): number {
  const [, count, unit] = /^([1-9]\d{0,4})([hdw])$/.exec(input) ?? []
  if (count !== undefined && unit !== undefined)
    return now + Number(count) * (spanMs[unit] as number)
  const at = isoTime.test(input) ? Date.parse(input) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError(
      'It must be a span such as 90d or a time such as 2030-01-31T12:00:00Z.',
    )
  if (at <= now) throw new InvalidArgumentError('It must lie in the future.')
  return at
}
