import type { Refusal } from '../../sender.js'
import { signJwt } from '../content/jwt.js'
import type { GatewayToken } from '../runtime/auth-cache.js'
import type { AuthScheme } from '../runtime/protocol.js'
import type { IosCredentials } from './credentials.js'

/** The gateway refuses a new token within 20 minutes of the last one, and tokens of an hour. */
const shortestUseMs = 20 * 60_000
/** With the shortest use after it, a token is used for less than an hour. */
const periodMs = 36 * 60_000

/**
 * The time of issue is where a period of the clock begins: all processes that send with a key show
 * the same time and change it together, without talking to one another.
 */
export const iosAuth: AuthScheme<IosCredentials> = {
  async issue({ credentials, now, refused }) {
    if (credentials.kind === 'certificate') return noToken
    if (refused !== null && now - refused.issuedAt < shortestUseMs) return tooEarly
    // A refused token is followed by one of another time, so not of the same period.
    const begin = beginOf(now, refused === null ? periodMs : shortestUseMs)
    const { keyId, teamId, key } = credentials
    const claims = { iss: teamId, iat: begin / 1000 }
    const value = await signJwt({ alg: 'ES256', keyId, key }, claims)
    const periodEnd = beginOf(now, periodMs) + periodMs
    return { value, issuedAt: now, refreshAt: Math.max(periodEnd, now + shortestUseMs) }
  },
}

/** The client certificate of the connection proves who sends. */
const noToken: GatewayToken = {
  value: '',
  issuedAt: 0,
  refreshAt: Number.POSITIVE_INFINITY,
}

const tooEarly: Refusal = {
  kind: 'config',
  code: 'ExpiredProviderToken',
  reason: 'the gateway calls a token expired that is minutes old; check the clock of this machine',
}

function beginOf(now: number, lengthMs: number): number {
  return Math.floor(now / lengthMs) * lengthMs
}
