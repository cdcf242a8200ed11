/** vendor_v: a signed token call; one device, or a stored message for up to 1000. */
import { createHash } from 'node:crypto'
import type { GatewayModel, GatewayReply, GatewayState, SimulatedDelivery } from '../model.js'
import {
  isCurrent,
  isTextWithin,
  type JsonMembers,
  jsonReply,
  member,
  readJson,
  textMember,
  texts,
} from '../reading.js'
import type { ScriptName } from '../scripts.js'

const appId = 10001
const appKey = 'vendor-v-key'
const secret = 'vendor-v-secret'
const authPath = '/message/auth'
const system = ['IM', 'ACCOUNT', 'TODO', 'DEVICE_REMINDER', 'ORDER', 'SUBSCRIPTION']

/** HTTP status and result. */
const scripted: Partial<Readonly<Record<ScriptName, readonly [number, number]>>> = {
  throttle: [200, 10072],
  error: [500, -1],
  auth: [200, 10000],
  denied: [200, 10000],
  config: [200, 10043],
  quota: [200, 10070],
  payload: [200, 10103],
}

/** Status of a device that does not receive the message. */
const deviceStatus: Partial<Readonly<Record<ScriptName, number>>> = { dead: 2, wrong: 1, muted: 4 }

/** Creates a gateway with one app. */
export function vendorVGateway(): GatewayModel {
  return {
    channel: 'vendor_v',
    credentials: { appId: String(appId), appKey, appSecret: secret, certificate: '' },
    authPath,
    answer(call, state): GatewayReply {
      const body = readJson(call.body) ?? {}
      if (call.path === authPath) return issueVendorVToken(body, state)
      if (!state.access.accepts(call.headers.authtoken ?? '')) return vendorVReply(200, 10000)
      if (body.appId !== appId) return vendorVReply(200, 10094)
      if (call.path === '/message/send') return sendToOne(body, state)
      if (call.path === '/message/saveListPayload') return storeForList(body, state)
      return call.path === '/message/pushToList' ? sendToList(body, state) : jsonReply(404, {})
    },
    receipts: (deliveries, { url }) =>
      deliveries
        .filter(({ tag }) => tag !== '')
        .map((delivery) => vendorVReceipt(delivery, delivery.receiptUrl || url)),
  }
}

function issueVendorVToken(body: JsonMembers, state: GatewayState): GatewayReply {
  if (body.appId !== appId) return vendorVReply(200, 10200)
  if (body.appKey !== appKey) return vendorVReply(200, 10201)
  if (!isCurrent(body.timestamp, state.now())) return vendorVReply(200, 10207)
  const expected = createHash('md5').update(`${appId}${appKey}${body.timestamp}${secret}`)
  if (body.sign !== expected.digest('hex')) return vendorVReply(200, 10202)
  return jsonReply(200, { result: 0, desc: 'ok', authToken: state.access.issue() })
}

function sendToOne(body: JsonMembers, state: GatewayState): GatewayReply {
  const token = textMember(body, 'regId')
  const problem = token === '' ? 10302 : vendorVMessageProblem(body, 60)
  if (problem !== null) return vendorVReply(200, problem)
  const ended = end(state, [token])
  if (ended) return ended
  const status = deviceStatus[state.scriptOf(token)]
  if (status !== undefined)
    return vendorVReply(200, 10302, { invalidUser: { userid: token, status } })
  const taskId = state.nextId()
  deliver({ state, message: body, token, taskId, isSingle: true })
  return vendorVReply(200, 0, { taskId })
}

function storeForList(body: JsonMembers, state: GatewayState): GatewayReply {
  const problem = vendorVMessageProblem(body, 900)
  if (problem !== null) return vendorVReply(200, problem)
  const taskId = state.nextId()
  state.memory.set(taskId, body)
  return vendorVReply(200, 0, { taskId })
}

function sendToList(body: JsonMembers, state: GatewayState): GatewayReply {
  const tokens = texts(body.regIds)
  const taskId = textMember(body, 'taskId')
  const message = state.memory.get(taskId) as JsonMembers | undefined
  if (message === undefined || !isTextWithin(body.requestId, 64)) return vendorVReply(200, 10352)
  if (tokens.length < 2 || tokens.length > 1000) return vendorVReply(200, 10353)
  const ended = end(state, tokens)
  if (ended) return ended
  if (state.wholeScript(tokens) === 'lists') return vendorVReply(200, 10252)
  const invalidUsers: object[] = []
  for (const token of tokens) {
    const status = deviceStatus[state.scriptOf(token)]
    if (status === undefined) deliver({ state, message, token, taskId, isSingle: false })
    else invalidUsers.push({ userid: token, status })
  }
  return vendorVReply(200, 0, { requestId: body.requestId, invalidUsers })
}

interface Taken {
  readonly state: GatewayState
  readonly message: JsonMembers
  readonly token: string
  readonly taskId: string
  readonly isSingle: boolean
}

/** Receipts go to the console's address with that ID, or for single sends to the address given. */
function deliver({ state, message, token, taskId, isSingle }: Taken) {
  const extra = member(message, 'extra')
  const receiptUrl = isSingle ? textMember(extra, 'callback') : ''
  const hasReceipts = textMember(extra, 'callback.id') !== '' || receiptUrl !== ''
  const isTest = message.pushMode === 1
  const tag = hasReceipts && !isTest ? textMember(extra, 'callback.param') : ''
  state.deliver({ messageId: taskId, token, tag, receiptUrl })
}

/** Returns an answer that is the same for all devices. */
function end(state: GatewayState, tokens: readonly string[]): GatewayReply | null {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  return answer ? vendorVReply(...answer) : null
}

function vendorVMessageProblem(body: JsonMembers, minTtl: number): number | null {
  const ttl = Number(body.timeToLive)
  if (!isTextWithin(body.title, 40)) return 10050
  if (!isTextWithin(body.content, 100)) return 10054
  if (!(ttl >= minTtl && ttl <= 86_400)) return 10055
  if (![1, 2, 4].includes(Number(body.skipType))) return 10056
  if (body.skipType === 4 && !isTextWithin(body.skipContent, 1024)) return 10057
  if (!isTextWithin(body.requestId, 64)) return 10058
  if (![0, 1].includes(Number(body.classification))) return 10096
  if (typeof body.category === 'string')
    if (system.includes(body.category) !== (body.classification === 1)) return 10097
  if (textMember(member(body, 'extra'), 'callback').length > 128) return 10150
  const custom = member(body, 'clientCustomMap')
  const isText = Object.values(custom).every((value) => typeof value === 'string')
  return isText && JSON.stringify(custom).length <= 1024 ? null : 10065
}

function vendorVReply(status: number, result: number, more: object = {}): GatewayReply {
  return jsonReply(status, { result, desc: `simulated ${result}`, ...more })
}

function vendorVReceipt({ messageId, token, tag, script }: SimulatedDelivery, url: string) {
  const isGone = script === 'gone'
  const entry = {
    targets: token,
    param: tag,
    ackTime: Date.now(),
    ackType: isGone ? '102' : '0',
    subAckType: isGone ? '2183' : '',
  }
  return {
    url,
    contentType: 'application/json',
    body: JSON.stringify({ [messageId]: entry }),
  }
}
