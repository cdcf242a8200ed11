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
import { type Command, InvalidArgumentError } from 'commander'
import { counted } from '../lib/counted.js'
import { CommandFailure } from './runtime/call.js'
import { type CommandContext, parseId } from './runtime/command.js'
import {
  app,
  argument,
  choice,
  fileOption,
  flag,
  moreText,
  operationCommand,
  option,
  page,
  readAs,
} from './runtime/fields.js'
import { fileNote, withoutLineBreak } from './runtime/files.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'
import { addWebhookListenCommand } from './webhook-listen.js'

type Kinds = NonNullable<ParamsOf<typeof createWebhookByOperator>['kinds']>

const kindsHelp = 'kinds of events, separated by commas, such as message.stored'
const timeHelp = 'a time such as 2026-11-26T08:00:00Z, or an age such as 90m, 2h or 3d'

const settings = {
  description: option('--description <text>', 'what the endpoint is for'),
  kinds: option('--kinds <kinds>', `${kindsHelp}; all: every kind, the default`, kindsOf),
  receivers: option(
    '--receivers <ids>',
    'only events that concern one of these users or groups; all: every event, the default',
    parseIds,
  ),
  format: choice(
    '--format <format>',
    'standard (default), or callback: messages only, in the old form',
    webhookFormats,
  ),
  concurrency: option('--concurrency <number>', 'requests at once, 1 to 64; default 16', parseId),
  batch_size: option('--batch-size <number>', 'events in a request, 1 to 100; default 1', parseId),
  timeout_ms: option(
    '--timeout <ms>',
    'time for an answer, 1000 to 30000 ms; default 15000',
    parseId,
  ),
  secret: fileOption(
    '--secret-file <file>',
    `whsec_ and the base64 of 24 to 64 bytes; format callback: any text of 16 characters; default: one is made; ${fileNote}`,
    (bytes) => withoutLineBreak(bytes.toString()),
  ),
}
const endpoint = {
  app_id: app,
  endpoint_id: argument('<endpoint_id>', 'as hermod webhook list shows it', parseId),
}

export function addWebhookCommands(program: Command, context: CommandContext): void {
  const webhook = program
    .command('webhook')
    .description('Sends the events of an application to other systems.')

  addWebhookListenCommand(webhook, context)

  operationCommand(webhook, context, {
    name: 'create',
    description: 'Makes an endpoint: events are sent to it from now on. Prints its secret, once.',
    operation: createWebhookByOperator,
    namesOptions: true,
    fields: {
      app_id: app,
      url: argument('<endpoint_url>', 'http or https address that takes the events'),
      ...settings,
    },
    text: (made, { app_id }, { secretFile }) =>
      `${changedText(made, secretFile)}\n\n${tryIt(made, app_id)}`,
  })
  operationCommand(webhook, context, {
    name: 'list',
    description: 'Lists the endpoints of an application, without secrets.',
    operation: listWebhooksByOperator,
    namesOptions: true,
    fields: { app_id: app },
    text(all, { app_id }) {
      const nothing = `${app_id} has no endpoints. Make one with hermod webhook create <endpoint_url> --app ${app_id}.`
      const table = formatTable(all.map(endpointRow), nothing)
      return [table, ...all.flatMap((each) => adviceOn(each, app_id))].join('\n')
    },
  })
  operationCommand(webhook, context, {
    name: 'update',
    description: 'Changes an endpoint; options that are not given stay.',
    operation: updateWebhookByOperator,
    namesOptions: true,
    fields: {
      ...endpoint,
      ...settings,
      url: option('--endpoint-url <url>', 'another address'),
      new_secret: flag('--new-secret', 'makes another secret and prints it, once'),
      state: choice(
        '--state <state>',
        'disabled: nothing is sent; enabled: it is tried at once',
        webhookStates,
      ),
    },
    params(values) {
      const { app_id: _app, endpoint_id: _endpoint, ...changes } = values
      if (changes.new_secret && changes.secret !== undefined)
        throw new CommandFailure('give either --new-secret or --secret-file')
      if (Object.keys(changes).length === 0)
        throw new CommandFailure(
          'give an option with a change, such as --state or --endpoint-url; hermod webhook update --help lists them',
        )
      return values
    },
    text: (changed, _, { secretFile }) => changedText(changed, secretFile),
  })
  operationCommand(webhook, context, {
    name: 'delete',
    description: 'Deletes an endpoint with its waiting events, dead letters and attempts.',
    operation: deleteWebhookByOperator,
    namesOptions: true,
    fields: endpoint,
    text: (_, { app_id, endpoint_id }) => `Endpoint ${endpoint_id} of ${app_id} is deleted.`,
  })
  operationCommand(webhook, context, {
    name: 'test',
    description:
      'Sends an event of type webhook.test and prints the answer. Exit code 1 when it is not delivered.',
    operation: testWebhookByOperator,
    namesOptions: true,
    fields: endpoint,
    text: (attempt) => record(attempt),
    requireSuccess(attempt, { endpoint_id }) {
      if (attempt.outcome !== 'delivered')
        throw new CommandFailure(`endpoint ${endpoint_id}: ${attemptText(attempt)}`)
    },
  })
  operationCommand(webhook, context, {
    name: 'attempts',
    description: 'Lists the last requests to an endpoint with their answers, newest first.',
    operation: listWebhookAttemptsByOperator,
    namesOptions: true,
    fields: {
      ...endpoint,
      failed: flag('--failed', 'only those without a 2xx answer'),
      event_id: option('--event <id>', 'only those that begin with this event'),
      ...page,
    },
    text(found, { endpoint_id, failed, cursor }) {
      const nothing = `Endpoint ${endpoint_id} has no ${failed ? 'failed ' : ''}${cursor === undefined ? '' : 'more '}attempts.`
      return formatTable(found.attempts.map(briefAttempt), nothing) + moreText(found)
    },
  })
  operationCommand(webhook, context, {
    name: 'replay',
    description: 'Sends events to an endpoint again, with their old IDs.',
    operation: replayWebhookByOperator,
    namesOptions: true,
    fields: {
      ...endpoint,
      dead: flag('--dead', 'the dead letters: events that were refused until the last attempt'),
      from: timeOption('--from <time>', `events committed from then on; ${timeHelp}`),
      to: timeOption('--to <time>', 'and before then; default: until now'),
      kinds: option('--kinds <kinds>', `only these ${kindsHelp}`, kindsOf),
      key: option(
        '--key <key>',
        'only events with this key, such as g:<group_id> or d:<low_id>:<high_id>',
      ),
    },
    params(values) {
      if (!values.dead && values.from === undefined)
        throw new CommandFailure('give --dead, or --from with a time, or both')
      return values
    },
    text: (found, { app_id, endpoint_id }) => describeReplay(found, endpoint_id, app_id),
  })
}

/** Reads a list with commas; `all` is the empty one. */
function textList(text: string): string[] {
  if (text === 'all') return []
  return text.split(',').map((part) => part.trim())
}

/** The operation checks them. */
function kindsOf(text: string): Kinds {
  return textList(text) as Kinds
}

/** @throws InvalidArgumentError */
function parseIds(text: string): number[] {
  return textList(text).map((part) => {
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

/** An option with a time, or an age; its value is milliseconds since 1970. */
function timeOption(flags: string, help: string) {
  const [name = ''] = flags.split(' ')
  return readAs(option(flags, help), (text, context) => {
    const [, amount = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
    const age = unitMs[unit]
    if (age !== undefined) return context.now() - Number(amount) * age
    // A time without a zone would depend on the machine.
    const isWhole = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
    const time = isWhole ? Date.parse(text) : Number.NaN
    if (Number.isNaN(time)) throw new CommandFailure(`${name} must be ${timeHelp}, not ${text}`)
    return time
  })
}

/** The endpoint, and its secret if the call made it. */
function changedText({ secret, ...endpoint }: WebhookWithSecret, secretFile: unknown): string {
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

function tryIt({ endpoint_id }: Webhook, app: string): string {
  return `Try it with hermod webhook test ${endpoint_id} --app ${app}.`
}

/** One line of a table. */
function endpointRow(endpoint: Webhook): OutputRow {
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
function adviceOn(endpoint: Webhook, app: string): string[] {
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
        `\nEndpoint ${id} refused ${counted(dead, 'event')}: see hermod webhook attempts ${id} --failed --app ${app}, then hermod webhook replay ${id} --dead --app ${app}.`,
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

function attemptText({ outcome, status, duration_ms, error, answer }: WebhookAttempt): string {
  if (outcome === 'forbidden') return error
  if (status === 0) return error === '' ? 'no answer' : error
  const advice = outcome === 'gone' ? '; events answered so disable the endpoint' : ''
  const text = answer.replace(/\s+/g, ' ').slice(0, 200)
  return `answered ${status} after ${duration_ms} ms, where a status from 200 to 299 is success${advice}${text === '' ? '' : `: ${text}`}`
}

function describeReplay(
  { dead, from_position, to_position }: WebhookReplay,
  endpointId: number,
  app: string,
): string {
  const ofLog =
    from_position === 0
      ? []
      : [
          `The events from position ${from_position} to ${to_position} of the log are read and sent again in the background.`,
        ]
  const letters =
    dead === 0 ? [] : [`${counted(dead, 'dead letter is', 'dead letters are')} sent again.`]
  const lines = [...letters, ...ofLog]
  return lines.length === 0
    ? 'There is nothing to send again: no dead letter and no delivered event fits.'
    : [...lines, `See hermod webhook attempts ${endpointId} --app ${app}.`].join('\n')
}
