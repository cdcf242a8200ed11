/** Keeps a wrong package, environment or project from ending every token of an app. */
import type { Int64 } from '@hermod/protocol'
import { boundedCache } from '../../lib/limits/bounded-cache.js'
import type { PushOutcome } from '../sender.js'

export interface CertificateHistory {
  /** When the certificate last had a message accepted, milliseconds since 1970; null: never. */
  readonly lastAcceptedAt: number | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/** What gateways have said of tokens since the certificate had no success. */
interface Window {
  readonly since: number
  invalid: number
  /** Tokens that are good, of devices that are out of reach. */
  good: number
}

const recentMs = 24 * 3_600_000
/** From so many refused tokens on their share counts as well. */
const largeCount = 20
const largeShare = 0.5
const maxCertificates = 10_000

/**
 * Takes tokens that are said to have ended for a fault of the set-up, when the certificate has had
 * no success for a day, and either the gateway's words may mean that as well or most of many
 * tokens are concerned, in however many requests of a day. Of a mass the first few go: nothing tells
 * them from those of an app that has a few devices.
 */
export class MassPruneGuard {
  /** Of certificates without a recent success, by ID. */
  readonly #windows = boundedCache<Int64, Window>(maxCertificates)

  /**
   * @param certificateId whose they are
   * @param outcomes of one request or more
   * @returns the same outcomes, or with `config` in the place of `invalid_token`
   */
  guard(
    certificateId: Int64,
    outcomes: readonly PushOutcome[],
    { lastAcceptedAt, now }: CertificateHistory,
  ): readonly PushOutcome[] {
    const hasSuccess =
      outcomes.some(({ kind }) => kind === 'accepted') ||
      (lastAcceptedAt !== null && now - lastAcceptedAt < recentMs)
    if (hasSuccess) {
      this.#windows.delete(certificateId)
      return outcomes
    }
    const { invalid, good } = this.#count(certificateId, outcomes, now)
    const isMass = invalid >= largeCount && invalid >= (invalid + good) * largeShare
    return outcomes.map((outcome) =>
      outcome.kind === 'invalid_token' && (isMass || outcome.isSuspect)
        ? {
            kind: 'config',
            code: outcome.code,
            reason: `${outcome.reason}; nothing was accepted for a day, so the tokens are kept`,
            alarm: { kind: 'mass_prune' },
          }
        : outcome,
    )
  }

  #count(certificateId: Int64, outcomes: readonly PushOutcome[], now: number): Window {
    const known = this.#windows.get(certificateId)
    const window =
      known && now - known.since < recentMs ? known : { since: now, invalid: 0, good: 0 }
    for (const { kind } of outcomes) {
      if (kind === 'invalid_token') window.invalid++
      else if (kind === 'suppressed') window.good++
    }
    this.#windows.set(certificateId, window)
    return window
  }
}
