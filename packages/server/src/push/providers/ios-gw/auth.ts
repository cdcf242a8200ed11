import type { Refusal } from '../../sender.js'
import { signJwt } from '../content/jwt.js'
import type { IssuedToken } from '../runtime/auth-cache.js'
import type { AuthScheme } from '../runtime/protocol.js'
import type { IosCredentials } from './credentials.js'

/** The gateway refuses tokens older than an hour, and a new one within 20 minutes. */
const shortestLifeMs = 20 * 60_000
const lifeMs = 2 * shortestLifeMs

/**
 * Tokens whose time of issue is a full 40 minutes of the clock: all processes that send with a key
 * show the same time without talking to one another, and no more than one in 20 minutes.
 */
export const iosAuth: AuthScheme<IosCredentials> = {
  async issue({ credentials, now, refused }) {
    if (credentials.kind === 'certificate') return noToken
    // A token that was refused before its time is followed by one of the running 20 minutes.
    const issuedAt = beginOf(now, refused === null ? lifeMs : shortestLifeMs)
    if (refused !== null && issuedAt <= refused.issuedAt) return tooEarly
    const { keyId, teamId, key } = credentials
    const claims = { iss: teamId, iat: issuedAt / 1000 }
    const value = await signJwt({ alg: 'ES256', keyId, key }, claims)
    return { value, issuedAt, refreshAt: beginOf(now, lifeMs) + lifeMs }
  },
}

/** The client certificate of the connection proves who sends. */
const noToken: IssuedToken = {
  value: '',
  issuedAt: 0,
  refreshAt: Number.POSITIVE_INFINITY,
}

const tooEarly: Refusal = {
  kind: 'config',
  code: 'ExpiredProviderToken',
  reason: 'the gateway calls a token expired that is minutes old; check the clock of this machine',
}

function beginOf(now: number, periodMs: number): number {
  return Math.floor(now / periodMs) * periodMs
}
