/** Answers of vendor_o: its table of return codes. */
import type { MessageTemplate } from '@hermod/protocol'
import type { JsonObject } from '../../../lib/json.js'
import { scalarText } from '../../../lib/json.js'
import type { PushOutcome, Refusal } from '../../outcomes.js'
import type { PushTarget } from '../../port.js'
import {
  asObject,
  codeTable,
  forAll,
  answerObject,
  refusalByCode,
  refusalOfClass,
  type Verdict,
} from '../content/answers.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { isAboutTemplate, templateRefusal } from '../templates/template.js'

const vendorOCodes = codeTable({
  invalid_token: [10000],
  auth_expired: [11, 29],
  throttled: [-2, 13, 55],
  certificate_quota: [33, 34, 42],
  server_error: [-1],
  clock: [19],
  credentials: [[14, 18], 26, 28, 30],
  config: [27, 59],
  // 54: of the template of private messages. 67: of the category, or of the level without the right.
  push_config: [54, 67],
  payload: [12, [20, 25], 31, 32, 40, 41, 51],
})

const success = '0'
const levelAdvice =
  'is the category that of the console? An app without the right to banners needs --notify-level 2'

/** The answered messages. */
interface AnsweredMessages {
  readonly targets: readonly PushTarget[]
  /** Null, the default: the messages had none. */
  readonly template?: MessageTemplate | null
}

export function vendorOOutcomes(
  answer: GatewayAnswer,
  { targets, template = null }: AnsweredMessages,
): PushOutcome[] {
  const body = answerObject(answer.body)
  if (scalarText(body.code) !== success) {
    const refusal = vendorORefusal(answer, template)
    // One of the tokens is wrong. The runtime then sends to each device, and the suspicion falls on one.
    const isOfOne = refusal.kind === 'invalid_token' && targets.length > 1
    return forAll(targets, isOfOne ? { ...refusal, isSuspect: false } : refusal)
  }
  const data = body.data
  if (!Array.isArray(data))
    return forAll(targets, { kind: 'accepted', messageId: scalarText(asObject(data).messageId) })
  const items = new Map(data.map(asObject).map((item) => [scalarText(item.registrationId), item]))
  return targets.map(({ token }) => itemOutcome(items.get(token) ?? {}, answer, template))
}

function itemOutcome(
  item: JsonObject,
  answer: GatewayAnswer,
  template: MessageTemplate | null,
): PushOutcome {
  const code = scalarText(item.errorCode)
  const messageId = scalarText(item.messageId)
  const isAccepted = (code === '' || code === success) && messageId !== ''
  if (isAccepted) return { kind: 'accepted', messageId }
  const verdict = { code: code || 'no_outcome', reason: scalarText(item.errorMessage) }
  return messageRefusal(verdict, answer, template)
}

/** Returns the refusal of a whole call. */
export function vendorORefusal(
  answer: GatewayAnswer,
  template: MessageTemplate | null = null,
): Refusal {
  const body = answerObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  return messageRefusal({ code, reason: scalarText(body.message) }, answer, template)
}

function messageRefusal(
  { code, reason }: Verdict,
  answer: GatewayAnswer,
  template: MessageTemplate | null,
): Refusal {
  if (code === '54' || isAboutTemplate(reason))
    return templateRefusal({ code, reason }, 'vendor_o', template)
  if (code === '41' && /registration.?id/i.test(reason))
    return refusalOfClass('suspect_token', { code, reason }, answer)
  const words = code === '67' ? `${reason || 'category or level refused'}; ${levelAdvice}` : reason
  return refusalByCode(vendorOCodes, { code, reason: words }, answer)
}
