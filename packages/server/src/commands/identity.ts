import {
  assertionAlgorithms,
  type IdentityIssuer,
  type IdentityTest,
  issuerCreations,
  issuerSessions,
  listIdentityIssuers,
  type ParamsOf,
  removeIdentityIssuer,
  renameIdentityIssuer,
  setIdentityIssuer,
  testAssertion,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { isJsonObject } from '../lib/json.js'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, parseId } from './runtime/command.js'
import {
  app,
  argument,
  choice,
  fileOption,
  operationCommand,
  option,
  required,
} from './runtime/fields.js'
import { fileNote, withoutLineBreak } from './runtime/files.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

type Algorithms = NonNullable<ParamsOf<typeof setIdentityIssuer>['algorithms']>

const issuer = argument('<issuer>', 'the exact value of iss in its assertions')
const secretFile = (flags: string, help: string) =>
  fileOption(flags, `${help}; ${fileNote}`, (bytes) => withoutLineBreak(bytes.toString()))

const setFields = {
  app_id: app,
  issuer,
  discovery: option(
    '--discovery <url>',
    'keys: address of the discovery document, such as https://…/.well-known/openid-configuration',
  ),
  jwks_url: option('--jwks-url <url>', 'keys: https address of a JWK set'),
  jwks: fileOption('--jwks-file <file>', `keys: a JWK set of public keys; ${fileNote}`, jsonObject),
  pem: fileOption('--pem-file <file>', `keys: public keys in PEM; ${fileNote}`, String),
  hmac_secret: secretFile(
    '--secret-file <file>',
    'keys: the secret of your own backend, 32 bytes or more, without a last line break (HS256)',
  ),
  previous_hmac_secret: secretFile(
    '--previous-secret-file <file>',
    'a secret that is accepted too, while it is changed',
  ),
  algorithms: option(
    '--algorithms <list>',
    `accepted algorithms, separated by commas; default ${assertionAlgorithms.join(',')}`,
    // The operation checks them.
    (text) => textList(text) as Algorithms,
  ),
  types: option('--types <list>', 'accepted values of typ; default: JWT, or no typ', textList),
  audience: option(
    '--audience <list>',
    'accepted values of aud, separated by commas; needed, except with --secret-file',
    textList,
  ),
  max_age: option(
    '--max-age <seconds>',
    'age of an assertion by iat, at most; default 600',
    parseId,
  ),
  subject_claim: option('--subject-claim <name>', 'claim with the ID of the user; default sub'),
  create: choice(
    '--create <when>',
    'first_login: a subject without a user gets one; never: it is refused; default never',
    issuerCreations,
  ),
  username_claim: option('--username-claim <name>', 'claim with the username of a new user'),
  nick_name: option('--nick-name-claim <name>', 'claim that is written as the nickname'),
  avatar: option('--avatar-claim <name>', 'claim that is written as the avatar'),
  session: choice(
    '--session <life>',
    'follow: tokens end with the assertion; own: they live 24 hours; default own',
    issuerSessions,
  ),
}

export function addIdentityCommands(program: Command, context: CommandContext): void {
  const identity = program
    .command('identity')
    .description('Sets, tests, lists, renames and removes issuers: systems that prove their users.')

  operationCommand(identity, context, {
    name: 'set',
    description: 'Makes an issuer, or replaces all settings of the one of that name.',
    operation: setIdentityIssuer,
    namesOptions: true,
    fields: setFields,
    params: ({ nick_name, avatar, ...values }) => ({
      ...values,
      profile_claims: {
        ...(nick_name !== undefined && { nick_name }),
        ...(avatar !== undefined && { avatar }),
      },
    }),
    text: (set, { app_id }) =>
      `${record(readable(set))}\n\nTry it with hermod identity test --assertion-file <file> --app ${app_id}.`,
  })
  operationCommand(identity, context, {
    name: 'list',
    description: 'Lists the issuers of an application, without secrets.',
    operation: listIdentityIssuers,
    namesOptions: true,
    fields: { app_id: app },
    text: (all, { app_id }) => formatTable(all.map(brief), `${app_id} has no issuers.`),
  })
  operationCommand(identity, context, {
    name: 'remove',
    description: 'Removes an issuer: its assertions are refused; identities and tokens stay.',
    operation: removeIdentityIssuer,
    namesOptions: true,
    fields: { app_id: app, issuer },
    text: (_, { app_id, issuer }) => `${issuer} of ${app_id} is removed.`,
  })
  operationCommand(identity, context, {
    name: 'rename',
    description: 'Gives an issuer another name, with all identities.',
    operation: renameIdentityIssuer,
    namesOptions: true,
    fields: { app_id: app, issuer, new_issuer: argument('<new_issuer>', 'the new name') },
    text: (_, { app_id, issuer, new_issuer }) =>
      `${issuer} of ${app_id} is ${new_issuer} from now on.`,
  })
  operationCommand(identity, context, {
    name: 'test',
    description:
      'Says which check an assertion fails, or what it would give; stores nothing. Exit code 1 when it is refused.',
    operation: testAssertion,
    namesOptions: true,
    fields: {
      app_id: app,
      assertion: required(
        fileOption('--assertion-file <file>', `the JWT; ${fileNote}`, (bytes) =>
          bytes.toString().trim(),
        ),
      ),
    },
    text: (tested) => record(readableTest(tested)),
    requireSuccess({ ok, reason, text }) {
      if (!ok) throw new CommandFailure(`${reason}: ${text}`)
    },
  })
}

/** Reads a list with commas. */
function textList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.includes('')) throw new InvalidArgumentError('Give texts, separated by commas.')
  return parts
}

function jsonObject(bytes: Buffer, file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    if (isJsonObject(value)) return value
  } catch {}
  throw new CommandFailure(`${file} does not hold a JSON object`)
}

/** An issuer with the number of its keys, and its claims as fields. */
function readable({ jwks, profile_claims, ...issuer }: IdentityIssuer) {
  const { keys } = jwks
  return {
    ...issuer,
    algorithms: issuer.algorithms.join(','),
    types: issuer.types.join(','),
    audience: issuer.audience.join(','),
    keys: Array.isArray(keys) ? keys.length : null,
    nick_name_claim: profile_claims.nick_name,
    avatar_claim: profile_claims.avatar,
  }
}

/**
 * The result of a test; the fields of a user and of a token are empty where there is none. The reason
 * of a refusal is the error of the command.
 */
function readableTest({ ok, reason, text, expire, user_id, ...tested }: IdentityTest) {
  const outcome = ok ? { ok, text } : { ok }
  return { ...outcome, ...tested, user_id: user_id || null, expires_at: expire }
}

/** One line of a table. */
function brief(issuer: IdentityIssuer): OutputRow {
  const { issuer: name, source, url, audience, create, session, updated_at } = issuer
  return { issuer: name, source, url, audience: audience.join(','), create, session, updated_at }
}
