import { createHash } from 'node:crypto'
import { scalarText } from '../../../lib/json.js'
import { asObject, answerObject } from '../content/answers.js'
import { tokenRefusal } from '../content/oauth.js'
import { formRequest } from '../content/requests.js'
import type { AuthScheme } from '../runtime/protocol.js'
import { vendorORefusal } from './answers.js'
import type { VendorOCredentials } from './credentials.js'
import { regionUrl } from './region.js'

/** Tokens are valid for a day. */
const refreshMs = 12 * 3_600_000

export const vendorOAuth: AuthScheme<VendorOCredentials> = {
  async issue({ credentials, certificate, part, now, call }) {
    const url = certificate.endpoint?.authUrl ?? `${regionUrl(certificate, part)}/server/v1/auth`
    const answer = await call(
      formRequest(url, {
        app_key: credentials.appKey,
        timestamp: String(now),
        sign: vendorOSign(credentials, now),
      }),
    )
    const { code, message, data } = answerObject(answer.body)
    const value = scalarText(asObject(data).auth_token)
    if (scalarText(code) === '0' && value !== '')
      return { value, issuedAt: answer.receivedAt, refreshAt: answer.receivedAt + refreshMs }
    const refusal = vendorORefusal(answer)
    return refusal.kind === 'config' || refusal.kind === 'throttled'
      ? refusal
      : tokenRefusal(answer, scalarText(code), scalarText(message))
  },
}

/** Returns the SHA-256 of key, time in milliseconds and MasterSecret. */
export function vendorOSign(
  { appKey, masterSecret }: VendorOCredentials,
  timestamp: number,
): string {
  return createHash('sha256').update(`${appKey}${timestamp}${masterSecret}`).digest('hex')
}
