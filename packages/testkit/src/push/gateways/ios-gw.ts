/** APNs: HTTP/2, signed tokens or client certificates; one device per request. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { verifyJwt } from '../jwt.js'
import type { GatewayCall, GatewayModel, GatewayReply, GatewayState, JsonReply } from '../model.js'
import { bearer, byteLength, jsonReply, member, readJson } from '../reading.js'
import type { ScriptName } from '../scripts.js'

const maxPayloadBytes = 4096
const tokenLifeSeconds = 3600
const minTokenChangeSeconds = 20 * 60
const pushTypes = ['alert', 'background', 'voip']

const scripted: Partial<Readonly<Record<ScriptName, readonly [number, string]>>> = {
  dead: [410, 'Unregistered'],
  wrong: [400, 'BadDeviceToken'],
  throttle: [429, 'TooManyRequests'],
  error: [503, 'ServiceUnavailable'],
  auth: [403, 'ExpiredProviderToken'],
  denied: [403, 'InvalidProviderToken'],
  config: [400, 'TopicDisallowed'],
  payload: [413, 'PayloadTooLarge'],
}

/** Creates a gateway that accepts one key of one team, and client certificates of its authority. */
export function iosGateway(): GatewayModel {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const credentials = {
    appId: 'com.example.app',
    appKey: 'KEY1234567',
    appSecret: 'TEAM123456',
    certificate: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
  const { appId: topic, appKey: keyId, appSecret: teamId } = credentials

  function authenticate(call: GatewayCall, state: GatewayState): JsonReply | null {
    const token = bearer(call)
    if (token === '')
      return call.clientUid === topic ? null : iosFailure(403, 'MissingProviderToken')
    const jwt = verifyJwt(token, 'ES256', publicKey)
    if (jwt === null || jwt.header.kid !== keyId || jwt.claims.iss !== teamId)
      return iosFailure(403, 'InvalidProviderToken')
    const issuedAt = Number(jwt.claims.iat)
    const age = state.now() / 1000 - issuedAt
    if (!(age >= -60 && age < tokenLifeSeconds)) return iosFailure(403, 'ExpiredProviderToken')
    return changesTooOften(issuedAt, state) ? iosFailure(429, 'TooManyProviderTokenUpdates') : null
  }

  return {
    channel: 'ios_gw',
    isHttp2: true,
    credentials,
    answer(call, state): GatewayReply {
      if (call.method !== 'POST') return iosFailure(405, 'MethodNotAllowed')
      const token = /^\/3\/device\/([^/]+)$/.exec(call.path)?.[1]
      if (token === undefined) return iosFailure(404, 'BadPath')
      const denied = authenticate(call, state)
      if (denied) return denied
      if (!/^([0-9a-f]{2}){4,}$/.test(token)) return iosFailure(400, 'BadDeviceToken')
      const problem = headerProblem(call, topic) ?? bodyProblem(call)
      if (problem) return iosFailure(...problem)
      const script = state.wholeScript([token]) ?? state.scriptOf(token)
      if (script === 'slow') return 'silence'
      if (script === 'cut' || script === 'goaway') return script
      const answer = scripted[script]
      const more = script === 'dead' ? { timestamp: state.now() } : {}
      if (answer) return iosFailure(...answer, more, state.retryAfterSeconds)
      const messageId = call.headers['apns-id'] ?? randomUUID()
      state.deliver({ messageId, token, tag: '', receiptUrl: '' })
      return jsonReply(200, null, { 'apns-id': messageId })
    },
    receipts: () => [],
  }
}

function iosFailure(
  status: number,
  reason: string,
  more: object = {},
  retryAfterSeconds = 1,
): JsonReply {
  const retry = status === 429 ? { 'retry-after': String(retryAfterSeconds) } : undefined
  return jsonReply(status, { reason, ...more }, retry)
}

/** Tests whether tokens of a key are issued less than 20 minutes apart, by their times of issue. */
function changesTooOften(issuedAt: number, { memory }: GatewayState): boolean {
  const known = memory.get('tokens')
  const tokens = known instanceof Set ? (known as Set<number>) : new Set<number>()
  memory.set('tokens', tokens)
  const isTooSoon = [...tokens].some(
    (other) => other !== issuedAt && Math.abs(issuedAt - other) < minTokenChangeSeconds,
  )
  if (!isTooSoon) tokens.add(issuedAt)
  return isTooSoon
}

function headerProblem({ headers }: GatewayCall, topic: string): [number, string] | null {
  if (headers['apns-topic'] === undefined) return [400, 'MissingTopic']
  if (headers['apns-topic'] !== topic) return [400, 'TopicDisallowed']
  if (!pushTypes.includes(headers['apns-push-type'] ?? '')) return [400, 'InvalidPushType']
  if (!/^(10|5)$/.test(headers['apns-priority'] ?? '10')) return [400, 'BadPriority']
  if (!/^\d+$/.test(headers['apns-expiration'] ?? '0')) return [400, 'BadExpirationDate']
  if (Buffer.byteLength(headers['apns-collapse-id'] ?? '') > 64) return [400, 'BadCollapseId']
  return null
}

function bodyProblem({ headers, body }: GatewayCall): [number, string] | null {
  if (body === '') return [400, 'PayloadEmpty']
  if (Buffer.byteLength(body) > maxPayloadBytes) return [413, 'PayloadTooLarge']
  const payload = readJson(body)
  if (payload === null || byteLength(member(payload, 'aps')) <= 2) return [400, 'PayloadEmpty']
  const aps = member(payload, 'aps')
  const isBackground = headers['apns-push-type'] === 'background'
  if (!isBackground) return 'alert' in aps ? null : [400, 'InvalidPushType']
  if (headers['apns-priority'] !== '5') return [400, 'BadPriority']
  return aps['content-available'] === 1 && !('alert' in aps) ? null : [400, 'InvalidPushType']
}
