/** vendor_f: every request is signed; forms with a JSON field, up to 100 devices per request. */
import { createHash } from 'node:crypto'
import type { GatewayModel, GatewayReply, GatewayState, SimulatedDelivery } from '../model.js'
import {
  isTextWithin,
  type JsonMembers,
  jsonReply,
  member,
  readForm,
  readJson,
  textMember,
} from '../reading.js'
import type { ScriptName } from '../scripts.js'

const credentials = {
  appId: '110001',
  appKey: 'vendor-f-key',
  appSecret: 'vendor-f-secret',
  certificate: '',
}
const basePath = '/garcia/api/server/push'
/** Access token in the gateway's receipts. */
export const vendorFAccessToken = 'vendor-f-receipts'

const scripted: Partial<Readonly<Record<ScriptName, string>>> = {
  throttle: '110010',
  error: '1003',
  denied: '1006',
  config: '110009',
  quota: '110019',
  payload: '110004',
}

/** Codes of single devices. */
const deviceCodes: Partial<Readonly<Record<ScriptName, string>>> = {
  dead: '110002',
  wrong: '110003',
  muted: '110010',
}

/** Creates a gateway with one app. */
export function vendorFGateway(): GatewayModel {
  return {
    channel: 'vendor_f',
    credentials,
    answer(call, state): GatewayReply {
      const kind = new RegExp(`^${basePath}/(un)?varnished/pushByPushId$`).exec(call.path)
      if (kind === null) return jsonReply(404, { code: '404', message: 'no such api', value: '' })
      const form = readForm(call)
      if (!isSigned(form)) return vendorFReply('1006', 'signature is wrong')
      if (form.appId !== credentials.appId) return vendorFReply('110000', 'no such app')
      const tokens = (form.pushIds ?? '').split(',').filter(Boolean)
      const message = readJson(form.messageJson ?? '') ?? {}
      if (tokens.length < 1 || tokens.length > 100) return vendorFReply('1005', 'pushIds')
      const problem = kind[1] ? passThroughProblem(message) : displayProblem(message)
      if (problem !== null) return vendorFReply('1005', problem)
      // The vendor sends receipts of notifications only.
      return vendorFSend(tokens, kind[1] ? {} : member(message, 'extra'), state)
    },
    receipts: (deliveries) => deliveries.map(vendorFReceipt),
  }
}

/** Checks the signature: all fields but the signature, by name, followed by the secret. */
function isSigned({ sign, ...fields }: Readonly<Record<string, string>>): boolean {
  const signed = Object.entries(fields)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
  const expected = createHash('md5').update(signed.join('') + credentials.appSecret)
  return sign === expected.digest('hex')
}

function displayProblem(message: JsonMembers): string | null {
  const bar = member(message, 'noticeBarInfo')
  const click = member(message, 'clickTypeInfo')
  if (!isTextWithin(bar.title, 32)) return 'title'
  if (!isTextWithin(bar.content, 100)) return 'content'
  if (click.clickType === 1 && !isTextWithin(click.activity, 1000)) return 'activity'
  if (click.clickType === 2 && !isTextWithin(click.url, 1000)) return 'url'
  if (!/^[\w-]{0,8}$/.test(textMember(member(message, 'advanceInfo'), 'notifyKey')))
    return 'notifyKey'
  const extra = member(message, 'extra')
  if (Buffer.byteLength(textMember(extra, 'callback')) > 128) return 'callback'
  if (Buffer.byteLength(textMember(extra, 'callback.param')) > 64) return 'callback.param'
  return timeProblem(message)
}

function passThroughProblem(message: JsonMembers): string | null {
  if (!isTextWithin(message.title, 32)) return 'title'
  if (Buffer.byteLength(textMember(message, 'content')) > 2000) return 'content'
  return timeProblem(message)
}

function timeProblem(message: JsonMembers): string | null {
  const hours = Number(member(message, 'pushTimeInfo').validTime)
  return hours >= 1 && hours <= 72 ? null : 'validTime'
}

function vendorFSend(
  tokens: readonly string[],
  extra: JsonMembers,
  state: GatewayState,
): GatewayReply {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  const answer = whole && scripted[whole]
  if (answer) return vendorFReply(answer, 'simulated')
  const msgId = state.nextId()
  const value: Record<string, string[]> = {}
  for (const token of tokens) {
    const code = deviceCodes[state.scriptOf(token)]
    if (code !== undefined) value[code] = [...(value[code] ?? []), token]
    else
      state.deliver({
        messageId: msgId,
        token,
        tag: textMember(extra, 'callback.param'),
        receiptUrl: textMember(extra, 'callback'),
      })
  }
  return jsonReply(200, { code: '200', message: '', value, msgId, redirect: '' })
}

function vendorFReply(code: string, message: string): GatewayReply {
  return jsonReply(200, { code, message, value: '', msgId: '', redirect: '' })
}

function vendorFReceipt({ messageId, token, tag, receiptUrl }: SimulatedDelivery) {
  const delivered = 1
  const cb = { [`${messageId}-${delivered}`]: { param: tag, type: delivered, targets: [token] } }
  const form = { cb: JSON.stringify(cb), access_token: vendorFAccessToken }
  return {
    url: receiptUrl,
    contentType: 'application/x-www-form-urlencoded',
    body: new URLSearchParams(form).toString(),
  }
}
