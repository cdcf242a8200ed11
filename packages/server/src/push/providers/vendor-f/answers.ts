/** Answers of vendor_f: one code for the request, and codes of single devices in `value`. */

import { scalarText } from '../../../lib/json.js'
import type { PushOutcome, PushTarget, Refusal } from '../../sender.js'
import {
  acceptedBut,
  asObject,
  codeTable,
  forAll,
  jsonObject,
  refusalByCode,
  scalarTexts,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

export const vendorFCodes = codeTable({
  throttled: [110010],
  certificate_quota: [110019, 110051],
  command_quota: [110053],
  config: [1006, 110000, 110001, 110009, 110031, 110033],
  server_error: [500, 1001, 1003],
  payload: [1005, 110004, 110032],
})

/** Codes of single devices; 110010 has another meaning for a whole request. */
export const vendorFDeviceCodes = codeTable({
  invalid_token: [110002, 110003],
  suppressed: [110010, 520],
  device_quota: [110011],
  server_error: [501, 513, 519],
  device_config: [201],
})

const success = '200'

export function vendorFOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = jsonObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  const reason = scalarText(body.message)
  if (code !== success)
    return forAll(targets, refusalByCode(vendorFCodes, { code, reason }, answer))
  const refused = new Map<string, Refusal>()
  for (const [deviceCode, tokens] of Object.entries(asObject(body.value))) {
    const outcome = refusalByCode(vendorFDeviceCodes, { code: deviceCode, reason }, answer)
    for (const token of scalarTexts(tokens)) refused.set(token, outcome)
  }
  return acceptedBut(targets, scalarText(body.msgId), refused)
}

/** Returns the address to which the gateway redirects the request; null when it answered. */
export function vendorFRedirect(answer: GatewayAnswer): string | null {
  const { code, redirect } = jsonObject(answer.body)
  const url = scalarText(redirect)
  return scalarText(code) === '300' && /^https?:\/\//.test(url) ? url : null
}
