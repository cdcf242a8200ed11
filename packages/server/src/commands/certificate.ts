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
import { type Command, InvalidArgumentError, Option } from 'commander'
import { definedOnly } from '../lib/defined-only.js'
import { CommandFailure } from './runtime/call.js'
import { type AppOptions, type CommandContext, ofApp, operatingCommand } from './runtime/command.js'
import { fileNote, readInput, withoutLineBreak } from './runtime/files.js'
import { withOptionNames } from './runtime/option-names.js'
import { formatCell, formatTable, type OutputRow, record } from './runtime/output.js'

interface SetOptions extends AppOptions {
  readonly from?: string
  readonly channel?: (typeof gatewayChannels)[number]
  readonly environment?: 'development' | 'production'
  readonly gatewayAppId?: string
  readonly appKey?: string
  readonly secretFile?: string
  readonly certificateFile?: string
  readonly packageName?: string
  readonly category?: string
  readonly channelId?: string
  readonly badgeClass?: string
  readonly passThrough?: true
  readonly pushType?: (typeof apnsTokenTypes)[number]
  readonly apiVersion?: number
  readonly notifyLevel?: number
  readonly templatesFile?: string
  readonly receipts?: (typeof onOff)[number]
  readonly receiptId?: string
  readonly maxPerSecond?: number
  readonly maxInFlight?: number
  readonly receiptUser?: string
  readonly receiptKeyFile?: string
  readonly sendUrl?: string
  readonly authUrl?: string
  readonly caFile?: string
}

/** The option that gives each field. */
const optionNames: Readonly<Record<keyof ParamsOf<typeof setPushCertificate>, string>> = {
  app_id: 'the application of --app',
  name: '<name>',
  channel: '--channel',
  environment: '--environment',
  gateway_app_id: '--gateway-app-id',
  app_key: '--app-key',
  app_secret: '--secret-file',
  certificate: '--certificate-file',
  package_name: '--package-name',
  category: '--category',
  channel_id: '--channel-id',
  badge_class: '--badge-class',
  allows_pass_through: '--pass-through',
  push_type: '--push-type',
  api_version: '--api-version',
  notify_level: '--notify-level',
  templates: '--templates-file',
  max_per_second: '--max-per-second',
  max_in_flight: '--max-in-flight',
  requests_receipts: '--receipts',
  receipt_id: '--receipt-id',
  receipt_user: '--receipt-user',
  receipt_key: '--receipt-key-file',
  send_url: '--send-url',
  auth_url: '--auth-url',
  ca: '--ca-file',
}

const environments = Object.values(meaningsOf(pushEnvironment))
const onOff = ['on', 'off'] as const
const channelProducts = gatewayChannels
  .map((channel) => `${channel} for ${pushChannelProducts[channel]}`)
  .join(', ')

export function addCertificateCommands(program: Command, context: CommandContext): void {
  const certificate = program
    .command('certificate')
    .description('Sets, checks, lists and removes the credentials for push gateways.')

  addSet(certificate, context)

  named(
    ofApp(
      operatingCommand(
        certificate,
        'check',
        'Asks the gateway whether it takes the credentials; no device is reached. Exit code 1 when it does not.',
      ),
    ),
  ).action(async (name: string, options: AppOptions) => {
    const params = { app_id: options.app, name }
    const answer = await context.operate(checkPushCertificate, params, options, optionNames)
    const words = withOptionNames(answer.words, optionNames)
    context.printer(options).print(answer, () => `${name}: ${answer.ok ? words : 'failed'}`)
    if (!answer.ok) throw new CommandFailure(`${name}: ${words}`)
  })

  ofApp(
    operatingCommand(
      certificate,
      'list',
      'Lists the push certificates of an application, without their secrets.',
    ),
  ).action(async (options: AppOptions) => {
    const params = { app_id: options.app }
    const all = await context.operate(listPushCertificates, params, options, optionNames)
    context
      .printer(options)
      .print(all, () => formatTable(all.map(brief), `${options.app} has no push certificate.`))
  })

  named(
    ofApp(
      operatingCommand(certificate, 'remove', 'Removes a push certificate; devices stay bound.'),
    ),
  ).action(async (name: string, options: AppOptions) => {
    const params = { app_id: options.app, name }
    const answer = await context.operate(removePushCertificate, params, options, optionNames)
    context.printer(options).print(answer, () => `${name} of ${options.app} is removed.`)
  })
}

function addSet(certificate: Command, context: CommandContext): void {
  named(
    ofApp(
      operatingCommand(
        certificate,
        'set',
        'Makes a push certificate, or replaces all of the one of that name.',
      ),
    ),
  )
    .option(
      '--from <file>',
      `JSON with any of the fields, named as in the API; other options win; ${fileNote}`,
    )
    .addOption(
      new Option('--channel <channel>', `the push channel: ${channelProducts}`).choices(
        gatewayChannels,
      ),
    )
    .addOption(
      new Option(
        '--environment <environment>',
        'which devices it is for; default production',
      ).choices(environments),
    )
    .option('--gateway-app-id <id>', 'application ID at the gateway; ios_gw: the bundle ID')
    .option('--app-key <key>', 'application key; ios_gw: the key ID; vendor_n: the client ID')
    .option(
      '--secret-file <file>',
      `the secret; ios_gw: the team ID or the passphrase of the .p12 file; ${fileNote}`,
    )
    .option(
      '--certificate-file <file>',
      `the .p8 or .p12 file, or the JSON of the service account; ${fileNote}`,
    )
    .option('--package-name <name>', 'Android package of the app; vendor_x needs it')
    .option('--category <category>', 'class of messages that the vendor has approved, such as IM')
    .option('--channel-id <id>', 'notification channel of pushes that name none, such as messages')
    .option(
      '--badge-class <class>',
      'desktop-icon entry class of the app, for badges; vendor_h, vendor_n',
    )
    .option('--pass-through', 'the vendor lets the app get commands')
    .addOption(
      new Option('--push-type <type>', 'ios_gw: the pushes that its tokens are for').choices(
        apnsTokenTypes,
      ),
    )
    .option(
      '--api-version <number>',
      'vendor_h: 3 reaches devices with HarmonyOS 5 and later',
      wholeNumber,
    )
    .option(
      '--notify-level <number>',
      'vendor_o: how notifications appear, 1, 2 or 16; default 16',
      wholeNumber,
    )
    .option(
      '--templates-file <file>',
      `vendor_x, vendor_o: JSON list of the templates of private messages; ${fileNote}`,
    )
    .option(
      '--max-per-second <number>',
      'requests or messages a second that each node sends at most; default: that of the channel',
      wholeNumber,
    )
    .option(
      '--max-in-flight <number>',
      'requests of each node that the gateway has not answered yet; default: that of the channel',
      wholeNumber,
    )
    .addOption(
      new Option(
        '--receipts <on|off>',
        'whether pushes ask for receipts; default: on, vendor_f only with a receipt key',
      ).choices(onOff),
    )
    .option(
      '--receipt-id <id>',
      'vendor_v, vendor_h: ID of the receipt address in the console of the vendor',
    )
    .option('--receipt-user <name>', 'vendor_h: the callback user that receipts are signed for')
    .option(
      '--receipt-key-file <file>',
      `what receipts are signed with (vendor_h) or carry (vendor_f); ${fileNote}`,
    )
    .option('--send-url <url>', 'another gateway than that of the vendor')
    .option('--auth-url <url>', 'another place for the token call')
    .option('--ca-file <file>', 'PEM file of a certificate authority to trust besides')
    .action(async (name: string, options: SetOptions) => {
      const { params, names } = await setParams(name, options, context)
      const { before, set } = await context.session(
        options,
        async (operate) => {
          const all = await operate(listPushCertificates, { app_id: options.app })
          const before = all.find((each) => each.name === name)
          return { before, set: await operate(setPushCertificate, params) }
        },
        names,
      )
      context.printer(options).print(set, () => {
        const parts = [
          record(readableCertificate(set)),
          ...(before === undefined ? [] : [replacement(before, set, params)]),
          nextSteps(set, options.app),
        ]
        return parts.join('\n\n')
      })
    })
}

/** The parameters, and the names of fields in failures: those of a file keep theirs. */
async function setParams(name: string, options: SetOptions, context: CommandContext) {
  const { from, secretFile, certificateFile, receiptKeyFile, templatesFile, caFile } = options
  const files = [from, secretFile, certificateFile, receiptKeyFile, templatesFile, caFile]
  if (files.filter((file) => file === '-').length > 1)
    throw new CommandFailure('standard input holds one of them; give the others as files')
  const text = async (file: string | undefined) =>
    file === undefined ? undefined : fileText(await readInput(file, context))
  const secretText = async (file: string | undefined) => {
    const found = await text(file)
    return found === undefined ? undefined : withoutLineBreak(found)
  }
  const json = async (file: string) => fileJson(file, (await readInput(file, context)).toString())
  const fields = from === undefined ? {} : fileFields(from, await json(from))
  const channel = options.channel ?? fields.channel
  if (channel === undefined) throw new CommandFailure('name the channel with --channel')
  const given = definedOnly({
    channel: options.channel,
    environment: options.environment && pushEnvironment[options.environment],
    gateway_app_id: options.gatewayAppId,
    app_key: options.appKey,
    app_secret: await secretText(secretFile),
    certificate: await text(certificateFile),
    package_name: options.packageName,
    category: options.category,
    channel_id: options.channelId,
    badge_class: options.badgeClass,
    allows_pass_through: options.passThrough,
    push_type: options.pushType,
    api_version: options.apiVersion,
    notify_level: options.notifyLevel,
    // The operation checks the list.
    templates: (templatesFile && (await json(templatesFile))) as MessageTemplate[] | undefined,
    requests_receipts: options.receipts && options.receipts === 'on',
    receipt_id: options.receiptId,
    max_per_second: options.maxPerSecond,
    max_in_flight: options.maxInFlight,
    receipt_user: options.receiptUser,
    receipt_key: await secretText(receiptKeyFile),
    send_url: options.sendUrl,
    auth_url: options.authUrl,
    ca: await text(caFile),
  })
  const inFile = Object.keys(fields).filter((field) => !Object.hasOwn(given, field))
  return {
    params: { ...fields, app_id: options.app, name, channel, ...given },
    names: {
      ...optionNames,
      ...Object.fromEntries(inFile.map((field) => [field, `${field} in ${from}`])),
    },
  }
}

/** Passes the file on unchecked; the operation validates it. */
function fileFields(file: string, fields: unknown): Partial<ParamsOf<typeof setPushCertificate>> {
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) return fields
  throw new CommandFailure(`${file} does not hold a JSON object`)
}

function fileJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailure(`${file} does not hold JSON`)
  }
}

/** A .p12 file is no text. */
function fileText(bytes: Buffer): string {
  const isDer = bytes[0] === 0x30 && bytes[1] !== undefined && bytes[1] >= 0x80
  return isDer || !isUtf8(bytes) ? bytes.toString('base64') : bytes.toString('utf8')
}

function named(command: Command): Command {
  return command.argument('<name>', 'what devices give as notifier_name')
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
function brief(certificate: OperatorPushCertificate): OutputRow {
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
  const lost = Object.entries(optionNames).flatMap(([field, option]) => {
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
