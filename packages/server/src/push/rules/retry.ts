/** When a device is tried again, by what became of the last try. */
import { quotaEnd } from '../../lib/china-time.js'
import { dayMs } from '../../lib/clock.js'
import type { ReceiptKind } from '../receipts/receipt.js'
import type { PushOutcome, QuotaPauses, VendorChannel } from '../sender.js'

/** What a delivery has met on its present channel. */
export interface Tries {
  /** Tries that failed; a few of them are the end. */
  readonly failures: number
  /** Times that it was put off, by the gateway or before it was asked; however many there are, none is a failure. */
  readonly waits: number
}

/** What a delivery begins with on each channel. */
export const noTries: Tries = { failures: 0, waits: 0 }

/** With what came of another try. */
export function triesAfter({ failures, waits }: Tries, outcome: PushOutcome): Tries {
  const hasFailed = outcome.kind === 'server_error' || outcome.kind === 'network'
  return { failures: failures + Number(hasFailed), waits: waits + Number(isWait(outcome)) }
}

/** Whether it was put off, and has not failed. */
function isWait(outcome: PushOutcome): boolean {
  if (outcome.kind === 'config') return outcome.retryAfterMs !== undefined
  return outcome.kind === 'throttled' || outcome.kind === 'held_back'
}

/**
 * Whether an outcome says nothing that the trace of its delivery does not have: of what is held back for hours it is recorded once, not
 * at each look.
 */
export function isStillHeldBack({ waits }: Tries, { kind }: PushOutcome): boolean {
  return kind === 'held_back' && waits > 0
}

export interface Attempt {
  readonly channel: VendorChannel
  /** The last try included. */
  readonly tries: Tries
  /** Milliseconds since 1970. */
  readonly now: number
  /** Milliseconds since 1970: nothing is sent from then on. */
  readonly expiresAt: number
  /** From 0 up to 1. */
  readonly random: number
}

const maxFailures = 5
const failureBackoff = { firstMs: 1_000, longestMs: 60_000 }
const throttleBackoff = { firstMs: 1_000, longestMs: 300_000 }
/** The vendor's advice for a refusal that names no time. */
const cloudThrottleBackoff = { firstMs: 60_000, longestMs: 300_000 }

/** Of the pause, so that not all come at the moment at which the gateway may be asked again. */
const spreadShare = 0.25

/**
 * When to send again with the same token: what the gateway asks for, else after a random part of a
 * time that doubles with each failure, or with each refusal for being too fast. Repeating is safe
 * also where the last try may have arrived: the same `deduplicationId` is shown once, and a command
 * without such a guard is not repeated.
 *
 * @returns milliseconds since 1970, its end for what is put off beyond that; null: never
 */
export function nextTryAt(outcome: PushOutcome, attempt: Attempt): number | null {
  const delayMs = pushRetryDelayMs(outcome, attempt)
  if (delayMs === null) return null
  const at = attempt.now + delayMs
  if (at < attempt.expiresAt) return at
  return isWait(outcome) ? attempt.expiresAt : null
}

/** Who asks for less than a second would otherwise be asked again and again without a pause that grows. */
const leastAskedMs = 1_000

function askedPauseMs({ retryAfterMs }: { readonly retryAfterMs: number | null }): number | null {
  return retryAfterMs !== null && retryAfterMs >= leastAskedMs ? retryAfterMs : null
}

function pushRetryDelayMs(outcome: PushOutcome, attempt: Attempt): number | null {
  const { channel, random, tries } = attempt
  switch (outcome.kind) {
    case 'throttled': {
      const backoff = channel === 'cloud_gw' ? cloudThrottleBackoff : throttleBackoff
      return askedPauseMs(outcome) ?? backoffMs(backoff, tries.waits, random)
    }
    case 'held_back':
      return outcome.hasTurn ? outcome.retryAfterMs : spread(outcome.retryAfterMs, random)
    case 'config':
      return outcome.retryAfterMs === undefined ? null : spread(outcome.retryAfterMs, random)
    case 'server_error':
      if (tries.failures >= maxFailures) return null
      return askedPauseMs(outcome) ?? backoffMs(failureBackoff, tries.failures, random)
    case 'network':
      if (outcome.isUnrepeatable || tries.failures >= maxFailures) return null
      return backoffMs(failureBackoff, tries.failures, random)
    default:
      return null
  }
}

function spread(pauseMs: number, random: number): number {
  return Math.round(pauseMs * (1 + spreadShare * random))
}

/** @param times from 1: each doubles the time */
function backoffMs(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  times: number,
  random: number,
): number {
  return Math.round(Math.min(firstMs * 2 ** (times - 1), longestMs) * random)
}

/**
 * Until when to leave a device alone after a try, without anything being wrong with it.
 * @returns milliseconds since 1970; null: there is no reason to
 */
export function devicePauseEnd(outcome: PushOutcome, now: number): number | null {
  if (outcome.kind === 'suppressed') return now + dayMs
  return outcome.kind === 'quota' && outcome.scope === 'device' ? outcome.endsAt : null
}

/**
 * The pauses of classes that outcomes of one certificate ask for; the latest end of each.
 * @param known those that it has; they are left out
 */
export function certificatePauses(
  outcomes: readonly PushOutcome[],
  known: QuotaPauses,
): QuotaPauses {
  const pauses: { -readonly [S in keyof QuotaPauses]: QuotaPauses[S] } = {}
  for (const outcome of outcomes) {
    if (outcome.kind !== 'quota') continue
    const { scope, endsAt } = outcome
    if (scope === 'device' || scope === 'list') continue
    if (endsAt > (pauses[scope] ?? known[scope] ?? 0)) pauses[scope] = endsAt
  }
  return pauses
}

/**
 * Until when to leave a device alone after a receipt: a day while it shows nothing or is out of
 * reach, to the end of the vendors' day when it has had its share.
 *
 * @param at when the gateway said it, milliseconds since 1970
 * @returns milliseconds since 1970; null: there is no reason to
 */
export function pauseAfterReceipt(kind: ReceiptKind, at: number): number | null {
  if (kind === 'muted' || kind === 'suppressed') return at + dayMs
  return kind === 'throttled' ? quotaEnd(at) : null
}
