import {
  type AdminToken,
  createAdminToken,
  listAdminTokens,
  revokeAdminToken,
  scopeNames,
  updateAdminToken,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { dayMs } from '../lib/clock.js'
import { type CommandContext, parseId } from './runtime/command.js'
import { app, argument, operationCommand, option, required } from './runtime/fields.js'
import { formatTable, record } from './runtime/output.js'

const scopesHelp = `scopes, separated by commas: ${scopeNames.join(', ')}; or all`
const tokenId = argument('<token_id>', 'as hermod token list shows it', parseId)

export function addTokenCommands(program: Command, context: CommandContext): void {
  const token = program
    .command('token')
    .description('Makes, lists, changes and revokes Admin tokens.')

  operationCommand(token, context, {
    name: 'create',
    description: 'Makes an Admin token of an application and shows it once.',
    operation: createAdminToken,
    namesOptions: true,
    fields: {
      app_id: app,
      name: required(option('--name <name>', 'what it is for')),
      expires_at: option(
        '--expires <when>',
        'a span such as 12h, 90d or 52w, or a time such as 2030-01-31T12:00:00Z; never when left out',
        (input) => parseExpiry(input, context.now()),
      ),
      scopes: option('--scopes <list>', `${scopesHelp}, also without the option`, parseScopes),
    },
    text: (created) => `${record(readable(created))}\n\nKeep the token now: it is not shown again.`,
  })
  operationCommand(token, context, {
    name: 'list',
    description: 'Lists the Admin tokens of an application, without the tokens themselves.',
    operation: listAdminTokens,
    fields: { app_id: app },
    text: (tokens, { app_id }) =>
      formatTable(tokens.map(readable), `${app_id} has no Admin token.`),
  })
  operationCommand(token, context, {
    name: 'update',
    description: 'Narrows or widens the scopes of an Admin token, at once.',
    operation: updateAdminToken,
    namesOptions: true,
    fields: {
      app_id: app,
      token_id: tokenId,
      scopes: required(option('--scopes <list>', scopesHelp, parseScopes)),
    },
    text: (updated) => record(readable(updated)),
  })
  operationCommand(token, context, {
    name: 'revoke',
    description: 'Revokes an Admin token; it stops working at once.',
    operation: revokeAdminToken,
    fields: {
      app_id: app,
      token_id: tokenId,
    },
    text: (_, { app_id, token_id }) => `Token ${token_id} of ${app_id} is revoked.`,
  })
}

/** The service says what is wrong with a list. */
function parseScopes(input: string): AdminToken['scopes'] {
  return input.split(',').map((word) => word.trim()) as AdminToken['scopes']
}

function readable<T extends { readonly scopes: readonly string[] }>(token: T) {
  return { ...token, scopes: token.scopes.join(',') }
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
