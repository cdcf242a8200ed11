import { isUtf8 } from 'node:buffer'
import {
  apnsTokenTypes,
  checkPushCertificate,
  gatewayChannels,
  listPushCertificates,
  type MessageTemplate,
  meaningsOf,
  type OperatorPushCertificate,
  type ParamsOf,
  pushChannelProducts,
  pushEnvironment,
  removePushCertificate,
  setPushCertificate,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { isJsonObject } from '../lib/json.js'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, operatingCommand } from './runtime/command.js'
import {
  app,
  argument,
  choice,
  commandOf,
  fileOption,
  flag,
  namesOf,
  operationCommand,
  option,
  readAs,
} from './runtime/fields.js'
import { fileNote, withoutLineBreak } from './runtime/files.js'
import { withOptionNames } from './runtime/option-names.js'
import { formatCell, formatTable, type OutputRow, record } from './runtime/output.js'

const environments = Object.values(meaningsOf(pushEnvironment))
const channelProducts = gatewayChannels
  .map((channel) => `${channel} for ${pushChannelProducts[channel]}`)
  .join(', ')

const certificateFields = {
  app_id: app,
  name: argument('<name>', 'what devices give as notifier_name'),
}

const setFields = {
  ...certificateFields,
  from: fileOption(
    '--from <file>',
    `JSON with any of the fields, named as in the API; other options win; ${fileNote}`,
    (bytes, file) => fileFields(file, fileJson(bytes, file)),
  ),
  channel: choice('--channel <channel>', `the push channel: ${channelProducts}`, gatewayChannels),
  environment: readAs(
    choice(
      '--environment <environment>',
      'which devices it is for; default production',
      environments,
    ),
    (word) => pushEnvironment[word],
  ),
  gateway_app_id: option(
    '--gateway-app-id <id>',
    'application ID at the gateway; ios_gw: the bundle ID',
  ),
  app_key: option(
    '--app-key <key>',
    'application key; ios_gw: the key ID; vendor_n: the client ID',
  ),
  app_secret: fileOption(
    '--secret-file <file>',
    `the secret; ios_gw: the team ID or the passphrase of the .p12 file; ${fileNote}`,
    decodeSecret,
  ),
  certificate: fileOption(
    '--certificate-file <file>',
    `the .p8 or .p12 file, or the JSON of the service account; ${fileNote}`,
    fileText,
  ),
  package_name: option('--package-name <name>', 'Android package of the app; vendor_x needs it'),
  category: option(
    '--category <category>',
    'class of messages that the vendor has approved, such as IM',
  ),
  channel_id: option(
    '--channel-id <id>',
    'notification channel of pushes that name none, such as messages',
  ),
  badge_class: option(
    '--badge-class <class>',
    'desktop-icon entry class of the app, for badges; vendor_h, vendor_n',
  ),
  allows_pass_through: flag('--pass-through', 'the vendor lets the app get commands'),
  push_type: choice(
    '--push-type <type>',
    'ios_gw: the pushes that its tokens are for',
    apnsTokenTypes,
  ),
  api_version: option(
    '--api-version <number>',
    'vendor_h: 3 reaches devices with HarmonyOS 5 and later',
    wholeNumber,
  ),
  notify_level: option(
    '--notify-level <number>',
    'vendor_o: how notifications appear, 1, 2 or 16; default 16',
    wholeNumber,
  ),
  templates: fileOption(
    '--templates-file <file>',
    `vendor_x, vendor_o: JSON list of the templates of private messages; ${fileNote}`,
    // The operation checks the list.
    (bytes, file) => fileJson(bytes, file) as MessageTemplate[],
  ),
  max_per_second: option(
    '--max-per-second <number>',
    'requests or messages a second that each node sends at most; default: that of the channel',
    wholeNumber,
  ),
  max_in_flight: option(
    '--max-in-flight <number>',
    'requests of each node that the gateway has not answered yet; default: that of the channel',
    wholeNumber,
  ),
  requests_receipts: readAs(
    choice(
      '--receipts <on|off>',
      'whether pushes ask for receipts; default: on, vendor_f only with a receipt key',
      ['on', 'off'],
    ),
    (word) => word === 'on',
  ),
  receipt_id: option(
    '--receipt-id <id>',
    'vendor_v, vendor_h: ID of the receipt address in the console of the vendor',
  ),
  receipt_user: option(
    '--receipt-user <name>',
    'vendor_h: the callback user that receipts are signed for',
  ),
  receipt_key: fileOption(
    '--receipt-key-file <file>',
    `what receipts are signed with (vendor_h) or carry (vendor_f); ${fileNote}`,
    decodeSecret,
  ),
  send_url: option('--send-url <url>', 'another gateway than that of the vendor'),
  auth_url: option('--auth-url <url>', 'another place for the token call'),
  ca: fileOption(
    '--ca-file <file>',
    'PEM file of a certificate authority to trust besides',
    fileText,
  ),
}
const setNames = namesOf(setFields)

export function addCertificateCommands(program: Command, context: CommandContext): void {
  const certificate = program
    .command('certificate')
    .description('Sets, checks, lists and removes the credentials for push gateways.')

  addSet(certificate, context)

  operationCommand(certificate, context, {
    name: 'check',
    description:
      'Asks the gateway whether it takes the credentials; no device is reached. Exit code 1 when it does not.',
    operation: checkPushCertificate,
    namesOptions: true,
    fields: certificateFields,
    text: (answer, { name }) =>
      `${name}: ${answer.ok ? withOptionNames(answer.words, setNames) : 'failed'}`,
    requireSuccess({ ok, words }, { name }) {
      if (!ok) throw new CommandFailure(`${name}: ${withOptionNames(words, setNames)}`)
    },
  })
  operationCommand(certificate, context, {
    name: 'list',
    description: 'Lists the push certificates of an application, without their secrets.',
    operation: listPushCertificates,
    namesOptions: true,
    fields: { app_id: app },
    text: (all, { app_id }) =>
      formatTable(all.map(certificateRow), `${app_id} has no push certificate.`),
  })
  operationCommand(certificate, context, {
    name: 'remove',
    description: 'Removes a push certificate; devices stay bound.',
    operation: removePushCertificate,
    namesOptions: true,
    fields: certificateFields,
    text: (_, { app_id, name }) => `${name} of ${app_id} is removed.`,
  })
}

function addSet(certificate: Command, context: CommandContext): void {
  const command = operatingCommand(
    certificate,
    'set',
    'Makes a push certificate, or replaces all of the one of that name.',
  )
  commandOf(command, context, setFields, async ({ from = {}, ...given }, options) => {
    const channel = given.channel ?? from.channel
    if (channel === undefined) throw new CommandFailure('name the channel with --channel')
    const params = { ...from, ...given, channel }
    // Fields of a file keep their names in failures.
    const inFile = Object.keys(from).filter((field) => !Object.hasOwn(given, field))
    const names = {
      ...setNames,
      ...Object.fromEntries(inFile.map((field) => [field, `${field} in ${options.from}`])),
    }
    const { before, set } = await context.session(
      options,
      async (operate) => {
        const all = await operate(listPushCertificates, { app_id: given.app_id })
        const before = all.find((each) => each.name === given.name)
        return { before, set: await operate(setPushCertificate, params) }
      },
      names,
    )
    context.printer(options).print(set, () => {
      const parts = [
        record(readableCertificate(set)),
        ...(before === undefined ? [] : [replacement(before, set, params)]),
        nextSteps(set, given.app_id),
      ]
      return parts.join('\n\n')
    })
  })
}

/** Passes the file on unchecked; the operation validates it. */
function fileFields(file: string, fields: unknown): Partial<ParamsOf<typeof setPushCertificate>> {
  if (isJsonObject(fields)) return fields
  throw new CommandFailure(`${file} does not hold a JSON object`)
}

function fileJson(bytes: Buffer, file: string): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new CommandFailure(`${file} does not hold JSON`)
  }
}

function decodeSecret(bytes: Buffer): string {
  return withoutLineBreak(fileText(bytes))
}

/** A .p12 file is no text. */
function fileText(bytes: Buffer): string {
  const isDer = bytes[0] === 0x30 && bytes[1] !== undefined && bytes[1] >= 0x80
  return isDer || !isUtf8(bytes) ? bytes.toString('base64') : bytes.toString('utf8')
}

/** @throws InvalidArgumentError; the operation checks the range */
function wholeNumber(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** A certificate with words for its environment and pauses. */
function readableCertificate(certificate: OperatorPushCertificate) {
  const environment = environments[certificate.environment]
  const pauses = Object.entries(certificate.pauses)
    .map(([quota, until]) => `${quota} until ${new Date(Number(until)).toISOString()}`)
    .join(', ')
  return { ...certificate, environment, pauses }
}

/** One line of a table. */
function certificateRow(certificate: OperatorPushCertificate): OutputRow {
  const readable = readableCertificate(certificate)
  return {
    name: readable.name,
    channel: readable.channel,
    environment: readable.environment,
    gateway_app_id: readable.gateway_app_id,
    push_type: readable.push_type,
    max_per_second: readable.max_per_second,
    max_in_flight: readable.max_in_flight,
    expires_at: readable.expires_at,
    last_accepted_at: readable.last_accepted_at,
    paused_until: readable.paused_until,
    pauses: readable.pauses,
    receipt_problem: readable.receipt_problem,
  }
}

/** Tells that all of a certificate was replaced, and which options the new one lacks. */
function replacement(
  before: OperatorPushCertificate,
  set: OperatorPushCertificate,
  params: object,
): string {
  const lost = Object.entries(setNames).flatMap(([field, option]) => {
    const was = shownValue(before, field)
    const isKept = Object.hasOwn(params, field) || was === shownValue(set, field)
    return isKept ? [] : [`${option} (was ${was})`]
  })
  const head = `It replaces all of the certificate that was set at ${new Date(Number(before.updated_at)).toISOString()}.`
  return lost.length === 0
    ? head
    : `${head}\nThese were not given again, so they have their defaults: ${lost.join(', ')}.`
}

/** The value of a field as text. */
function shownValue(certificate: OperatorPushCertificate, field: string): string {
  const { has_receipt_key: receipt_key, has_ca: ca, ...shown } = readableCertificate(certificate)
  return formatCell(field, { ...shown, receipt_key, ca }[field as keyof typeof shown])
}

function nextSteps(certificate: OperatorPushCertificate, app: string): string {
  const { name, channel, requests_receipts, receipt_id, receipt_url, receipt_problem } = certificate
  const check = `Try it with hermod certificate check ${name} --app ${app}.`
  if (receipt_problem !== '') return `${check}\nReceipts: ${receipt_problem}.`
  const isEntered =
    channel === 'vendor_h' ||
    channel === 'vendor_n' ||
    (channel === 'vendor_f' && requests_receipts) ||
    receipt_id !== ''
  return isEntered
    ? `${check}\nGive the vendor ${receipt_url} as the address for receipts, and tell it to no one else.`
    : check
}
