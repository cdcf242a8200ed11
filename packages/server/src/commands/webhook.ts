import {
  createWebhookByOperator,
  deleteWebhookByOperator,
  listWebhookAttemptsByOperator,
  listWebhooksByOperator,
  type ParamsOf,
  replayWebhookByOperator,
  testWebhookByOperator,
  updateWebhookByOperator,
  type Webhook,
  type WebhookAttempt,
  type WebhookReplay,
  type WebhookWithSecret,
  webhookFormats,
  webhookStates,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { definedOnly } from '../lib/defined-only.js'
import { CommandFailure } from './runtime/call.js'
import {
  type AppOptions,
  type CommandContext,
  ofApp,
  operatingCommand,
  parseId,
} from './runtime/command.js'
import { fileNote, readInput, withoutLineBreak } from './runtime/files.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'
import { addWebhookListenCommand } from './webhook-listen.js'

type Kinds = NonNullable<ParamsOf<typeof createWebhookByOperator>['kinds']>

interface SettingsOptions extends AppOptions {
  readonly description?: string
  readonly kinds?: readonly string[]
  readonly receivers?: readonly number[]
  readonly format?: (typeof webhookFormats)[number]
  readonly concurrency?: number
  readonly batchSize?: number
  readonly timeout?: number
  readonly secretFile?: string
}

interface UpdateOptions extends SettingsOptions {
  readonly endpointUrl?: string
  readonly newSecret?: true
  readonly state?: (typeof webhookStates)[number]
}

interface AttemptsOptions extends AppOptions {
  readonly failed?: true
  readonly event?: string
  readonly limit: number
  readonly after?: string
}

interface ReplayOptions extends AppOptions {
  readonly dead?: true
  readonly from?: string
  readonly to?: string
  readonly kinds?: readonly string[]
  readonly key?: string
}

/** The options of each field. */
const settingNames = {
  app_id: 'the application of --app',
  description: '--description',
  kinds: '--kinds',
  receivers: '--receivers',
  format: '--format',
  concurrency: '--concurrency',
  batch_size: '--batch-size',
  timeout_ms: '--timeout',
  secret: '--secret-file',
}
const createNames = { ...settingNames, url: '<endpoint_url>' }
const updateNames = {
  ...settingNames,
  endpoint_id: '<endpoint_id>',
  url: '--endpoint-url',
  new_secret: '--new-secret',
  state: '--state',
}
const attemptNames = { ...updateNames, event_id: '--event', cursor: '--after', limit: '--limit' }
const replayNames = { ...updateNames, dead: '--dead', from: '--from', to: '--to', key: '--key' }

const kindsHelp = 'kinds of events, separated by commas, such as message.stored'
const timeHelp = 'a time such as 2026-11-26T08:00:00Z, or an age such as 90m, 2h or 3d'

export function addWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program
    .command('webhook')
    .description('Sends the events of an application to other systems.')
  const ofEndpoint = (name: string, description: string) =>
    ofApp(operatingCommand(webhook, name, description)).argument(
      '<endpoint_id>',
      'as hermod webhook list shows it',
      parseId,
    )

  addWebhookListenCommand(webhook, context)

  withSettings(
    ofApp(
      operatingCommand(
        webhook,
        'create',
        'Makes an endpoint: events are sent to it from now on. Prints its secret, once.',
      ),
    ).argument('<endpoint_url>', 'http or https address that takes the events'),
  ).action(async (url: string, options: SettingsOptions) => {
    const params = { app_id: options.app, url, ...(await settingsOf(options, context)) }
    const made = await context.operate(createWebhookByOperator, params, options, createNames)
    context
      .printer(options)
      .print(made, () => `${changedText(made, options)}\n\n${tryIt(made, options)}`)
  })

  ofApp(
    operatingCommand(webhook, 'list', 'Lists the endpoints of an application, without secrets.'),
  ).action(async (options: AppOptions) => {
    const params = { app_id: options.app }
    const all = await context.operate(listWebhooksByOperator, params, options, settingNames)
    context.printer(options).print(all, () => {
      const nothing = `${options.app} has no endpoints. Make one with hermod webhook create <endpoint_url> --app ${options.app}.`
      const table = formatTable(all.map(brief), nothing)
      return [table, ...all.flatMap((each) => adviceOn(each, options))].join('\n')
    })
  })

  withSettings(ofEndpoint('update', 'Changes an endpoint; options that are not given stay.'))
    .option('--endpoint-url <url>', 'another address')
    .option('--new-secret', 'makes another secret and prints it, once')
    .addOption(
      new Option(
        '--state <state>',
        'disabled: nothing is sent; enabled: it is tried at once',
      ).choices(webhookStates),
    )
    .action(async (endpointId: number, options: UpdateOptions) => {
      const { app, endpointUrl, newSecret, state, secretFile } = options
      if (newSecret && secretFile !== undefined)
        throw new CommandFailure('give either --new-secret or --secret-file')
      const changes = definedOnly({ url: endpointUrl, new_secret: newSecret, state })
      const settings = { ...(await settingsOf(options, context)), ...changes }
      if (Object.keys(settings).length === 0)
        throw new CommandFailure(
          'give an option with a change, such as --state or --endpoint-url; hermod webhook update --help lists them',
        )
      const params = { app_id: app, endpoint_id: endpointId, ...settings }
      const changed = await context.operate(updateWebhookByOperator, params, options, updateNames)
      context.printer(options).print(changed, () => changedText(changed, options))
    })

  ofEndpoint(
    'delete',
    'Deletes an endpoint with its waiting events, dead letters and attempts.',
  ).action(async (endpointId: number, options: AppOptions) => {
    const params = { app_id: options.app, endpoint_id: endpointId }
    const answer = await context.operate(deleteWebhookByOperator, params, options, updateNames)
    context
      .printer(options)
      .print(answer, () => `Endpoint ${endpointId} of ${options.app} is deleted.`)
  })

  ofEndpoint(
    'test',
    'Sends an event of type webhook.test and prints the answer. Exit code 1 when it is not delivered.',
  ).action(async (endpointId: number, options: AppOptions) => {
    const params = { app_id: options.app, endpoint_id: endpointId }
    const attempt = await context.operate(testWebhookByOperator, params, options, updateNames)
    context.printer(options).print(attempt, () => record(attempt))
    if (attempt.outcome !== 'delivered')
      throw new CommandFailure(`endpoint ${endpointId}: ${failureText(attempt)}`)
  })

  ofEndpoint('attempts', 'Lists the last requests to an endpoint with their answers, newest first.')
    .option('--failed', 'only those without a 2xx answer')
    .option('--event <id>', 'only those that begin with this event')
    .addOption(
      new Option('--limit <number>', 'at most this many, up to 200').default(50).argParser(parseId),
    )
    .option('--after <cursor>', 'where the list before this one ended')
    .action(async (endpointId: number, options: AttemptsOptions) => {
      const { app, failed, event, limit, after } = options
      const filter = definedOnly({ failed, event_id: event, limit, cursor: after })
      const params = { app_id: app, endpoint_id: endpointId, ...filter }
      const page = await context.operate(
        listWebhookAttemptsByOperator,
        params,
        options,
        attemptNames,
      )
      context.printer(options).print(page, () => {
        const more =
          page.next_cursor === '' ? '' : `\n\nThere are more: --after ${page.next_cursor}`
        const nothing = `Endpoint ${endpointId} has no ${failed ? 'failed ' : ''}${after === undefined ? '' : 'more '}attempts.`
        return formatTable(page.attempts.map(briefAttempt), nothing) + more
      })
    })

  ofEndpoint('replay', 'Sends events to an endpoint again, with their old IDs.')
    .option('--dead', 'the dead letters: events that were refused until the last attempt')
    .option('--from <time>', `events committed from then on; ${timeHelp}`)
    .option('--to <time>', 'and before then; default: until now')
    .option('--kinds <kinds>', `only these ${kindsHelp}`, listOf)
    .option(
      '--key <key>',
      'only events with this key, such as g:<group_id> or d:<low_id>:<high_id>',
    )
    .action(async (endpointId: number, options: ReplayOptions) => {
      const { app, dead, from, to, kinds, key } = options
      if (!dead && from === undefined)
        throw new CommandFailure('give --dead, or --from with a time, or both')
      const choice = definedOnly({
        dead,
        from: timeOf('--from', from, context),
        to: timeOf('--to', to, context),
        kinds: kinds as Kinds | undefined,
        key,
      })
      const params = { app_id: app, endpoint_id: endpointId, ...choice }
      const found = await context.operate(replayWebhookByOperator, params, options, replayNames)
      context.printer(options).print(found, () => replayText(found, endpointId, options))
    })
}

function withSettings(command: Command): Command {
  return command
    .option('--description <text>', 'what the endpoint is for')
    .option('--kinds <kinds>', `${kindsHelp}; all: every kind, the default`, listOf)
    .option(
      '--receivers <ids>',
      'only events that concern one of these users or groups; all: every event, the default',
      idsOf,
    )
    .addOption(
      new Option(
        '--format <format>',
        'standard (default), or callback: messages only, in the old form',
      ).choices(webhookFormats),
    )
    .option('--concurrency <number>', 'requests at once, 1 to 64; default 16', parseId)
    .option('--batch-size <number>', 'events in a request, 1 to 100; default 1', parseId)
    .option('--timeout <ms>', 'time for an answer, 1000 to 30000 ms; default 15000', parseId)
    .option(
      '--secret-file <file>',
      `whsec_ and the base64 of 24 to 64 bytes; format callback: any text of 16 characters; default: one is made; ${fileNote}`,
    )
}

/** The fields of the options that are given. */
async function settingsOf(options: SettingsOptions, context: CommandContext) {
  const { description, kinds, receivers, format, concurrency, batchSize, timeout, secretFile } =
    options
  return definedOnly({
    description,
    // The operation checks them.
    kinds: kinds as Kinds | undefined,
    receivers: receivers && [...receivers],
    format,
    concurrency,
    batch_size: batchSize,
    timeout_ms: timeout,
    secret:
      secretFile === undefined
        ? undefined
        : withoutLineBreak((await readInput(secretFile, context)).toString()),
  })
}

/** Reads a list with commas; `all` is the empty one. */
function listOf(text: string): string[] {
  if (text === 'all') return []
  return text.split(',').map((part) => part.trim())
}

/** @throws InvalidArgumentError */
function idsOf(text: string): number[] {
  return listOf(text).map((part) => {
    try {
      return parseId(part)
    } catch {
      throw new InvalidArgumentError('Give IDs of users or groups, separated by commas.')
    }
  })
}

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/**
 * Reads a time, or an age.
 *
 * @returns milliseconds since 1970
 * @throws CommandFailure
 */
function timeOf(option: string, text: string | undefined, context: CommandContext) {
  if (text === undefined) return undefined
  const [, amount = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const age = unitMs[unit]
  if (age !== undefined) return context.now() - Number(amount) * age
  // A time without a zone would depend on the machine.
  const isWhole = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const time = isWhole ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new CommandFailure(`${option} must be ${timeHelp}, not ${text}`)
  return time
}

/** The endpoint, and its secret if the call made it. */
function changedText(
  { secret, ...endpoint }: WebhookWithSecret,
  { secretFile }: SettingsOptions,
): string {
  if (secret === '') return record(endpoint)
  const verify =
    endpoint.format === 'callback'
      ? 'Each request has the secret in its header signature: compare them before you read the body.'
      : 'Each request is signed with it by Standard Webhooks 1.0, in the headers webhook-id, webhook-timestamp and webhook-signature. Verify the signature before you read the body: with a library of standardwebhooks.com, or as docs/guides/webhooks.md shows.'
  const shown =
    secretFile === undefined
      ? `Secret: ${secret}\nIt is not shown again: put it where the receiver reads it.`
      : `The secret is that of ${secretFile === '-' ? 'standard input' : secretFile}.`
  const previous = endpoint.has_previous_secret
    ? '\nRequests are signed with the previous secret too, for 24 hours.'
    : ''
  return `${record(endpoint)}\n\n${shown}\n${verify}${previous}`
}

function tryIt({ endpoint_id }: Webhook, { app }: AppOptions): string {
  return `Try it with hermod webhook test ${endpoint_id} --app ${app}.`
}

/** One line of a table. */
function brief(endpoint: Webhook): OutputRow {
  const { endpoint_id, url, format, behind, waiting, dead, last_success_at, next_try_at } = endpoint
  const state =
    endpoint.state_reason === ''
      ? endpoint.state
      : `${endpoint.state} (${reasonWords[endpoint.state_reason]})`
  return { endpoint_id, url, state, format, behind, waiting, dead, last_success_at, next_try_at }
}

const reasonWords = {
  caller: 'by a caller',
  gone: 'it answered 410',
  failing: 'nothing but failures for three days',
} as const

/** The commands for an endpoint that does not get its events. */
function adviceOn(endpoint: Webhook, { app }: AppOptions): string[] {
  const { endpoint_id: id, state, state_reason, dead, next_try_at } = endpoint
  if (state === 'disabled' && state_reason !== 'caller')
    return [
      `\nEndpoint ${id} gets no events until hermod webhook update ${id} --state enabled --app ${app}.`,
    ]
  if (next_try_at !== 0)
    return [
      `\nEndpoint ${id} does not answer: see hermod webhook attempts ${id} --failed --app ${app}.`,
    ]
  return dead === 0
    ? []
    : [
        `\nEndpoint ${id} refused ${dead} events: see hermod webhook attempts ${id} --failed --app ${app}, then hermod webhook replay ${id} --dead --app ${app}.`,
      ]
}

/** One line of a table. */
function briefAttempt(attempt: WebhookAttempt): OutputRow {
  const { at: sent_at, event_id, type, key, events, attempt: number, outcome, status } = attempt
  const { duration_ms, error, answer } = attempt
  // An answer may have several lines.
  const text = (error === '' ? answer : error).replace(/\s+/g, ' ').slice(0, 100)
  return {
    sent_at,
    event_id,
    type,
    key,
    events,
    attempt: number,
    outcome,
    status,
    duration_ms,
    text,
  }
}

function failureText({ outcome, status, duration_ms, error, answer }: WebhookAttempt): string {
  if (outcome === 'forbidden') return error
  if (status === 0) return error === '' ? 'no answer' : error
  const advice = outcome === 'gone' ? '; events answered so disable the endpoint' : ''
  const text = answer.replace(/\s+/g, ' ').slice(0, 200)
  return `answered ${status} after ${duration_ms} ms, where a status from 200 to 299 is success${advice}${text === '' ? '' : `: ${text}`}`
}

function replayText(
  { dead, from_position, to_position }: WebhookReplay,
  endpointId: number,
  { app }: ReplayOptions,
): string {
  const ofLog =
    from_position === 0
      ? []
      : [
          `The events from position ${from_position} to ${to_position} of the log are read and sent again in the background.`,
        ]
  const letters =
    dead === 0 ? [] : [`${dead} dead letter${dead === 1 ? ' is' : 's are'} sent again.`]
  const lines = [...letters, ...ofLog]
  return lines.length === 0
    ? 'There is nothing to send again: no dead letter and no delivered event fits.'
    : [...lines, `See hermod webhook attempts ${endpointId} --app ${app}.`].join('\n')
}
