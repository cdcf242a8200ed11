/** Answers of vendor_n. */

import { scalarText } from '../../../lib/json.js'
import type { PushOutcome } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import {
  acceptedBut,
  asObject,
  codeTable,
  forAll,
  answerObject,
  refusalByCode,
  refusalOfClass,
  scalarTexts,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

const vendorNCodes = codeTable({
  suspect_token: [80300007],
  auth_expired: ['http_401', 'http_403', 401, 403, 80200001, 80200003],
  throttled: [429, 503],
  certificate_quota: [80200047],
  server_error: [500, 502],
  config: [404, 10205, 80200020, 80200022],
  clock: [10001, 10207],
  payload: [400, 80100003, 80200050, 80200056, 80300006, 80300008, 80300010, 10300],
})

const success = '200'
const partialSuccess = '80100000'

export function vendorNOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = answerObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  const data = asObject(body.data)
  const verdict = { code, reason: scalarText(body.message) }
  if (code !== success && code !== partialSuccess)
    return forAll(targets, refusalByCode(vendorNCodes, verdict, answer))
  const expired = scalarTexts(data.expireTokens)
  const failed = code === partialSuccess ? scalarTexts(data.failTokens) : []
  const dead = refusalOfClass('invalid_token', { code, reason: 'the token has ended' }, answer)
  const refused = new Map([...expired, ...failed].map((token) => [token, dead]))
  return acceptedBut(targets, scalarText(data.requestId), refused)
}
