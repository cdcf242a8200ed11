/** APNs: HTTP/2, signed tokens or client certificates; one device per request. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { verifyJwt } from '../jwt.js'
import type { GatewayCall, GatewayModel, GatewayReply, GatewayState, JsonReply } from '../model.js'
import { bearer, byteLength, jsonReply, member, readJson } from '../reading.js'
import type { ScriptName } from '../scripts.js'

const maxPayloadBytes = 4096
const maxCallBytes = 5120
/** Tokens whose topic the gateway remembers. */
const maxKnownTokens = 10_000
const tokenLifeSeconds = 3600
const minTokenChangeSeconds = 20 * 60
/** Push types, with the suffixes of their topics. */
const topicSuffixes: Readonly<Record<string, string>> = {
  alert: '',
  background: '',
  voip: '.voip',
  liveactivity: '.push-type.liveactivity',
}

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
      return call.clientUid !== '' && topicsOf(call.clientUid, topic).length > 0
        ? null
        : iosFailure(403, 'MissingProviderToken')
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
      const problem =
        topicProblem(call, topic) ??
        tokenProblem(call, token, state) ??
        headerProblem(call) ??
        bodyProblem(call)
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

/**
 * Topics of a client certificate; "" is a signing key. A file of an app names its own topic and that
 * of its calls, a file of VoIP services only the latter.
 */
function topicsOf(uid: string, bundleId: string): string[] {
  const calls = bundleId + topicSuffixes.voip
  if (uid === '') return Object.values(topicSuffixes).map((suffix) => bundleId + suffix)
  if (uid === calls) return [calls]
  return uid === bundleId ? [bundleId, calls] : []
}

type Problem = readonly [status: number, reason: string]

function topicProblem({ headers, clientUid }: GatewayCall, bundleId: string): Problem | null {
  const { 'apns-topic': topic, 'apns-push-type': pushType = '' } = headers
  if (topic === undefined) return [400, 'MissingTopic']
  const uid = headers.authorization === undefined ? clientUid : ''
  if (!topicsOf(uid, bundleId).includes(topic)) return [400, 'TopicDisallowed']
  const suffix = topicSuffixes[pushType]
  return suffix === undefined || topic !== bundleId + suffix ? [400, 'InvalidPushType'] : null
}

/** The app gets a token for each topic; a token belongs to the first topic that is used with it. */
function tokenProblem(
  { headers }: GatewayCall,
  token: string,
  state: GatewayState,
): Problem | null {
  const topic = headers['apns-topic'] ?? ''
  const key = `topic of ${token}`
  const own = state.memory.get(key) ?? topic
  if (state.memory.size < maxKnownTokens) state.memory.set(key, own)
  return own === topic ? null : [400, 'DeviceTokenNotForTopic']
}

function headerProblem({ headers }: GatewayCall): Problem | null {
  if (!/^(10|5)$/.test(headers['apns-priority'] ?? '10')) return [400, 'BadPriority']
  if (!/^\d+$/.test(headers['apns-expiration'] ?? '0')) return [400, 'BadExpirationDate']
  if (Buffer.byteLength(headers['apns-collapse-id'] ?? '') > 64) return [400, 'BadCollapseId']
  return null
}

function bodyProblem({ headers, body }: GatewayCall): Problem | null {
  const pushType = headers['apns-push-type']
  if (body === '') return [400, 'PayloadEmpty']
  const maxBytes = pushType === 'voip' ? maxCallBytes : maxPayloadBytes
  if (Buffer.byteLength(body) > maxBytes) return [413, 'PayloadTooLarge']
  const payload = readJson(body)
  if (payload === null) return [400, 'PayloadEmpty']
  // An app of calls reads the members next to aps, which may be absent.
  if (pushType === 'voip') return null
  const aps = member(payload, 'aps')
  if (byteLength(aps) <= 2) return [400, 'PayloadEmpty']
  if (pushType === 'liveactivity') return null
  if (pushType !== 'background') return 'alert' in aps ? null : [400, 'InvalidPushType']
  if (headers['apns-priority'] !== '5') return [400, 'BadPriority']
  return aps['content-available'] === 1 && !('alert' in aps) ? null : [400, 'InvalidPushType']
}
