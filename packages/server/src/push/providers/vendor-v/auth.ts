import { createHash } from 'node:crypto'
import { scalarText } from '../../../lib/json.js'
import { answerObject } from '../content/answers.js'
import { tokenRefusal } from '../content/oauth.js'
import { jsonRequest } from '../content/requests.js'
import type { AuthScheme } from '../runtime/protocol.js'
import { vendorVRefusal } from './answers.js'
import type { VendorVCredentials } from './credentials.js'
import { vendorVUrl } from './payload.js'

/** Tokens are valid for a day; the vendor asks to refresh them every hour or two. */
const refreshMs = 2 * 3_600_000

export const vendorVAuth: AuthScheme<VendorVCredentials> = {
  async issue({ credentials, certificate, now, call }) {
    const { appId, appKey } = credentials
    const body = { appId, appKey, timestamp: now, sign: vendorVSign(credentials, now) }
    const url = certificate.endpoint?.authUrl ?? vendorVUrl(certificate, 'auth')
    const answer = await call(jsonRequest(url, body))
    const { result, desc, authToken } = answerObject(answer.body)
    const value = scalarText(authToken)
    if (scalarText(result) === '0' && value !== '')
      return { value, issuedAt: answer.receivedAt, refreshAt: answer.receivedAt + refreshMs }
    const refusal = vendorVRefusal(answer)
    return refusal.kind === 'config' || refusal.kind === 'throttled'
      ? refusal
      : tokenRefusal(answer, scalarText(result), scalarText(desc))
  },
}

/** Returns the MD5 of ID, key, time in milliseconds and secret. */
export function vendorVSign(
  { appId, appKey, secret }: VendorVCredentials,
  timestamp: number,
): string {
  return createHash('md5').update(`${appId}${appKey}${timestamp}${secret}`).digest('hex')
}
