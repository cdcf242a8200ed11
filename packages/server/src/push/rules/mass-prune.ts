/** Prevents a wrong package, environment or project from ending every token of an app. */
import type { Int64 } from '@hermod/protocol'
import { boundedCache } from '../../lib/limits/bounded-cache.js'
import type { PushOutcome } from '../outcomes.js'

interface CertificateHistory {
  /** Time of the certificate's last accepted message, milliseconds since 1970; null: never. */
  readonly lastAcceptedAt: number | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The gateways' answers about tokens since the certificate's last success. */
interface Window {
  readonly since: number
  invalid: number
  /** Valid tokens, of devices that are out of reach. */
  good: number
}

const recentMs = 24 * 3_600_000
/** Number of refused tokens from which their share counts as well. */
const largeCount = 20
const largeShare = 0.5
const maxCertificates = 10_000

/**
 * Treats tokens that a gateway reports as ended as a fault of the set-up. It does so when the
 * certificate has had no success for a day, and either the gateway's answer may mean a set-up fault
 * or most of many tokens are concerned, in any number of requests of a day. The first few tokens of
 * a mass are still removed, since an app with few devices looks the same.
 */
export class MassPruneGuard {
  /** Windows of certificates without a recent success, by ID. */
  readonly #windows = boundedCache<Int64, Window>(maxCertificates)

  /**
   * @param certificateId certificate of the tokens
   * @param outcomes of one request or more
   * @returns the same outcomes, or with `config` in place of `invalid_token`
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
