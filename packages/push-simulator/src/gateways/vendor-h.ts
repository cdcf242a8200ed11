/**
 * vendor_h: OAuth or a signed token of a service account, up to 1000 devices per request, in three
 * versions.
 */
import { createHmac } from 'node:crypto'
import { verifyJwt } from '../jwt.js'
import { rsaKeysOf } from '../keys.js'
import { issueForSecret, type KitNames, kitProblem } from '../kit.js'
import type {
  GatewayCall,
  GatewayModel,
  GatewayReply,
  GatewayState,
  SimulatedDelivery,
} from '../model.js'
import { bearer, jsonReply, member, readJson, textMember, texts } from '../reading.js'
import type { ScriptName } from '../scripts.js'
import { messageProblemV3 } from './vendor-h-v3.js'

const tokenPath = '/oauth2/v3/token'
const clientId = '100000001'
const projectId = '900000001'
const secret = 'vendor-h-secret'
const names: KitNames = {
  clickAction: 'click_action',
  bigTitle: 'big_title',
  bigBody: 'big_body',
  look: ['icon', 'color'],
  importances: ['LOW', 'NORMAL', 'HIGH'],
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
  const { publicKey, privateKey } = rsaKeysOf('vendor_h')
  const account = {
    project_id: projectId,
    key_id: 'key-h',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    sub_account: 'sub-1',
  }

  /** Version 3 takes only tokens that the account signed. */
  function isAuthentic(call: GatewayCall, state: GatewayState, isVersion3: boolean): boolean {
    const token = bearer(call)
    if (!isVersion3 && state.access.accepts(token)) return true
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
      const isVersion3 = call.path === `/v3/${projectId}/messages:send`
      const paths = [`/v1/${clientId}/messages:send`, `/v2/${projectId}/messages:send`]
      if (!isVersion3 && !paths.includes(call.path))
        return vendorHReply(404, '80300002', 'no such app')
      if (!isAuthentic(call, state, isVersion3))
        return vendorHReply(401, isVersion3 ? '80200001' : '80200003', 'not authentic')
      const body = readJson(call.body) ?? {}
      if (isVersion3) {
        const problem = messageProblemV3(body, call.headers['push-type'])
        if (problem !== null) return vendorHReply(400, problem, 'bad message')
        const tokens = texts(member(body, 'target').token)
        return vendorHSend(
          tokens,
          textMember(member(body, 'pushOptions'), 'biTag'),
          state,
          byReason,
        )
      }
      const message = member(body, 'message')
      const problem = kitProblem(message, names, codes)
      if (problem !== null) return vendorHReply(400, String(problem), 'bad message')
      const tag = textMember(member(message, 'android'), 'bi_tag')
      return vendorHSend(texts(message.token), tag, state, inOneList)
    },
    receipts: (deliveries, { url, now }) =>
      deliveries.length === 0 ? [] : [vendorHReceipt(deliveries, url, now)],
  }
}

/** Members of the answer about illegal tokens. */
type IllegalMembers = (tokens: readonly string[], state: GatewayState) => object

/** Versions 1 and 2; when all tokens are illegal, the answer names none. */
const inOneList: IllegalMembers = (tokens) => ({ illegal_tokens: tokens })

/** Version 3. */
const byReason: IllegalMembers = (tokens, state) => {
  const ended = tokens.filter((token) => state.scriptOf(token) === 'dead')
  const foreign = tokens.filter((token) => state.scriptOf(token) === 'wrong')
  return {
    illegalTokens: {
      ...(ended.length > 0 && { tokenFormatError: ended }),
      ...(foreign.length > 0 && { noRight: foreign }),
    },
  }
}

function vendorHSend(
  tokens: readonly string[],
  tag: string,
  state: GatewayState,
  illegalMembers: IllegalMembers,
): GatewayReply {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  if (answer) return vendorHReply(...answer, 'simulated')
  const illegal = tokens.filter(
    (token) =>
      ['dead', 'wrong'].includes(state.scriptOf(token)) ||
      // Versions 1 and 2 know no device with HarmonyOS 5.
      (illegalMembers === inOneList && token.startsWith('MA')),
  )
  const members = illegalMembers(illegal, state)
  if (illegal.length === tokens.length) {
    const words = { failure: illegal.length, ...members }
    return illegalMembers === byReason
      ? vendorHReply(400, '80300007', JSON.stringify(words))
      : vendorHReply(200, '80300007', 'all tokens are invalid')
  }
  const messageId = state.nextId()
  for (const token of tokens)
    if (!illegal.includes(token)) state.deliver({ messageId, token, tag, receiptUrl: '' })
  if (illegal.length === 0) return vendorHReply(200, '80000000', 'Success', messageId)
  const success = tokens.length - illegal.length
  const partial = { success, failure: illegal.length, ...members }
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
