/** vendor_o: a signed token call; forms with a JSON field, up to 1000 messages per request. */
import { createHash } from 'node:crypto'
import type {
  GatewayCall,
  GatewayModel,
  GatewayReply,
  GatewayState,
  SimulatedDelivery,
} from '../model.js'
import {
  hasDuplicates,
  isCurrent,
  isTextWithin,
  type JsonMembers,
  jsonReply,
  member,
  readForm,
  textMember,
} from '../reading.js'
import type { ScriptName } from '../scripts.js'
import { simulatedTemplates, templateValueProblem } from '../templates.js'

const appKey = 'vendor-o-key'
const masterSecret = 'vendor-o-master-secret'
const authPath = '/server/v1/auth'
const sendPath = '/server/v1/message/notification'

const scripted: Partial<Readonly<Record<ScriptName, number>>> = {
  throttle: -2,
  error: -1,
  auth: 11,
  denied: 11,
  config: 28,
  quota: 33,
  payload: 41,
}

/** A token of another app is answered as a wrong parameter. */
const refusedTokens: Partial<Readonly<Record<ScriptName, number>>> = { dead: 10000, wrong: 41 }

/** Creates a gateway with one app. */
export function vendorOGateway(): GatewayModel {
  return {
    channel: 'vendor_o',
    credentials: { appId: '3000001', appKey, appSecret: masterSecret, certificate: '' },
    authPath,
    answer(call, state): GatewayReply {
      const form = readForm(call)
      if (call.path === authPath) return issueVendorOToken(form, state)
      const messages = vendorOMessages(call, form)
      if (messages === null) return jsonReply(404, { code: 12, message: 'no such api' })
      if (!state.access.accepts(form.auth_token ?? ''))
        return vendorOReply(11, 'invalid auth token')
      const problem = messages.map(vendorOMessageProblem).find((code) => code !== null) ?? null
      const templateProblem = messages.map(vendorOTemplateProblem).find((text) => text !== null)
      const tokens = messages.map((message) => textMember(message, 'target_value'))
      if (problem !== null) return vendorOReply(problem, 'bad message')
      if (templateProblem) return vendorOReply(54, templateProblem)
      if (tokens.length > 1000 || hasDuplicates(tokens)) return vendorOReply(41, 'targets')
      return vendorOSend(messages, call.path.endsWith('unicast_batch'), state)
    },
    receipts: (deliveries) => deliveries.map(vendorOReceipt),
  }
}

function issueVendorOToken(
  form: Readonly<Record<string, string>>,
  state: GatewayState,
): GatewayReply {
  if (form.app_key !== appKey) return vendorOReply(14, 'invalid app key')
  if (!isCurrent(form.timestamp, state.now())) return vendorOReply(19, 'invalid timestamp')
  const expected = createHash('sha256').update(appKey + form.timestamp + masterSecret)
  if (form.sign !== expected.digest('hex')) return vendorOReply(15, 'invalid signature')
  const data = { auth_token: state.access.issue(), create_time: state.now() }
  return jsonReply(200, { code: 0, message: 'success', data })
}

function vendorOMessages(
  { path }: GatewayCall,
  form: Readonly<Record<string, string>>,
): JsonMembers[] | null {
  if (path === `${sendPath}/unicast`) return [JSON.parse(form.message ?? '{}')]
  return path === `${sendPath}/unicast_batch` ? JSON.parse(form.messages ?? '[]') : null
}

function vendorOMessageProblem(message: JsonMembers): number | null {
  const shown = member(message, 'notification')
  if (message.target_type !== 2 || !isTextWithin(message.target_value, 200)) return 41
  if (!isTextWithin(shown.title, 50)) return 20
  if (!isTextWithin(shown.content, shown.style === 2 ? 128 : 50)) return 21
  if (shown.click_action_type === 5 && !isTextWithin(shown.click_action_url, 2000)) return 22
  if (textMember(shown, 'action_parameters').length > 4000) return 23
  if (!(Number(shown.off_line_ttl) >= 0 && Number(shown.off_line_ttl) <= 864_000)) return 24
  if (textMember(shown, 'call_back_url').length > 200) return 25
  if ('notify_level' in shown && !('category' in shown)) return 67
  return null
}

/** Parameters of a text without placeholders are refused too. */
function vendorOTemplateProblem(message: JsonMembers): string | null {
  const shown = member(message, 'notification')
  const id = shown.private_msg_template_id
  if (id === undefined) return null
  const template = simulatedTemplates.vendor_o
  if (id !== template.id) return `private_msg_template_id ${id} is unknown`
  const { private_title_parameters: ofTitle, private_content_parameters: ofContent } = shown
  return (
    templateValueProblem(ofTitle, template.title_parameters, 50) ??
    templateValueProblem(ofContent, template.content_parameters, shown.style === 2 ? 128 : 50)
  )
}

function lacksTemplate(message: JsonMembers): boolean {
  const shown = member(message, 'notification')
  return 'category' in shown && !('private_msg_template_id' in shown)
}

function vendorOSend(
  messages: readonly JsonMembers[],
  isBatch: boolean,
  state: GatewayState,
): GatewayReply {
  const tokens = messages.map((message) => textMember(message, 'target_value'))
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  if (answer) return vendorOReply(answer, 'simulated')
  if (whole === 'template' && messages.some(lacksTemplate))
    return vendorOReply(54, 'private_msg_template_id is null')
  const items = messages.map((message) => sendOne(message, state))
  if (isBatch) return jsonReply(200, { code: 0, message: 'success', data: items })
  const [item] = items
  return item?.errorCode !== undefined
    ? vendorOReply(item.errorCode, item.errorMessage)
    : jsonReply(200, { code: 0, message: 'success', data: item })
}

function sendOne(message: JsonMembers, state: GatewayState) {
  const token = textMember(message, 'target_value')
  const refused = refusedTokens[state.scriptOf(token)]
  if (refused)
    return { registrationId: token, errorCode: refused, errorMessage: 'invalid registration_id' }
  const messageId = state.nextId()
  const shown = member(message, 'notification')
  state.deliver({
    messageId,
    token,
    tag: textMember(shown, 'call_back_parameter'),
    receiptUrl: textMember(shown, 'call_back_url'),
  })
  return { registrationId: token, messageId }
}

function vendorOReply(code: number, message: string): GatewayReply {
  return jsonReply(200, { code, message })
}

function vendorOReceipt({ messageId, token, tag, receiptUrl, script }: SimulatedDelivery) {
  const eventType =
    { gone: 'regid_invalid', muted: 'user_daily_limit' }[script as string] ?? 'push_arrive'
  const event = {
    messageId,
    appId: '3000001',
    taskId: messageId,
    registrationIds: token,
    eventTime: String(Date.now()),
    param: tag,
    eventType,
  }
  return { url: receiptUrl, contentType: 'application/json', body: JSON.stringify([event]) }
}
