/** Keeps a wrong package, environment or project from ending every token of an app. */
import type { PushOutcome } from '../sender.js'

export interface CertificateHistory {
  /** When the certificate last had a message accepted, milliseconds since 1970; null: never. */
  readonly lastAcceptedAt: number | null
  /** Milliseconds since 1970. */
  readonly now: number
}

const recentMs = 24 * 3_600_000
/** From so many refused tokens on their share counts as well. */
const largeCount = 20
const largeShare = 0.5

/**
 * Takes tokens that are said to have ended for a fault of the set-up, when the certificate has had
 * no success for a day, and either the gateway's words may mean that as well or most of many
 * tokens are concerned.
 *
 * @param outcomes of one request, or of a whole task
 * @returns the same outcomes, or with `config` in the place of `invalid_token`
 */
export function guardAgainstMassPrune(
  outcomes: readonly PushOutcome[],
  { lastAcceptedAt, now }: CertificateHistory,
): readonly PushOutcome[] {
  const hasSuccess =
    outcomes.some(({ kind }) => kind === 'accepted') ||
    (lastAcceptedAt !== null && now - lastAcceptedAt < recentMs)
  if (hasSuccess) return outcomes
  const invalid = outcomes.filter(({ kind }) => kind === 'invalid_token').length
  const isMass = invalid >= largeCount && invalid >= outcomes.length * largeShare
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
