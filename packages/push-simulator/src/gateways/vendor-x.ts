/** vendor_x: a static secret, forms, up to 1000 devices per request. */
import type { GatewayModel, GatewayReply, GatewayState, SimulatedDelivery } from '../model.js'
import { hasDuplicates, isTextWithin, jsonReply, readForm } from '../reading.js'
import type { ScriptName } from '../scripts.js'
import { simulatedTemplates, templateValueProblem } from '../templates.js'

const credentials = {
  appId: '2882303760000000001',
  appKey: '5000000000001',
  appSecret: 'vendor-x-secret',
  certificate: '',
  packageName: 'com.example.app',
}
const dayMs = 86_400_000

/** HTTP status, code and reason. */
const scripted: Partial<Readonly<Record<ScriptName, readonly [number, number, string]>>> = {
  throttle: [200, 200002, 'QPS exceeded'],
  error: [200, 10001, 'system error'],
  denied: [401, 21301, 'auth failed'],
  config: [200, 22022, 'app not permitted'],
  quota: [200, 200001, 'daily quota exceeded'],
  payload: [200, 10017, 'parameter value invalid'],
}

/** Creates a gateway with one app. */
export function vendorXGateway(): GatewayModel {
  return {
    channel: 'vendor_x',
    credentials,
    answer(call, state): GatewayReply {
      if (call.path !== '/v3/message/regid') return vendorXFailure(404, 10020, 'no such api')
      if (call.headers.authorization !== `key=${credentials.appSecret}`)
        return vendorXFailure(401, 21301, 'auth failed')
      const form = readForm(call)
      if (form.restricted_package_name !== credentials.packageName)
        return vendorXFailure(200, 22022, 'package name does not match')
      const tokens = (form.registration_id ?? '').split(',').filter(Boolean)
      const problem = formProblem(form, tokens)
      if (problem) return vendorXFailure(200, ...problem)
      return vendorXSend(tokens, form, state)
    },
    receipts: (deliveries) => deliveries.map(vendorXReceipt),
  }
}

function formProblem(
  form: Readonly<Record<string, string>>,
  tokens: readonly string[],
): [number, string] | null {
  if (tokens.length < 1 || tokens.length > 1000 || hasDuplicates(tokens))
    return [10017, 'registration_id']
  if (Buffer.byteLength(form.payload ?? '') > 4096) return [10017, 'payload']
  const ttl = Number(form.time_to_live)
  if (!(ttl >= 0 && ttl <= dayMs)) return [10017, 'time_to_live']
  if (!/^[A-Za-z0-9-][\w-]{0,11}$/.test(form['extra.jobkey'] ?? '')) return [65015, 'jobkey']
  const callback = form['extra.callback']
  if (callback !== undefined && Buffer.byteLength(callback) > 128) return [65037, 'callback']
  if (callback !== undefined && !/^https?:/.test(callback)) return [65038, 'callback']
  if (form.pass_through === '1') return null
  if (!isTextWithin(form.title, 49)) return [10017, 'title']
  if (!isTextWithin(form.description, 127)) return [10017, 'description']
  if (!(Number(form.notify_id) >= 0 && Number(form.notify_id) < 2 ** 31))
    return [10017, 'notify_id']
  const isPage = form['extra.notify_effect'] === '2'
  if (isPage && !form['extra.intent_uri']) return [10017, 'intent_uri']
  return templateProblem(form)
}

/** The codes are those of missing and wrong parameters; the vendor's table has none for templates. */
function templateProblem(form: Readonly<Record<string, string>>): [number, string] | null {
  const id = form['extra.template_id']
  if (id === undefined) return null
  const template = simulatedTemplates.vendor_x
  if (id !== template.id) return [10017, `template_id ${id} is unknown`]
  const problem = templateValueProblem(form['extra.template_param'], template.parameters, 128)
  return problem === null ? null : [10017, problem]
}

function vendorXSend(
  tokens: readonly string[],
  form: Readonly<Record<string, string>>,
  state: GatewayState,
): GatewayReply {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  const answer = whole && scripted[whole]
  if (answer) return vendorXFailure(...answer)
  const isPrivate = form.pass_through === '0' && form['extra.channel_id'] !== undefined
  if (whole === 'template' && isPrivate && form['extra.template_id'] === undefined)
    return vendorXFailure(200, 10016, 'template_id is missing')
  const bad = tokens.filter((token) => ['dead', 'wrong'].includes(state.scriptOf(token)))
  if (bad.length === tokens.length)
    return vendorXFailure(200, 20301, 'There is no valid target to send to')
  const id = state.nextId()
  for (const token of tokens)
    if (!bad.includes(token))
      state.deliver({
        messageId: id,
        token,
        tag: form['extra.callback.param'] ?? '',
        receiptUrl: form['extra.callback'] ?? '',
      })
  const data = { id, day_quota: '1000', day_acked: '1', bad_regids: bad.join(',') }
  return jsonReply(200, { result: 'ok', code: 0, trace_id: id, description: 'ok', info: '', data })
}

function vendorXFailure(status: number, code: number, reason: string): GatewayReply {
  return jsonReply(status, { result: 'error', code, reason, description: reason, trace_id: 'none' })
}

function vendorXReceipt({ messageId, token, tag, receiptUrl, script }: SimulatedDelivery) {
  const type = { gone: 16, muted: 32 }[script as string] ?? 1
  const entry = { param: tag, type, targets: token, jobkey: '', timestamp: Date.now() }
  return {
    url: receiptUrl,
    contentType: 'application/x-www-form-urlencoded',
    body: new URLSearchParams({ data: JSON.stringify({ [messageId]: entry }) }).toString(),
  }
}
