import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EventPage,
  errorCatalogue,
  type LoggedEvent,
  readEventsByOperator,
} from '@hermod/protocol'
import { type Command, InvalidArgumentError } from 'commander'
import { definedOnly } from '../lib/defined-only.js'
import { newSecret, secretFault, signatureHeaders } from '../lib/secrets/webhook-signature.js'
import { CommandFailure, type LocalCalls, openOperatorCalls } from './runtime/call.js'
import { type CommandContext, operatingCommand } from './runtime/command.js'
import {
  app,
  commandOf,
  fileOption,
  type GivenOptions,
  namesOf,
  option,
  required,
  type ValuesOf,
} from './runtime/fields.js'
import { fileNote, withoutLineBreak } from './runtime/files.js'
import { withOptionNames } from './runtime/option-names.js'

/** The answer of the receiver to one event. */
interface Forwarded extends Pick<LoggedEvent, 'id' | 'type' | 'key' | 'cursor'> {
  /** 0: no answer. */
  readonly status: number
  readonly duration_ms: number
  /** The reason why there is no answer; "": there is one. */
  readonly error: string
}

const fields = {
  app_id: app,
  forward: required(
    option('--forward <url>', 'the receiver, such as http://localhost:3000/hook', httpUrl),
  ),
  secret: fileOption(
    '--secret-file <file>',
    `whsec_ and base64; default: a new secret, which is printed; ${fileNote}`,
    secretOf,
  ),
  kinds: option('--kinds <kinds>', 'only these kinds of events, separated by commas'),
  after: option('--from <cursor>', 'cursor of an event; default: only later events'),
}
const optionNames = { ...namesOf(fields), cursor: '--from' }

const waitSeconds = 30
const retryMs = 1_000
const forwardTimeoutMs = 15_000

/** Adds `listen` to the commands of webhooks. */
export function addWebhookListenCommand(webhook: Command, context: CommandContext): void {
  const command = operatingCommand(
    webhook,
    'listen',
    'Reads the events of an application from a running server, signs them and posts them to an address of this machine.',
  )
  commandOf(command, context, fields, (values, options) => listen(context, values, options))
}

function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError('It must be an http or https URL.')
}

/** Returns the secret of a file. */
function secretOf(bytes: Buffer): string {
  const secret = withoutLineBreak(bytes.toString())
  const fault = secretFault(secret, 'standard')
  if (fault === null) return secret
  throw new CommandFailure(`the secret of --secret-file ${fault}`)
}

/** A process without a server would keep the server from starting. */
const noServer: LocalCalls = async () => {
  throw new CommandFailure(
    'no server uses this data folder; start it with hermod serve, or name one with --url',
  )
}

/** Runs until a signal ends the process; waits for a server that is away. */
async function listen(
  context: CommandContext,
  values: ValuesOf<typeof fields>,
  options: GivenOptions,
): Promise<never> {
  const { app_id, forward, kinds, secret = newSecret() } = values
  const calls = await openOperatorCalls(context.load(), noServer, options.url)
  const printer = context.printer(options)
  const read = async (after: string, wait: number): Promise<EventPage> => {
    const params = definedOnly({ app_id, after, kinds, wait })
    const { code, data, message } = await calls.call(readEventsByOperator.id, params)
    if (code === 200) return data as EventPage
    const words = message ?? `the operation failed with code ${code}`
    throw new CommandFailure(withOptionNames(words, optionNames), code)
  }
  let page = await read(values.after ?? 'now', 0)
  const shown = values.secret === undefined ? secret : `the secret of ${options.secretFile}`
  printer.print({ app_id, forward, secret: shown, cursor: page.cursor }, () =>
    [
      `Events of ${app_id} are posted to ${forward}; Ctrl+C ends.`,
      `They are signed with ${shown}`,
      '',
    ].join('\n'),
  )
  const readOn = async (cursor: string): Promise<EventPage> => {
    for (let failures = 0; ; failures++) {
      try {
        return await read(cursor, waitSeconds)
      } catch (error) {
        if (!isTransient(error)) throw error
        if (failures === 0)
          context.dependencies.stderr.write(`hermod: ${error.message}; trying again\n`)
        await sleep(retryMs)
      }
    }
  }
  for (;;) {
    const { missed } = page
    if (missed) printer.print({ missed }, () => `${missed.positions} positions of the log are gone`)
    for (const event of page.events) {
      const forwarded = await post(event, { forward, secret, now: () => context.now() })
      printer.print(forwarded, () => forwardedText(forwarded))
    }
    page = await readOn(page.cursor)
  }
}

/** Tests whether a later call may succeed: the server does not answer, or says so. */
function isTransient(error: unknown): error is CommandFailure {
  if (!(error instanceof CommandFailure)) return false
  const entry = Object.values(errorCatalogue).find(({ code }) => code === error.code)
  return error.code === undefined || entry?.retryable === true
}

async function post(
  event: LoggedEvent,
  { forward, secret, now }: { readonly forward: string; readonly secret: string; now(): number },
): Promise<Forwarded> {
  const { id, type, key, cursor } = event
  const body = JSON.stringify(event)
  const timestamp = Math.floor(now() / 1_000)
  const startedAt = performance.now()
  const { status, error } = await fetch(forward, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders({ id, timestamp, body }, [secret]),
    },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(forwardTimeoutMs),
  }).then(
    async (answer) => {
      await answer.body?.cancel()
      return { status: answer.status, error: '' }
    },
    (failure: Error) => ({ status: 0, error: connectErrorText(failure) }),
  )
  const duration_ms = Math.round(performance.now() - startedAt)
  return { id, type, key, cursor, status, duration_ms, error }
}

function connectErrorText({ cause, message }: Error): string {
  if (!(cause instanceof Error)) return message
  return cause.message || String((cause as NodeJS.ErrnoException).code)
}

function forwardedText({ id, type, status, duration_ms, error }: Forwarded): string {
  const answer = error === '' ? String(status) : `no answer: ${error}`
  return `${type} ${id}: ${answer}, ${duration_ms} ms`
}
