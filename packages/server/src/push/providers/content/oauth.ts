/** Access tokens issued for a form, as in OAuth 2.0 (RFC 6749, section 5). */

import { scalarText } from '../../../lib/json.js'
import type { Refusal } from '../../outcomes.js'
import type { GatewayToken } from '../runtime/auth-cache.js'
import type { CallGateway } from '../runtime/protocol.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { answerObject, refusalOfClass, statusCodes } from './answers.js'
import { formRequest } from './requests.js'

const refreshBeforeEndMs = 5 * 60_000

/** Refreshes a token five minutes before it expires, or at half its life if that is later. */
export function issuedToken(value: string, issuedAt: number, lifeMs: number): GatewayToken {
  const margin = Math.min(refreshBeforeEndMs, lifeMs / 2)
  return { value, issuedAt, refreshAt: issuedAt + lifeMs - margin }
}

/** Exchanges a client's ID and secret for a token. */
export async function clientCredentialsToken(
  url: string,
  { clientId, secret }: { readonly clientId: string; readonly secret: string },
  call: CallGateway,
): Promise<GatewayToken | Refusal> {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret }
  return oauthToken(await call(formRequest(url, grant)))
}

/** Returns the token of an answer, or the reason why there is none. */
export function oauthToken(answer: GatewayAnswer): GatewayToken | Refusal {
  const body = answerObject(answer.body)
  const value = scalarText(body.access_token)
  const seconds = Number(body.expires_in)
  if (answer.status === 200 && value !== '' && seconds > 0)
    return issuedToken(value, answer.receivedAt, seconds * 1000)
  return tokenRefusal(answer, scalarText(body.error), scalarText(body.error_description))
}

/**
 * Reason why no token was issued: wrong credentials, unless the status says that a retry may help.
 *
 * @param code the gateway's own code; "" without one
 */
export function tokenRefusal(answer: GatewayAnswer, code: string, reason: string): Refusal {
  const known = statusCodes.get(String(answer.status))
  const kind = known === 'throttled' || known === 'server_error' ? known : 'credentials'
  return refusalOfClass(
    kind,
    { code: code || `http_${answer.status}`, reason: `no access token: ${reason || code}` },
    answer,
  )
}
