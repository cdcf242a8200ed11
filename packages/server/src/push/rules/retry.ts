/** When a device is tried again, by what became of the last try. */
import { quotaEnd } from '../../lib/china-time.js'
import { dayMs } from '../../lib/clock.js'
import type { ReceiptKind } from '../receipts/receipt.js'
import type { PushOutcome, QuotaPauses, QuotaScope, VendorChannel } from '../sender.js'

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
export function triesAfter({ failures, waits }: Tries, { kind }: PushOutcome): Tries {
  const hasFailed = kind === 'server_error' || kind === 'network'
  const hasWaited = kind === 'throttled' || kind === 'held_back'
  return { failures: failures + Number(hasFailed), waits: waits + Number(hasWaited) }
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

/**
 * When to send again with the same token: what the gateway asks for, else after a random part of a
 * time that doubles with each failure, or with each time that it was put off. Repeating is safe also where the last try may have arrived: the
 * same `deduplicationId` is shown once, and what has no such guard is unrepeatable.
 *
 * @returns milliseconds since 1970; null: never
 */
export function nextTryAt(outcome: PushOutcome, attempt: Attempt): number | null {
  const delayMs = pushRetryDelayMs(outcome, attempt)
  if (delayMs === null) return null
  const at = attempt.now + delayMs
  return at < attempt.expiresAt ? at : null
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
      if (outcome.hasTurn) return outcome.retryAfterMs
      // Not all of them at the moment at which the gateway may be asked again.
      return outcome.retryAfterMs + backoffMs(throttleBackoff, tries.waits, random)
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

/** @param times from 1: each doubles the time */
function backoffMs(
  { firstMs, longestMs }: { readonly firstMs: number; readonly longestMs: number },
  times: number,
  random: number,
): number {
  return Math.round(Math.min(firstMs * 2 ** (times - 1), longestMs) * random)
}

/** For how long to leave what was refused alone, without anything being wrong with it. */
export interface Pause {
  readonly of: QuotaScope
  /** Milliseconds since 1970. */
  readonly until: number
}

/** The pause that an outcome asks for; null: none. */
export function pauseAfter(outcome: PushOutcome, now: number): Pause | null {
  if (outcome.kind === 'quota') return { of: outcome.scope, until: outcome.endsAt }
  return outcome.kind === 'suppressed' ? { of: 'device', until: now + dayMs } : null
}

/** What outcomes of one certificate ask for beside the pauses of single devices; the latest end of each. */
export function certificatePauses(outcomes: readonly PushOutcome[], now: number): QuotaPauses {
  const pauses: { -readonly [S in keyof QuotaPauses]: QuotaPauses[S] } = {}
  for (const outcome of outcomes) {
    const pause = pauseAfter(outcome, now)
    if (pause === null || pause.of === 'device') continue
    pauses[pause.of] = Math.max(pauses[pause.of] ?? 0, pause.until)
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
