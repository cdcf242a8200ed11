/** Answers of vendor_f: one code for the request, and codes of single devices in `value`. */

import { scalarText } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushOutcome, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import {
  acceptedBut,
  asObject,
  codeTable,
  forAll,
  answerObject,
  refusalByCode,
  scalarTexts,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

const vendorFCodes = codeTable({
  throttled: [110010],
  certificate_quota: [110019, 110051],
  command_quota: [110053],
  credentials: [1006, 110000, 110001, 110009],
  config: [300, 110031, 110033],
  server_error: [-1, 500, 1001, 1003],
  payload: [1005, 110004, 110032],
})

/** Codes of single devices; 110010 has another meaning for a whole request. */
export const vendorFDeviceCodes = codeTable({
  invalid_token: [110002, 110003],
  // Faster than the rate that is configured for the app.
  throttled: [518],
  suppressed: [110010, 520],
  device_quota: [110011],
  server_error: [501, 513, 519],
  push_config: [201],
})

const success = '200'
const redirected = '300'

export function vendorFOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = answerObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  const elsewhere = vendorFRedirect(answer)
  const reason = elsewhere
    ? `the gateway redirects to ${elsewhere.origin}, which is no address of its own, or redirects twice`
    : scalarText(body.message)
  if (code !== success)
    return forAll(targets, refusalByCode(vendorFCodes, { code, reason }, answer))
  const refused = new Map<string, Refusal>()
  for (const [deviceCode, tokens] of Object.entries(asObject(body.value))) {
    const outcome = refusalByCode(vendorFDeviceCodes, { code: deviceCode, reason }, answer)
    for (const token of scalarTexts(tokens)) refused.set(token, outcome)
  }
  return acceptedBut(targets, scalarText(body.msgId), refused)
}

/** Returns the address to which the gateway redirects the request; null for an answer. */
export function vendorFRedirect(answer: GatewayAnswer): URL | null {
  const { code, redirect } = answerObject(answer.body)
  const url = scalarText(redirect)
  return scalarText(code) === redirected && URL.canParse(url) ? new URL(url) : null
}

/**
 * Tests whether a request, with its message and tokens, may go to the address: to the hosts of the
 * vendor by https, or to the host of the certificate's own address in the same way as there.
 */
export function isOwnAddress(
  { protocol, hostname, username, password }: URL,
  { endpoint }: Pick<GatewayCertificate, 'endpoint'>,
): boolean {
  if (username !== '' || password !== '') return false
  const own = endpoint?.sendUrl === undefined ? null : new URL(endpoint.sendUrl)
  if (hostname === own?.hostname) return protocol === 'https:' || protocol === own.protocol
  return protocol === 'https:' && /(^|\.)meizu\.com$/.test(hostname)
}
