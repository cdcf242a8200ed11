/** Answers of vendor_o: its table of return codes. */
import type { JsonObject } from '../../../lib/json.js'
import { scalarText } from '../../../lib/json.js'
import type { PushOutcome, PushTarget, Refusal } from '../../sender.js'
import { asObject, codeTable, forAll, jsonObject, refusalByCode } from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

export const vendorOCodes = codeTable({
  invalid_token: [10000],
  auth_expired: [11, 29],
  throttled: [-2, 13, 55],
  certificate_quota: [33, 34, 42],
  server_error: [-1],
  clock: [19],
  credentials: [[14, 18], 26, 28, 30],
  config: [27, 59],
  payload: [12, [20, 25], 31, 32, 40, 41, 51, 67],
})

const success = '0'

export function vendorOOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = jsonObject(answer.body)
  if (scalarText(body.code) !== success) return forAll(targets, vendorORefusal(answer))
  const data = body.data
  if (!Array.isArray(data))
    return forAll(targets, { kind: 'accepted', messageId: scalarText(asObject(data).messageId) })
  const items = new Map(data.map(asObject).map((item) => [scalarText(item.registrationId), item]))
  return targets.map(({ token }) => itemOutcome(items.get(token) ?? {}, answer))
}

function itemOutcome(item: JsonObject, answer: GatewayAnswer): PushOutcome {
  const code = scalarText(item.errorCode)
  const messageId = scalarText(item.messageId)
  const isAccepted = (code === '' || code === success) && messageId !== ''
  if (isAccepted) return { kind: 'accepted', messageId }
  const verdict = { code: code || 'no_outcome', reason: scalarText(item.errorMessage) }
  return refusalByCode(vendorOCodes, verdict, answer)
}

/** Returns the refusal of a whole call. */
export function vendorORefusal(answer: GatewayAnswer): Refusal {
  const body = jsonObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  return refusalByCode(vendorOCodes, { code, reason: scalarText(body.message) }, answer)
}
