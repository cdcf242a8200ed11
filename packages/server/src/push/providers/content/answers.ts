/** Maps answers to outcomes by a table for each gateway. */
import assert from 'node:assert/strict'
import { quotaEnd } from '../../../lib/china-time.js'
import { type JsonObject, parseJson, scalarText } from '../../../lib/json.js'
import type { Accepted, PushOutcome, QuotaScope, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { retryAfterMs } from './times.js'

/** Quota classes in the tables, with the scope of each quota. */
const quotas = {
  certificate_quota: 'certificate',
  command_quota: 'command',
  device_quota: 'device',
  list_quota: 'list',
  operational_quota: 'operational',
  system_quota: 'system',
} as const satisfies Readonly<Record<string, QuotaScope>>
type QuotaClass = keyof typeof quotas

/**
 * Kinds of outcomes as tables name them. `suspect_token`: invalid, but a wrong package or project
 * gives the same answer; `suspect_request`: the answer concerns path or topic. `credentials`:
 * `config` that concerns the credentials or the account. `push_config`: the set-up is refused for a
 * device or a message, and other pushes go on. `clock`: the gateway finds our time wrong.
 */
export type AnswerClass =
  | Exclude<Refusal['kind'], 'network' | 'held_back' | 'quota'>
  | QuotaClass
  | 'suspect_token'
  | 'suspect_request'
  | 'credentials'
  | 'push_config'
  | 'clock'

/** A code, or an inclusive range of codes. */
export type CodeEntry = number | string | readonly [number, number]

type CodeTable = ReadonlyMap<string, AnswerClass>

/** Builds a table of codes by meaning. Each code belongs to one class. */
export function codeTable(
  classes: Partial<Readonly<Record<AnswerClass, readonly CodeEntry[]>>>,
): CodeTable {
  const table = new Map<string, AnswerClass>()
  for (const [name, entries] of Object.entries(classes))
    for (const code of entries.flatMap(codesOf)) {
      assert(!table.has(code), `code ${code} twice`)
      table.set(code, name as AnswerClass)
    }
  return table
}

function codesOf(entry: CodeEntry): string[] {
  if (typeof entry !== 'object') return [String(entry)]
  const [first, last] = entry
  return Array.from({ length: last - first + 1 }, (_, index) => String(first + index))
}

/** Meaning of HTTP statuses when the answer has no code. */
export const statusCodes = codeTable({
  auth_expired: [401],
  throttled: [429, 503],
  payload: [400, 413],
  credentials: [403],
  config: [404, 405],
  server_error: [500, 501, 502, 504],
})

/** The gateway's verdict on a message or a device. */
export interface Verdict {
  readonly code: string
  readonly reason: string
}

/**
 * Returns the outcome of a code. An unknown code counts as a fault of the gateway: the message is
 * retried a few times, and no token is removed.
 */
export function refusalByCode(
  table: CodeTable,
  { code, reason }: Verdict,
  answer: GatewayAnswer,
): Refusal {
  const ofStatus = statusCodes.get(String(answer.status))
  const known = table.get(code) ?? (code === `http_${answer.status}` ? ofStatus : undefined)
  if (known) return refusalOfClass(known, { code, reason }, answer)
  const outcome = refusalOfClass(ofStatus ?? 'server_error', { code, reason }, answer)
  return { ...outcome, alarm: { kind: 'unknown_code' } }
}

/** Returns an outcome of a class, with further details from the answer. */
export function refusalOfClass(
  kind: AnswerClass,
  verdict: Verdict,
  answer: GatewayAnswer,
): Refusal {
  const { code } = verdict
  const reason = verdict.reason || `the gateway answered ${code}`
  if (isQuota(kind))
    return { kind: 'quota', code, reason, scope: quotas[kind], endsAt: quotaEnd(answer.receivedAt) }
  switch (kind) {
    case 'invalid_token':
    case 'suspect_token':
      return {
        kind: 'invalid_token',
        code,
        reason,
        since: null,
        isSuspect: kind === 'suspect_token',
      }
    case 'suspect_request':
      return {
        kind: 'invalid_token',
        code,
        reason,
        since: null,
        isSuspect: true,
        isOfRequest: true,
      }
    case 'throttled':
    case 'server_error':
      return { kind, code, reason, retryAfterMs: retryAfterMs(answer) }
    case 'credentials':
      return { kind: 'config', code, reason, isOfCredentials: true }
    case 'push_config':
      return { kind: 'config', code, reason, isOfPush: true }
    case 'clock': {
      const skewSeconds = skewOf(answer)
      const alarm = { kind, skewSeconds }
      return { kind: 'config', code, reason: `${reason}${skewText(skewSeconds)}`, alarm }
    }
    default:
      return { kind, code, reason }
  }
}

function isQuota(kind: AnswerClass): kind is QuotaClass {
  return kind in quotas
}

/** Seconds that our clock is ahead of the gateway's; null when the answer has no date. */
function skewOf({ headers, receivedAt }: GatewayAnswer): number | null {
  const theirs = Date.parse(headers.date ?? '')
  return Number.isNaN(theirs) ? null : Math.round((receivedAt - theirs) / 1000)
}

function skewText(seconds: number | null): string {
  return seconds === null
    ? '; check the clock of this machine'
    : `; the clock of this machine is ${seconds} s from the gateway's`
}

/** Returns the same outcome for every target. */
export function forAll(targets: readonly PushTarget[], outcome: PushOutcome): PushOutcome[] {
  return targets.map(() => outcome)
}

/** Returns `accepted` for all targets except those with tokens that the answer names. */
export function acceptedBut(
  targets: readonly PushTarget[],
  messageId: string,
  refused: ReadonlyMap<string, Refusal>,
): PushOutcome[] {
  const accepted: Accepted = { kind: 'accepted', messageId }
  return targets.map(({ token }) => refused.get(token) ?? accepted)
}

/** Refusal of a message before any gateway sees it. */
export function unfit(code: string, reason: string): Refusal {
  return { kind: 'payload', code, reason }
}

/** Too large even when reduced to the minimum. */
export const notificationTooLarge = unfit(
  'too_large',
  'the notification is larger than the gateway takes, also without its texts',
)

/** The channel has no commands, or the vendor does not allow the app to send them. */
export const noPassThrough = unfit(
  'no_pass_through',
  'commands are not passed to the app on this channel',
)

/** Returns the members of an answer's JSON object; {} when it is not an object. */
export function answerObject(text: string): JsonObject {
  try {
    return asObject(parseJson(text))
  } catch {
    return {}
  }
}

/** @returns {} when the value is not an object */
export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {}
}

/** Returns the non-empty strings and numbers of a list as strings; [] when it is not a list. */
export function scalarTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.map(scalarText).filter((text) => text !== '') : []
}

/** Shorter texts are no tokens of a gateway, and may be part of a word. */
const minTokenLength = 8

/** Takes the tokens of devices out of the gateway's words, which the trace shows. */
export function withoutTokens(
  outcomes: readonly PushOutcome[],
  targets: readonly PushTarget[],
): readonly PushOutcome[] {
  const tokens = targets.map(({ token }) => token).filter(({ length }) => length >= minTokenLength)
  // Devices that share an outcome still do: the runtime then knows that it is that of the request.
  const clean = new Map([...new Set(outcomes)].map((each) => [each, withoutAny(tokens, each)]))
  return outcomes.map((outcome) => clean.get(outcome) ?? outcome)
}

function withoutAny(tokens: readonly string[], outcome: PushOutcome): PushOutcome {
  if (outcome.kind === 'accepted') return outcome
  const found = tokens.filter((token) => outcome.reason.includes(token))
  if (found.length === 0) return outcome
  const reason = found.reduce((text, token) => text.replaceAll(token, '…'), outcome.reason)
  return { ...outcome, reason }
}
