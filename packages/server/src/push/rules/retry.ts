/** Decides when a device is tried again after an outcome. */
import { quotaEnd } from '../../lib/china-time.js'
import { dayMs } from '../../lib/clock.js'
import type { ReceiptKind } from '../receipts/receipt.js'
import type { VendorChannel } from '../certificate.js'
import type { PushOutcome, QuotaPauses } from '../outcomes.js'

/** Earlier tries of a delivery on its present channel. */
export interface Tries {
  /** Failed tries; a few of them end the delivery. */
  readonly failures: number
  /** Number of delays, by the gateway or before a request. None of them counts as a failure. */
  readonly waits: number
}

/** Initial value on each channel. */
export const noTries: Tries = { failures: 0, waits: 0 }

/** Returns the tries including one more outcome. */
export function triesAfter({ failures, waits }: Tries, outcome: PushOutcome): Tries {
  const hasFailed = outcome.kind === 'server_error' || outcome.kind === 'network'
  return { failures: failures + Number(hasFailed), waits: waits + Number(isWait(outcome)) }
}

/** Tests whether the outcome is a delay and not a failure. */
function isWait(outcome: PushOutcome): boolean {
  if (outcome.kind === 'config') return outcome.retryAfterMs !== undefined
  return outcome.kind === 'throttled' || outcome.kind === 'held_back'
}

/**
 * Tests whether an outcome repeats the last step of the trace. A delivery that is held back for
 * hours is recorded once, not at each try.
 */
export function isStillHeldBack({ waits }: Tries, { kind }: PushOutcome): boolean {
  return kind === 'held_back' && waits > 0
}

export interface RetryInputs {
  readonly channel: VendorChannel
  /** Includes the last try. */
  readonly tries: Tries
  /** Milliseconds since 1970. */
  readonly now: number
  /** End of the delivery, after which nothing is sent, milliseconds since 1970. */
  readonly expiresAt: number
  /** From 0 up to 1, exclusive. */
  readonly random: number
}

const maxFailures = 5
const failureBackoff = { firstMs: 1_000, longestMs: 60_000 }
const throttleBackoff = { firstMs: 1_000, longestMs: 300_000 }
/** Backoff that the vendor recommends for a refusal without a time. */
const cloudThrottleBackoff = { firstMs: 60_000, longestMs: 300_000 }

/** Share of the pause by which retries are spread, so that they do not all begin at its end. */
const spreadShare = 0.25

/**
 * Returns when to send again with the same token. The gateway's own time applies; otherwise a
 * random part of a time that doubles with each failure or each `throttled` outcome. A repetition is
 * safe even if the last try may have arrived: a device shows the same `deduplicationId` once, and a
 * command without this guard is not repeated.
 *
 * @returns milliseconds since 1970, at most the expiry for a delay; null: never
 */
export function nextTryAt(outcome: PushOutcome, attempt: RetryInputs): number | null {
  const delayMs = pushRetryDelayMs(outcome, attempt)
  if (delayMs === null) return null
  const at = attempt.now + delayMs
  if (at < attempt.expiresAt) return at
  return isWait(outcome) ? attempt.expiresAt : null
}

/** A shorter time from the gateway does not count, because the pause would never grow. */
const leastAskedMs = 1_000

function askedPauseMs({ retryAfterMs }: { readonly retryAfterMs: number | null }): number | null {
  return retryAfterMs !== null && retryAfterMs >= leastAskedMs ? retryAfterMs : null
}

function pushRetryDelayMs(outcome: PushOutcome, attempt: RetryInputs): number | null {
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

/** @param times from 1; each doubles the time */
function backoffMs(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  times: number,
  random: number,
): number {
  return Math.round(Math.min(firstMs * 2 ** (times - 1), longestMs) * random)
}

/**
 * Returns the end of a pause for a device that is in order.
 * @returns milliseconds since 1970; null: no pause
 */
export function devicePauseEnd(outcome: PushOutcome, now: number): number | null {
  if (outcome.kind === 'suppressed') return now + dayMs
  return outcome.kind === 'quota' && outcome.scope === 'device' ? outcome.endsAt : null
}

/**
 * Returns new pauses of message classes from the outcomes of one certificate, with the latest end
 * of each.
 * @param known existing pauses, which are left out
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
 * Returns the end of a device's pause after a receipt: a day while it shows nothing or is out of
 * reach, or the end of the vendors' day when its quota is used up.
 *
 * @param at time of the receipt, milliseconds since 1970
 * @returns milliseconds since 1970; null: no pause
 */
export function pauseAfterReceipt(kind: ReceiptKind, at: number): number | null {
  if (kind === 'muted' || kind === 'suppressed') return at + dayMs
  return kind === 'throttled' ? quotaEnd(at) : null
}
