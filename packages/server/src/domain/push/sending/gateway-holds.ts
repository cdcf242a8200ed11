import type { Int64 } from '@hermod/protocol'
import type { Clock } from '../../../lib/clock.js'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import type { PushOutcome } from '../../../push/outcomes.js'

const maxApps = 10_000
/** After the end of a hold, until the first outcome says whether the gateway takes pushes again. */
const probeMs = 1_000

/**
 * The certificates that this node cannot send with for now: the gateway is down, refuses the
 * credentials, or the certificate's quota is used up. Known from the outcomes of this node, so a
 * new node learns of a hold with its first sends.
 */
export class GatewayHolds {
  /** By application and certificate: the end of the hold, milliseconds since 1970. */
  readonly #apps = boundedCache<string, Map<Int64, number>>(maxApps)

  constructor(private readonly clock: Clock) {}

  /** Learns from outcomes of one certificate. */
  note(appId: string, certificateId: Int64, outcomes: readonly PushOutcome[]): void {
    const now = this.clock.now()
    const ends = outcomes.flatMap((outcome) => holdEnd(outcome, now) ?? [])
    const holds = this.#apps.get(appId) ?? new Map<Int64, number>()
    if (ends.length > 0) holds.set(certificateId, Math.max(...ends))
    else if (outcomes.some(isAnswer)) holds.delete(certificateId)
    this.#apps.set(appId, holds)
  }

  /** The certificates that are held back, with the time at which the next page may be written. */
  list(appId: string): (readonly [certificateId: Int64, until: number])[] {
    const earliest = this.clock.now() + probeMs
    return [...(this.#apps.get(appId) ?? [])].map(
      ([certificateId, until]) => [certificateId, Math.max(until, earliest)] as const,
    )
  }
}

/** The end of a hold that an outcome reports, milliseconds since 1970; null: it reports none. */
function holdEnd(outcome: PushOutcome, now: number): number | null {
  switch (outcome.kind) {
    case 'held_back':
      // A push that has its turn waits for the rate, and the gateway takes others.
      return outcome.hasTurn ? null : now + outcome.retryAfterMs
    case 'config':
      return outcome.isOfPush || outcome.retryAfterMs === undefined
        ? null
        : now + outcome.retryAfterMs
    case 'quota':
      return outcome.scope === 'certificate' ? outcome.endsAt : null
    default:
      return null
  }
}

/** Tests whether the gateway was called and has answered. */
function isAnswer({ kind }: PushOutcome): boolean {
  return kind !== 'network' && kind !== 'server_error' && kind !== 'held_back'
}
