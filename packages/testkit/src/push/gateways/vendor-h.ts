/** vendor_h: OAuth or a signed token of a service account, up to 1000 devices per request. */
import { createHmac, generateKeyPairSync } from 'node:crypto'
import { verifyJwt } from '../jwt.js'
import { issueForSecret, kitProblem } from '../kit.js'
import type {
  GatewayCall,
  GatewayModel,
  GatewayReply,
  GatewayState,
  SimulatedDelivery,
} from '../model.js'
import { bearer, jsonReply, member, readJson, textMember, texts } from '../reading.js'
import type { ScriptName } from '../scripts.js'

const tokenPath = '/oauth2/v3/token'
const clientId = '100000001'
const projectId = '900000001'
const secret = 'vendor-h-secret'
const names = {
  clickAction: 'click_action',
  bigTitle: 'big_title',
  bigBody: 'big_body',
  addNum: 'add_num',
  setNum: 'set_num',
  badgeClass: 'class',
}
const codes = { field: 80100003, size: 80300008, count: 80300010, duplicate: 80100003 }

/** HTTP status and code. */
const scripted: Partial<Readonly<Record<ScriptName, readonly [number, string]>>> = {
  throttle: [503, '80100017'],
  error: [500, '81000001'],
  auth: [401, '80200003'],
  denied: [401, '80200001'],
  config: [200, '80300002'],
  payload: [200, '80100016'],
}

/** Credentials that sign the receipts. */
export const vendorHCallback = { user: 'cbuser', secret: 'cbkey' }

/** Creates a gateway with one app, which may also sign its own tokens. */
export function vendorHGateway(): GatewayModel & { readonly account: string } {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    project_id: projectId,
    key_id: 'key-h',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    sub_account: 'sub-1',
  }

  function isAuthentic(call: GatewayCall, state: GatewayState): boolean {
    const token = bearer(call)
    if (state.access.accepts(token)) return true
    const jwt = verifyJwt(token, 'PS256', publicKey)
    const { iss, aud, exp } = jwt?.claims ?? {}
    return (
      jwt?.header.kid === 'key-h' &&
      iss === 'sub-1' &&
      aud === call.origin + tokenPath &&
      Number(exp) * 1000 > state.now()
    )
  }

  return {
    channel: 'vendor_h',
    credentials: { appId: clientId, appKey: '', appSecret: secret, certificate: '' },
    account: JSON.stringify(account),
    authPath: tokenPath,
    answer(call, state): GatewayReply {
      if (call.path === tokenPath) return issueForSecret(call, state, { clientId, secret })
      const paths = [`/v1/${clientId}/messages:send`, `/v2/${projectId}/messages:send`]
      if (!paths.includes(call.path)) return vendorHReply(404, '80300002', 'no such app')
      if (!isAuthentic(call, state)) return vendorHReply(401, '80200003', 'token expired')
      const message = member(readJson(call.body), 'message')
      const problem = kitProblem(message, names, codes)
      if (problem !== null) return vendorHReply(400, String(problem), 'bad message')
      return vendorHSend(
        texts(message.token),
        textMember(member(message, 'android'), 'bi_tag'),
        state,
      )
    },
    receipts: (deliveries, { url, now }) =>
      deliveries.length === 0 ? [] : [vendorHReceipt(deliveries, url, now)],
  }
}

function vendorHSend(tokens: readonly string[], tag: string, state: GatewayState): GatewayReply {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  if (answer) return vendorHReply(...answer, 'simulated')
  const illegal = tokens.filter((token) => ['dead', 'wrong'].includes(state.scriptOf(token)))
  if (illegal.length === tokens.length)
    return vendorHReply(200, '80300007', 'all tokens are invalid')
  const messageId = state.nextId()
  for (const token of tokens)
    if (!illegal.includes(token)) state.deliver({ messageId, token, tag, receiptUrl: '' })
  if (illegal.length === 0) return vendorHReply(200, '80000000', 'Success', messageId)
  const success = tokens.length - illegal.length
  const partial = { success, failure: illegal.length, illegal_tokens: illegal }
  return vendorHReply(200, '80100000', JSON.stringify(partial), messageId)
}

function vendorHReply(status: number, code: string, msg: string, requestId = 'none'): GatewayReply {
  return jsonReply(status, { code, msg, requestId })
}

/** Signs receipts with time, nonce and user. */
function vendorHReceipt(deliveries: readonly SimulatedDelivery[], url: string, now: number) {
  const statuses = deliveries.map(({ token, tag, messageId, script }) => ({
    token,
    status: { gone: 5, muted: 6 }[script as string] ?? 0,
    timestamp: now,
    appid: clientId,
    biTag: tag,
    requestId: messageId,
  }))
  const nonce = `nonce-${now}`
  const value = createHmac('sha256', vendorHCallback.secret)
    .update(now + nonce + vendorHCallback.user)
    .digest('base64')
  return {
    url,
    contentType: 'application/json',
    body: JSON.stringify({ statuses }),
    headers: { 'x-huawei-callback-id': `timestamp=${now};nonce=${nonce};value=${value}` },
  }
}
