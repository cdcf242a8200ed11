/** Answers of vendor_h: "Result codes" of its downlink message API. */

import { scalarText } from '../../../lib/json.js'
import type { PushOutcome, PushTarget } from '../../sender.js'
import {
  acceptedBut,
  codeTable,
  forAll,
  jsonObject,
  refusalByCode,
  refusalOfClass,
  scalarTexts,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

export const vendorHCodes = codeTable({
  suspect_token: [80300007],
  auth_expired: [80200001, 80200003, 80200005],
  throttled: [80100017],
  server_error: [81000001, 80600003],
  // 80300002: no permission for the app, or for the tokens of the request.
  config: [80300002, 80300011, 80300013],
  payload: [80100001, 80100003, 80100004, 80100013, 80100016, 80100018, 80300008, 80300010],
})

const success = '80000000'
const partialSuccess = '80100000'

export function vendorHOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = jsonObject(answer.body)
  const code = scalarText(body.code)
  const reason = scalarText(body.msg)
  const messageId = scalarText(body.requestId)
  if (code === success) return acceptedBut(targets, messageId, new Map())
  if (code === partialSuccess) {
    // The message is JSON itself.
    const dead = refusalOfClass('invalid_token', { code, reason: 'illegal token' }, answer)
    const illegal = scalarTexts(jsonObject(reason).illegal_tokens)
    return acceptedBut(targets, messageId, new Map(illegal.map((token) => [token, dead])))
  }
  const verdict = { code: code || `http_${answer.status}`, reason }
  return forAll(targets, refusalByCode(vendorHCodes, verdict, answer))
}
