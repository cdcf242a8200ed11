import type { Refusal } from '../../sender.js'
import { jwtTimeMs, signJwt } from '../content/jwt.js'
import type { GatewayToken } from '../runtime/auth-cache.js'
import type { AuthScheme } from '../runtime/protocol.js'
import type { IosCredentials } from './credentials.js'

/** The gateway refuses tokens that were made within 20 minutes of one another, and tokens of an hour. */
const shortestUseMs = 20 * 60_000
const periodMs = 36 * 60_000

/**
 * The time of issue is where a period of the clock begins, and a token is used until its period ends:
 * all processes that send with a key show the same time and change it together, without talking to
 * one another.
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

/** A refused token is followed by one of another time, with as many minutes between them as the gateway asks for. */
function madeAfter({ value }: GatewayToken, begin: number, now: number): number {
  const refusedAt = jwtTimeMs(value)
  if (begin - refusedAt >= shortestUseMs) return begin
  return now - ((now - refusedAt) % shortestUseMs)
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
