/** Answers of vendor_v: its table of return codes. */

import { nextTimeOfDay } from '../../../lib/china-time.js'
import type { JsonObject } from '../../../lib/json.js'
import { scalarText } from '../../../lib/json.js'
import type { PushOutcome, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import {
  acceptedBut,
  asObject,
  codeTable,
  answerObject,
  refusalByCode,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

const vendorVCodes = codeTable({
  invalid_token: [10302],
  suppressed: [10311],
  auth_expired: [10000],
  throttled: [10071, 10072, 10093, 10250],
  operational_quota: [10070],
  system_quota: [10073],
  list_quota: [10252, 10254],
  credentials: [10043, 10045, 10094, [10200, 10206]],
  config: [10051, 10082],
  clock: [10207],
  payload: [
    10050,
    [10054, 10060],
    10065,
    10067,
    10085,
    [10095, 10097],
    10103,
    10104,
    [10150, 10155],
    [10304, 10306],
    10352,
    10353,
  ],
})

/**
 * Status of a device in `invalidUser`. 1: unknown; 2: uninstalled, unsubscribed, or its data cleared,
 * which ends the token (older documents: or notifications turned off); 3, in older documents only:
 * offline for 90 days; 4: not a test user in test mode.
 */
const deviceCodes = codeTable({
  invalid_token: ['user_1', 'user_2'],
  suppressed: ['user_3', 'user_4'],
})

const success = '0'
const outsideHours = '10071'
/** Hour at which the gateway accepts operational messages again, UTC+8. */
const firstHour = 7

export function vendorVOutcomes(
  answer: GatewayAnswer,
  { targets }: { readonly targets: readonly PushTarget[] },
): PushOutcome[] {
  const body = answerObject(answer.body)
  const code = scalarText(body.result) || `http_${answer.status}`
  const refused = refusedDevices(body, answer)
  if (code !== success) {
    const general = vendorVRefusal(answer)
    return targets.map(({ token }) => refused.get(token) ?? general)
  }
  return acceptedBut(targets, scalarText(body.taskId), refused)
}

/** Returns the refusal of a whole call. */
export function vendorVRefusal(answer: GatewayAnswer): Refusal {
  const body = answerObject(answer.body)
  const code = scalarText(body.result) || `http_${answer.status}`
  const outcome = refusalByCode(vendorVCodes, { code, reason: scalarText(body.desc) }, answer)
  if (code !== outsideHours || outcome.kind !== 'throttled') return outcome
  const opensAt = nextTimeOfDay(answer.receivedAt, firstHour)
  return { ...outcome, retryAfterMs: opensAt - answer.receivedAt }
}

function refusedDevices(body: JsonObject, answer: GatewayAnswer): Map<string, Refusal> {
  const one = body.invalidUser
  const many = body.invalidUsers
  const entries = [...(Array.isArray(many) ? many : []), ...(one ? [one] : [])].map(asObject)
  return new Map(
    entries.map(({ userid, status }) => [
      scalarText(userid),
      refusalByCode(deviceCodes, { code: `user_${scalarText(status)}`, reason: '' }, answer),
    ]),
  )
}

/** Returns the ID of a stored message, or null when it was not stored. */
export function vendorVTaskId(answer: GatewayAnswer): string | null {
  const { result, taskId } = answerObject(answer.body)
  return scalarText(result) === success ? scalarText(taskId) || null : null
}
