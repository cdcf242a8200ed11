/** vendor_o: a signed token call; forms with a JSON field, up to 1000 messages a request. */
import { createHash } from 'node:crypto'
import type { Delivery, GatewayCall, GatewayModel, GatewayState, Reply } from '../model.js'
import {
  hasDuplicates,
  isCurrent,
  isWithin,
  type Json,
  json,
  member,
  readForm,
  text,
} from '../reading.js'
import type { ScriptName } from '../scripts.js'

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
  payload: 67,
}

/** A gateway with one app. */
export function vendorOGateway(): GatewayModel {
  return {
    channel: 'vendor_o',
    credentials: { appId: '3000001', appKey, appSecret: masterSecret, certificate: '' },
    authPath,
    answer(call, state): Reply {
      const form = readForm(call)
      if (call.path === authPath) return issue(form, state)
      const messages = messagesOf(call, form)
      if (messages === null) return json(404, { code: 12, message: 'no such api' })
      if (!state.access.accepts(form.auth_token ?? '')) return reply(11, 'invalid auth token')
      const problem = messages.map(messageProblem).find((code) => code !== null) ?? null
      const tokens = messages.map((message) => text(message, 'target_value'))
      if (problem !== null) return reply(problem, 'bad message')
      if (tokens.length > 1000 || hasDuplicates(tokens)) return reply(41, 'targets')
      return send(messages, call.path.endsWith('unicast_batch'), state)
    },
    receipts: (deliveries) => deliveries.map(receipt),
  }
}

function issue(form: Readonly<Record<string, string>>, state: GatewayState): Reply {
  if (form.app_key !== appKey) return reply(14, 'invalid app key')
  if (!isCurrent(form.timestamp, state.now())) return reply(19, 'invalid timestamp')
  const expected = createHash('sha256').update(appKey + form.timestamp + masterSecret)
  if (form.sign !== expected.digest('hex')) return reply(15, 'invalid signature')
  const data = { auth_token: state.access.issue(), create_time: state.now() }
  return json(200, { code: 0, message: 'success', data })
}

function messagesOf({ path }: GatewayCall, form: Readonly<Record<string, string>>): Json[] | null {
  if (path === `${sendPath}/unicast`) return [JSON.parse(form.message ?? '{}')]
  return path === `${sendPath}/unicast_batch` ? JSON.parse(form.messages ?? '[]') : null
}

function messageProblem(message: Json): number | null {
  const shown = member(message, 'notification')
  if (message.target_type !== 2 || !isWithin(message.target_value, 200)) return 41
  if (!isWithin(shown.title, 50)) return 20
  if (!isWithin(shown.content, shown.style === 2 ? 128 : 50)) return 21
  if (shown.click_action_type === 5 && !isWithin(shown.click_action_url, 500)) return 22
  if (text(shown, 'action_parameters').length > 4000) return 23
  if (!(Number(shown.off_line_ttl) >= 0 && Number(shown.off_line_ttl) <= 864_000)) return 24
  if ('notify_level' in shown && !('category' in shown)) return 67
  return null
}

function send(messages: readonly Json[], isBatch: boolean, state: GatewayState): Reply {
  const tokens = messages.map((message) => text(message, 'target_value'))
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  if (answer) return reply(answer, 'simulated')
  const items = messages.map((message) => sendOne(message, state))
  if (isBatch) return json(200, { code: 0, message: 'success', data: items })
  const [item] = items
  return item?.errorCode !== undefined
    ? reply(item.errorCode, item.errorMessage)
    : json(200, { code: 0, message: 'success', data: item })
}

function sendOne(message: Json, state: GatewayState) {
  const token = text(message, 'target_value')
  if (['dead', 'wrong'].includes(state.scriptOf(token)))
    return { registrationId: token, errorCode: 10000, errorMessage: 'Invalid RegistrationId' }
  const messageId = state.nextId()
  const shown = member(message, 'notification')
  state.deliver({
    messageId,
    token,
    taskId: text(shown, 'call_back_parameter'),
    receiptUrl: text(shown, 'call_back_url'),
  })
  return { registrationId: token, messageId }
}

function reply(code: number, message: string): Reply {
  return json(200, { code, message })
}

function receipt({ messageId, token, taskId, receiptUrl, script }: Delivery) {
  const eventType =
    { gone: 'regid_invalid', muted: 'user_daily_limit' }[script as string] ?? 'push_arrive'
  const event = {
    messageId,
    appId: '3000001',
    taskId: messageId,
    registrationIds: token,
    eventTime: String(Date.now()),
    param: taskId,
    eventType,
  }
  return { url: receiptUrl, contentType: 'application/json', body: JSON.stringify([event]) }
}
