/** Answers of vendor_x: its "server error codes". */
import type { MessageTemplate } from '@hermod/protocol'
import { scalarText } from '../../../lib/json.js'
import type { MessageClass, PushOutcome } from '../../outcomes.js'
import {
  acceptedBut,
  asObject,
  codeTable,
  forAll,
  answerObject,
  refusalByCode,
  refusalOfClass,
} from '../content/answers.js'
import type { PushBatch } from '../runtime/protocol.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { isAboutTemplate, templateRefusal } from '../templates/template.js'

const vendorXCodes = codeTable({
  invalid_token: [66007, 10029],
  throttled: [10027, 200002, 21303],
  // Depends on the class of the message, which the answer does not name.
  certificate_quota: [200001, 10034],
  credentials: [21301, 21302, 22000, 22006, 22007, 22022, 10031, 26006],
  config: [10036],
  // The app does not have this channel. Only this message may use it, so others are still sent.
  push_config: [27001],
  server_error: [-1, 1, 10001, 10002, 10003, 10037, 20301, 20607, 22102, 26003, 65029],
  payload: [10008, 10012, 10016, 10017, 10041, 21305, 65009, 65014, 65015, [65036, 65038]],
})

const sendFailed = '20301'

/** The parameter or the address of the receipts is refused. */
const receiptCodes = ['65036', '65037', '65038']

/** Returns the code of a refusal that concerns only the receipts of the messages; null for others. */
export function receiptRefusal(outcomes: readonly PushOutcome[]): string | null {
  const [first] = outcomes
  return first?.kind === 'payload' && receiptCodes.includes(first.code) ? first.code : null
}

/** The answered messages. */
interface AnsweredRequest extends Pick<PushBatch<unknown>, 'targets'> {
  readonly messageClass: MessageClass
  /** Null, the default: the messages had none. */
  readonly template?: MessageTemplate | null
}

export function vendorXOutcomes(
  answer: GatewayAnswer,
  { targets, messageClass, template = null }: AnsweredRequest,
): PushOutcome[] {
  const body = answerObject(answer.body)
  const code = scalarText(body.code) || `http_${answer.status}`
  const reason = scalarText(body.reason) || scalarText(body.description)
  if (code !== '0') {
    // The vendor's table has no codes for templates, so the text decides.
    if (isAboutTemplate(reason))
      return forAll(targets, templateRefusal({ code, reason }, 'vendor_x', template))
    // One code has two meanings; the text tells whether the targets are invalid.
    const isTargets = code === sendFailed && /no valid target/i.test(reason)
    const outcome = isTargets
      ? refusalOfClass('suspect_token', { code, reason }, answer)
      : refusalByCode(vendorXCodes, { code, reason }, answer)
    return forAll(targets, outcome.kind === 'quota' ? { ...outcome, scope: messageClass } : outcome)
  }
  const data = asObject(body.data)
  const dead = refusalOfClass('invalid_token', { code: 'bad_regids', reason: 'bad regid' }, answer)
  const bad = scalarText(data.bad_regids).split(',').filter(Boolean)
  return acceptedBut(targets, scalarText(data.id), new Map(bad.map((token) => [token, dead])))
}
