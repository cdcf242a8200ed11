/** FCM HTTP v1: exchanges an assertion for an access token; one device per request. */
import { verifyJwt } from '../jwt.js'
import { rsaKeysOf } from '../keys.js'
import type { GatewayCall, GatewayModel, GatewayReply, GatewayState, JsonReply } from '../model.js'
import {
  bearer,
  byteLength,
  type JsonMembers,
  jsonReply,
  member,
  readForm,
  readJson,
  textMember,
} from '../reading.js'
import type { ScriptName } from '../scripts.js'

const tokenPath = '/token'
const projectId = 'demo-project'
const email = 'push@demo-project.iam.gserviceaccount.com'
const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const maxPayloadBytes = 4096
const installationId = /^[cdef][\w-]{21}$/

/** Status, error status, and the code of its FcmError. */
const scripted: Partial<Readonly<Record<ScriptName, readonly [number, string, string]>>> = {
  dead: [404, 'NOT_FOUND', 'UNREGISTERED'],
  wrong: [403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'],
  throttle: [429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'],
  error: [503, 'UNAVAILABLE', 'UNAVAILABLE'],
  denied: [401, 'UNAUTHENTICATED', ''],
  config: [401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR'],
}

/** Creates a gateway with one project and one service account. */
export function cloudGateway(): GatewayModel {
  const { publicKey, privateKey } = rsaKeysOf('cloud_gw')
  const account = {
    type: 'service_account',
    project_id: projectId,
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    client_email: email,
    token_uri: 'https://oauth2.googleapis.com/token',
  }

  function issue(call: GatewayCall, state: GatewayState): GatewayReply {
    const form = readForm(call)
    const jwt = verifyJwt(form.assertion ?? '', 'RS256', publicKey)
    const { iss, scope: asked, aud, iat, exp } = jwt?.claims ?? {}
    const now = state.now() / 1000
    const isGenuine =
      form.grant_type === grantType &&
      jwt?.header.kid === 'key-1' &&
      iss === email &&
      asked === scope &&
      aud === call.origin + tokenPath &&
      Number(exp) > now &&
      Number(exp) - Number(iat) <= 3600
    if (!isGenuine)
      return jsonReply(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' })
    const expiresIn = state.access.lifeMs / 1000
    return jsonReply(200, {
      access_token: state.access.issue(),
      expires_in: expiresIn,
      token_type: 'Bearer',
    })
  }

  return {
    channel: 'cloud_gw',
    credentials: {
      appId: projectId,
      appKey: '',
      appSecret: '',
      certificate: JSON.stringify(account),
    },
    authPath: tokenPath,
    answer(call, state): GatewayReply {
      if (call.path === tokenPath) return issue(call, state)
      const project = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(call.path)?.[1]
      if (project === undefined) return cloudFailure([404, 'NOT_FOUND', ''])
      if (!state.access.accepts(bearer(call))) return cloudFailure([401, 'UNAUTHENTICATED', ''])
      if (project !== projectId) return cloudFailure([403, 'PERMISSION_DENIED', ''])
      const message = member(readJson(call.body), 'message')
      const invalid = cloudMessageProblem(message)
      if (invalid) return badRequest(...invalid)
      const fid = textMember(message, 'fid')
      const token = textMember(message, 'token')
      if (fid !== '' && !installationId.test(fid))
        return cloudFailure([404, 'NOT_FOUND', 'UNREGISTERED'])
      if (installationId.test(token)) return invalidToken
      return cloudSend(fid || token, state, readJson(call.body)?.validate_only === true)
    },
    receipts: () => [],
  }
}

function cloudSend(token: string, state: GatewayState, isTrial: boolean): GatewayReply {
  const whole = state.wholeScript([token])
  if (whole === 'slow') return 'silence'
  if (whole === 'cut') return 'cut'
  if (whole === 'payload') return badRequest('message.notification', 'Invalid value')
  if (whole === 'auth') {
    state.access.revokeAll()
    return cloudFailure([401, 'UNAUTHENTICATED', ''])
  }
  const answer = scripted[whole ?? state.scriptOf(token)]
  if (answer) return cloudFailure(answer, state.retryAfterSeconds)
  if (/\s/.test(token)) return invalidToken
  const messageId = `projects/${projectId}/messages/${state.nextId()}`
  if (!isTrial) state.deliver({ messageId, token, tag: '', receiptUrl: '' })
  return jsonReply(200, { name: messageId })
}

const fcmErrorType = 'type.googleapis.com/google.firebase.fcm.v1.FcmError'

function cloudFailure(
  [code, status, errorCode]: readonly [number, string, string],
  retryAfterSeconds = 1,
): JsonReply {
  const details = errorCode === '' ? [] : [{ '@type': fcmErrorType, errorCode }]
  const headers = code === 429 ? { 'retry-after': String(retryAfterSeconds) } : undefined
  return jsonReply(
    code,
    { error: { code, status, message: `simulated ${status}`, details } },
    headers,
  )
}

const invalidToken = jsonReply(400, {
  error: {
    code: 400,
    status: 'INVALID_ARGUMENT',
    message: 'The registration token is not a valid FCM registration token',
    details: [{ '@type': fcmErrorType, errorCode: 'INVALID_ARGUMENT' }],
  },
})

function badRequest(field: string, description: string): JsonReply {
  const details = [
    {
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field, description }],
    },
  ]
  const message = `Invalid value at '${field}'`
  return jsonReply(400, { error: { code: 400, status: 'INVALID_ARGUMENT', message, details } })
}

/** Returns the invalid field and the reason. */
function cloudMessageProblem(message: JsonMembers): [string, string] | null {
  const { token, fid, ...rest } = message
  const addresses = [token, fid].filter((address) => typeof address === 'string' && address !== '')
  if (addresses.length !== 1) return ['message', 'not exactly one of fid and token']
  for (const [key, value] of Object.entries(member(message, 'data'))) {
    if (typeof value !== 'string') return [`message.data[${key}]`, 'not a string']
    if (/^(from$|message_type$|google|gcm)/.test(key)) return [`message.data[${key}]`, 'reserved']
  }
  const android = member(message, 'android')
  if (!isOptionalText(android.collapse_key)) return ['message.android.collapse_key', 'not a string']
  const { icon, color } = member(android, 'notification')
  if (!isOptionalText(icon)) return ['message.android.notification.icon', 'not a string']
  if (!isOptionalText(color) || (color !== undefined && !/^#[0-9a-f]{6}$/i.test(color)))
    return ['message.android.notification.color', 'not of the form #rrggbb']
  const ttl = textMember(android, 'ttl')
  if (!/^\d+s$/.test(ttl) || Number.parseInt(ttl, 10) > 2_419_200)
    return ['message.android.ttl', 'not a duration up to four weeks']
  if (byteLength(rest) > maxPayloadBytes) return ['message', 'too big']
  return null
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}
