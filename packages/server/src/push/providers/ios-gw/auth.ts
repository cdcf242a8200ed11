import type { Refusal } from '../../outcomes.js'
import { jwtTimeMs, signJwt } from '../content/jwt.js'
import type { GatewayToken } from '../runtime/auth-cache.js'
import type { AuthScheme } from '../runtime/protocol.js'
import type { IosCredentials } from './credentials.js'

/**
 * The gateway refuses tokens issued within 20 minutes of one another, and tokens older than an
 * hour.
 */
const shortestUseMs = 20 * 60_000
const periodMs = 36 * 60_000

/**
 * Issues tokens at the start of a fixed period of the clock and uses them until the period ends.
 * All processes that send with a key issue the same token time and change it together, without
 * coordination.
 */
export const iosAuth: AuthScheme<IosCredentials> = {
  async issue({ credentials, now, refused }) {
    if (credentials.kind === 'certificate') return noToken
    if (refused !== null && now - refused.issuedAt < shortestUseMs) return tooEarly
    const begin = now - (now % periodMs)
    const madeAt = refused === null ? begin : madeAfter(refused, begin, now)
    const { keyId, teamId, key } = credentials
    const value = await signJwt({ alg: 'ES256', keyId, key }, { iss: teamId, iat: madeAt / 1000 })
    const end = begin + periodMs
    return { value, issuedAt: now, refreshAt: end - madeAt < shortestUseMs ? end + periodMs : end }
  },
}

/** Issues a token after a refused one, with the minutes between them that the gateway requires. */
function madeAfter({ value }: GatewayToken, begin: number, now: number): number {
  const refusedAt = jwtTimeMs(value)
  if (begin - refusedAt >= shortestUseMs) return begin
  return now - ((now - refusedAt) % shortestUseMs)
}

/** The client certificate of the connection proves the sender's identity. */
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
