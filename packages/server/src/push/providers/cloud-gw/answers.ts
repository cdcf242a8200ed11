/** Answers of FCM HTTP v1: ErrorCode of the reference, and google.rpc.Status. */
import type { JsonObject } from '../../../lib/json.js'
import { scalarText } from '../../../lib/json.js'
import type { PushOutcome } from '../../outcomes.js'
import {
  asObject,
  codeTable,
  answerObject,
  refusalByCode,
  refusalOfClass,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

/** Keys are the errorCode of the detail FcmError, else the status of the error. */
export const cloudCodes = codeTable({
  invalid_token: ['UNREGISTERED', 'UNREGISTERED_FID'],
  // NOT_FOUND without a detail: a device that a proxy or an old answer reports, or an unknown project.
  suspect_token: ['SENDER_ID_MISMATCH', 'NOT_FOUND'],
  auth_expired: ['UNAUTHENTICATED'],
  throttled: ['QUOTA_EXCEEDED', 'RESOURCE_EXHAUSTED'],
  server_error: ['UNAVAILABLE', 'INTERNAL', 'UNSPECIFIED_ERROR'],
  // PERMISSION_DENIED without a detail: the account lacks the right to send, or the project is
  // unknown. A device of another project has the detail SENDER_ID_MISMATCH.
  credentials: ['PERMISSION_DENIED'],
  // The set-up for devices of Apple and for browsers; other devices are reached.
  push_config: ['THIRD_PARTY_AUTH_ERROR', 'APNS_AUTH_ERROR'],
  payload: ['INVALID_ARGUMENT'],
})

export function cloudOutcome(answer: GatewayAnswer): PushOutcome {
  const body = answerObject(answer.body)
  if (answer.status === 200) return { kind: 'accepted', messageId: scalarText(body.name) }
  const error = asObject(body.error)
  const details = Array.isArray(error.details) ? error.details.map(asObject) : []
  const detail = detailOf(details, 'FcmError')
  const code = scalarText(detail.errorCode) || scalarText(error.status)
  const reason = scalarText(error.message)
  // The same code means an invalid token and a faulty message. It counts against the token only
  // where the gateway accepts other messages.
  const isToken = 'errorCode' in detail && /token/i.test(reason) && !namesOtherField(details)
  if (code === 'INVALID_ARGUMENT' && isToken)
    return refusalOfClass('suspect_token', { code, reason }, answer)
  return refusalByCode(cloudCodes, { code: code || `http_${answer.status}`, reason }, answer)
}

/**
 * @param name end of the detail's type
 * @returns {} without such a detail
 */
function detailOf(details: readonly JsonObject[], name: string): JsonObject {
  return details.find((detail) => scalarText(detail['@type']).endsWith(name)) ?? {}
}

/** Tests whether the answer rejects a field of the message other than its token. */
function namesOtherField(details: readonly JsonObject[]): boolean {
  const { fieldViolations } = detailOf(details, 'BadRequest')
  const fields = Array.isArray(fieldViolations) ? fieldViolations.map(asObject) : []
  return fields.some(({ field }) => scalarText(field) !== 'message.token')
}
