/** Answers of APNs: "Handling notification responses from APNs". */

import { scalarText } from '../../../lib/json.js'
import type { PushOutcome } from '../../outcomes.js'
import { codeTable, answerObject, refusalByCode } from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'

/** Reasons of refusals. */
export const iosCodes = codeTable({
  invalid_token: ['Unregistered', 'ExpiredToken'],
  // Answers about the token, path or topic of one request: the certificate may reach other devices.
  suspect_token: ['BadDeviceToken', 'DeviceTokenNotForTopic', 'MissingDeviceToken'],
  suspect_request: ['BadPath', 'BadTopic', 'MissingTopic', 'TopicDisallowed'],
  auth_expired: ['ExpiredProviderToken'],
  throttled: ['TooManyRequests', 'TooManyProviderTokenUpdates'],
  server_error: ['InternalServerError', 'ServiceUnavailable', 'Shutdown', 'IdleTimeout'],
  credentials: [
    'InvalidProviderToken',
    'MissingProviderToken',
    'BadCertificate',
    'BadCertificateEnvironment',
    'Forbidden',
    'UnrelatedKeyIdInToken',
    'BadEnvironmentKeyIdInToken',
    // The name that the gateway really sends.
    'BadEnvironmentKeyInToken',
  ],
  config: ['MethodNotAllowed'],
  payload: [
    'PayloadTooLarge',
    'PayloadEmpty',
    'BadCollapseId',
    'BadExpirationDate',
    'BadMessageId',
    'BadPriority',
    'InvalidPushType',
    'DuplicateHeaders',
  ],
})

export function iosOutcome(answer: GatewayAnswer): PushOutcome {
  if (answer.status === 200) return { kind: 'accepted', messageId: answer.headers['apns-id'] ?? '' }
  const { reason, timestamp } = answerObject(answer.body)
  const code = scalarText(reason) || `http_${answer.status}`
  const outcome = refusalByCode(iosCodes, { code, reason: '' }, answer)
  return outcome.kind === 'invalid_token' && typeof timestamp === 'number'
    ? { ...outcome, since: timestamp }
    : outcome
}
