/** vendor_v: a signed token call; one device, or a stored message for up to 1000. */
import { createHash } from 'node:crypto'
import type { Delivery, GatewayModel, GatewayState, Reply } from '../model.js'
import { isCurrent, isWithin, type Json, json, member, readJson, text, texts } from '../reading.js'
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

/** Status of a device that the message does not go to. */
const deviceStatus: Partial<Readonly<Record<ScriptName, number>>> = { dead: 2, wrong: 1, muted: 4 }

/** A gateway with one app. */
export function vendorVGateway(): GatewayModel {
  return {
    channel: 'vendor_v',
    credentials: { appId: String(appId), appKey, appSecret: secret, certificate: '' },
    authPath,
    answer(call, state): Reply {
      const body = readJson(call.body) ?? {}
      if (call.path === authPath) return issue(body, state)
      if (!state.access.accepts(call.headers.authtoken ?? '')) return reply(200, 10000)
      if (body.appId !== appId) return reply(200, 10094)
      if (call.path === '/message/send') return single(body, state)
      if (call.path === '/message/saveListPayload') return store(body, state)
      return call.path === '/message/pushToList' ? list(body, state) : json(404, {})
    },
    receipts: (deliveries) => deliveries.map(receipt),
  }
}

function issue(body: Json, state: GatewayState): Reply {
  if (body.appId !== appId) return reply(200, 10200)
  if (body.appKey !== appKey) return reply(200, 10201)
  if (!isCurrent(body.timestamp, state.now())) return reply(200, 10207)
  const expected = createHash('md5').update(`${appId}${appKey}${body.timestamp}${secret}`)
  if (body.sign !== expected.digest('hex')) return reply(200, 10202)
  return json(200, { result: 0, desc: 'ok', authToken: state.access.issue() })
}

function single(body: Json, state: GatewayState): Reply {
  const token = text(body, 'regId')
  const problem = token === '' ? 10302 : messageProblem(body, 60)
  if (problem !== null) return reply(200, problem)
  const ended = end(state, [token])
  if (ended) return ended
  const status = deviceStatus[state.scriptOf(token)]
  if (status !== undefined) return reply(200, 10302, { invalidUser: { userid: token, status } })
  const taskId = state.nextId()
  deliver({ state, message: body, token, taskId })
  return reply(200, 0, { taskId })
}

function store(body: Json, state: GatewayState): Reply {
  const problem = messageProblem(body, 900)
  if (problem !== null) return reply(200, problem)
  const taskId = state.nextId()
  state.memory.set(taskId, body)
  return reply(200, 0, { taskId })
}

function list(body: Json, state: GatewayState): Reply {
  const tokens = texts(body.regIds)
  const taskId = text(body, 'taskId')
  const message = state.memory.get(taskId)
  if (message === undefined || !isWithin(body.requestId, 64)) return reply(200, 10352)
  if (tokens.length < 2 || tokens.length > 1000) return reply(200, 10353)
  const ended = end(state, tokens)
  if (ended) return ended
  const invalidUsers: object[] = []
  for (const token of tokens) {
    const status = deviceStatus[state.scriptOf(token)]
    if (status === undefined) deliver({ state, message, token, taskId })
    else invalidUsers.push({ userid: token, status })
  }
  return reply(200, 0, { requestId: body.requestId, invalidUsers })
}

function deliver(taken: { state: GatewayState; message: unknown; token: string; taskId: string }) {
  const extra = member(taken.message, 'extra')
  taken.state.deliver({
    messageId: taken.taskId,
    token: taken.token,
    taskId: text(extra, 'callback.param'),
    receiptUrl: text(extra, 'callback'),
  })
}

/** An answer that is the same for all devices. */
function end(state: GatewayState, tokens: readonly string[]): Reply | null {
  const whole = state.wholeScript(tokens)
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'auth') state.access.revokeAll()
  const answer = whole && scripted[whole]
  return answer ? reply(...answer) : null
}

function messageProblem(body: Json, minTtl: number): number | null {
  const ttl = Number(body.timeToLive)
  if (!isWithin(body.title, 40)) return 10050
  if (!isWithin(body.content, 100)) return 10054
  if (!(ttl >= minTtl && ttl <= 86_400)) return 10055
  if (![1, 2, 4].includes(Number(body.skipType))) return 10056
  if (body.skipType === 4 && !isWithin(body.skipContent, 2048)) return 10057
  if (!isWithin(body.requestId, 64)) return 10058
  if (![0, 1].includes(Number(body.classification))) return 10096
  if (typeof body.category === 'string')
    if (system.includes(body.category) !== (body.classification === 1)) return 10097
  const custom = member(body, 'clientCustomMap')
  const isText = Object.values(custom).every((value) => typeof value === 'string')
  return isText && JSON.stringify(custom).length <= 1024 ? null : 10065
}

function reply(status: number, result: number, more: object = {}): Reply {
  return json(status, { result, desc: `simulated ${result}`, ...more })
}

function receipt({ messageId, token, taskId, receiptUrl, script }: Delivery) {
  const isGone = script === 'gone'
  const entry = {
    targets: token,
    param: taskId,
    ackTime: Date.now(),
    ackType: isGone ? '102' : '0',
    subAckType: isGone ? '2183' : '',
  }
  return {
    url: receiptUrl,
    contentType: 'application/json',
    body: JSON.stringify({ [messageId]: entry }),
  }
}
