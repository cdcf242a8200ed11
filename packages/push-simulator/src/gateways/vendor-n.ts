/** vendor_n: OAuth, up to 1000 devices per request, the message of vendor_h in another spelling. */
import { issueForSecret, kitProblem } from '../kit.js'
import type { GatewayModel, GatewayReply, GatewayState } from '../model.js'
import { bearer, isCurrent, jsonReply, member, readJson, textMember, texts } from '../reading.js'
import type { ScriptName } from '../scripts.js'

const tokenPath = '/auth/token'
const appId = '700000001'
const clientId = 'client-n'
const secret = 'vendor-n-secret'
const names = {
  clickAction: 'clickAction',
  bigTitle: 'bigTitle',
  bigBody: 'bigBody',
  look: [],
  importances: ['LOW', 'NORMAL'],
  addNum: 'addNum',
  setNum: 'setNum',
  badgeClass: 'badgeClass',
}
const codes = { field: 80100003, size: 80300008, count: 80300010, duplicate: 80300006 }

/** HTTP status and code. */
const scripted: Partial<Readonly<Record<ScriptName, readonly [number, number]>>> = {
  throttle: [503, 503],
  error: [500, 500],
  auth: [403, 403],
  denied: [403, 403],
  config: [200, 80200022],
  quota: [200, 80200047],
  payload: [200, 80200056],
}

/** Creates a gateway with one app. */
export function vendorNGateway(): GatewayModel {
  return {
    channel: 'vendor_n',
    credentials: { appId, appKey: clientId, appSecret: secret, certificate: '' },
    authPath: tokenPath,
    answer(call, state): GatewayReply {
      if (call.path === tokenPath) return issueForSecret(call, state, { clientId, secret })
      if (call.path !== `/api/v1/${appId}/sendMessage`) return vendorNReply(404, 404, 'no such app')
      if (!state.access.accepts(bearer(call))) return vendorNReply(403, 403, 'token expired')
      if (!isCurrent(call.headers.timestamp, state.now()))
        return vendorNReply(200, 10207, 'timestamp out of range')
      const message = readJson(call.body) ?? {}
      const problem = kitProblem(message, names, codes)
      if (problem !== null) return vendorNReply(200, problem, 'bad message')
      const shown = member(member(message, 'android'), 'notification')
      if (shown.importance === 'LOW' && 'image' in shown)
        return vendorNReply(200, 80200050, 'no image with importance LOW')
      return vendorNSend(
        texts(message.token),
        textMember(member(message, 'android'), 'biTag'),
        state,
      )
    },
    receipts: (deliveries, { url, now }) => {
      if (deliveries.length === 0) return []
      const statuses = deliveries.map(({ token, tag, messageId, script }) => ({
        token,
        biTag: tag,
        status: { gone: 40000004, muted: 40000005 }[script as string] ?? 40000002,
        timestamp: now,
        appid: appId,
        requestId: messageId,
      }))
      return [{ url, contentType: 'application/json', body: JSON.stringify({ statuses }) }]
    },
  }
}

function vendorNSend(tokens: readonly string[], tag: string, state: GatewayState): GatewayReply {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  if (answer) return vendorNReply(...answer, 'simulated')
  const expireTokens = tokens.filter((token) => state.scriptOf(token) === 'dead')
  const failTokens = tokens.filter((token) => state.scriptOf(token) === 'wrong')
  const refused = [...expireTokens, ...failTokens]
  if (refused.length === tokens.length) return vendorNReply(200, 80300007, 'all tokens are invalid')
  const requestId = state.nextId()
  for (const token of tokens)
    if (!refused.includes(token))
      state.deliver({ messageId: requestId, token, tag, receiptUrl: '' })
  const data = { sendResult: true, requestId, failTokens, expireTokens }
  return vendorNReply(200, failTokens.length > 0 ? 80100000 : 200, 'success', data)
}

function vendorNReply(
  status: number,
  code: number,
  message: string,
  data: object = {},
): GatewayReply {
  return jsonReply(status, { code, message, data })
}
