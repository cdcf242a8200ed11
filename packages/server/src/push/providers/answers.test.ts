/** What the answers of the gateways come to, on the words of their documents. */
import { describe, expect, it } from 'vitest'
import type { MessageClass, PushOutcome } from '../outcomes.js'
import { cloudOutcome } from './cloud-gw/answers.js'
import { iosOutcome } from './ios-gw/answers.js'
import type { GatewayAnswer } from './runtime/transport.js'
import { vendorFOutcomes } from './vendor-f/answers.js'
import { vendorHOutcomes } from './vendor-h/answers.js'
import { vendorNOutcomes } from './vendor-n/answers.js'
import { vendorOOutcomes } from './vendor-o/answers.js'
import { vendorVOutcomes } from './vendor-v/answers.js'
import { vendorXOutcomes } from './vendor-x/answers.js'

const receivedAt = Date.UTC(2026, 0, 2, 3)
const targets = ['a', 'b', 'c'].map((token) => ({ token, badgeCount: null }))
const ofVersion2 = { targets, credentials: { apiVersion: 2 } } as const
const accepted = (messageId: string) => ({ kind: 'accepted', messageId })

function answer(body: unknown, status = 200, headers = {}): GatewayAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, headers, body: text, receivedAt }
}

/** Kinds in short: those of suspect tokens get a question mark. */
function kinds(outcomes: readonly PushOutcome[]): string[] {
  return outcomes.map((outcome) =>
    outcome.kind === 'invalid_token' && outcome.isSuspect ? 'invalid_token?' : outcome.kind,
  )
}

/** The kind of the first outcome, for each code. */
function kindsOf(codes: readonly unknown[], read: (code: never) => readonly PushOutcome[]) {
  return codes.map((code) => kinds(read(code as never))[0])
}

describe('ios_gw', () => {
  it('accepts with the ID of the header', () => {
    expect(iosOutcome(answer('', 200, { 'apns-id': 'id-1' }))).toEqual(accepted('id-1'))
  })

  it('knows when a device was unregistered', () => {
    expect(
      iosOutcome(answer({ reason: 'Unregistered', timestamp: 1_700_000_000_000 }, 410)),
    ).toEqual(
      expect.objectContaining({
        kind: 'invalid_token',
        since: 1_700_000_000_000,
        isSuspect: false,
      }),
    )
  })

  it('goes by the reason, and by the status without one', () => {
    const reasons = [
      'BadDeviceToken',
      'DeviceTokenNotForTopic',
      'ExpiredProviderToken',
      'IdleTimeout',
    ]
    expect(reasons.map((reason) => kinds([iosOutcome(answer({ reason }, 400))])[0])).toEqual([
      'invalid_token?',
      'invalid_token?',
      'auth_expired',
      'server_error',
    ])
    for (const reason of ['BadPath', 'BadTopic', 'MissingTopic', 'TopicDisallowed'])
      expect(iosOutcome(answer({ reason }, 400))).toMatchObject({
        kind: 'invalid_token',
        isSuspect: true,
        isOfRequest: true,
      })
    expect(iosOutcome(answer('<html>', 503)).kind).toBe('throttled')
    expect(iosOutcome(answer({ reason: 'TooManyRequests' }, 429, { 'retry-after': '3' }))).toEqual(
      expect.objectContaining({ kind: 'throttled', retryAfterMs: 3000 }),
    )
  })
})

describe('cloud_gw', () => {
  const error = (status: number, name: string, message: string, details: unknown[] = []) =>
    answer({ error: { code: status, status: name, message, details } }, status)
  const fcm = (errorCode: string) => ({
    '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
    errorCode,
  })
  const violations = (...fields: string[]) => ({
    '@type': 'type.googleapis.com/google.rpc.BadRequest',
    fieldViolations: fields.map((field) => ({ field })),
  })

  it('tells an invalid token from an invalid message', () => {
    const token = 'The registration token is not a valid FCM registration token'
    const aboutToken = [fcm('INVALID_ARGUMENT')]
    const aboutData = [fcm('INVALID_ARGUMENT'), violations('message.data[token]')]
    const read = [
      error(400, 'INVALID_ARGUMENT', token, aboutToken),
      error(400, 'INVALID_ARGUMENT', token, [...aboutToken, violations('message.token')]),
      error(400, 'INVALID_ARGUMENT', 'Invalid value at message.data', [violations()]),
      error(400, 'INVALID_ARGUMENT', token, [violations()]),
      error(400, 'INVALID_ARGUMENT', 'Invalid value at message.data[token]', aboutData),
    ].map(cloudOutcome)
    // Wrong messages may be answered as wrong tokens, so these need a success beside them.
    expect(kinds(read)).toEqual([
      'invalid_token?',
      'invalid_token?',
      'payload',
      'payload',
      'payload',
    ])
  })

  it('goes by the detail before the status', () => {
    const read = [
      error(404, 'NOT_FOUND', 'gone', [fcm('UNREGISTERED')]),
      error(404, 'NOT_FOUND', 'gone', [fcm('UNREGISTERED_FID')]),
      error(404, 'NOT_FOUND', 'Requested entity was not found.'),
      error(403, 'PERMISSION_DENIED', 'other project', [fcm('SENDER_ID_MISMATCH')]),
      error(401, 'UNAUTHENTICATED', 'old token'),
      error(403, 'PERMISSION_DENIED', 'The caller does not have permission'),
      error(401, 'UNAUTHENTICATED', 'no key', [fcm('THIRD_PARTY_AUTH_ERROR')]),
      error(429, 'RESOURCE_EXHAUSTED', 'slow down'),
      error(503, 'UNAVAILABLE', 'later'),
    ].map(cloudOutcome)
    expect(kinds(read)).toEqual([
      'invalid_token',
      'invalid_token',
      'invalid_token?',
      'invalid_token?',
      'auth_expired',
      'config',
      'config',
      'throttled',
      'server_error',
    ])
  })

  it('a missing set-up for devices of Apple does not stop other devices', () => {
    const read = ['THIRD_PARTY_AUTH_ERROR', 'APNS_AUTH_ERROR'].map((code) =>
      cloudOutcome(error(401, 'UNAUTHENTICATED', 'no key', [fcm(code)])),
    )
    for (const outcome of read) expect(outcome).toMatchObject({ kind: 'config', isOfPush: true })
  })
})

describe('vendor_n', () => {
  const read = (body: unknown, status = 200) => vendorNOutcomes(answer(body, status), { targets })

  it('prunes expired tokens always, failed ones when the answer is partial', () => {
    const data = { requestId: 'r', expireTokens: ['a'], failTokens: ['b'] }
    expect(kinds(read({ code: 200, data }))).toEqual(['invalid_token', 'accepted', 'accepted'])
    expect(kinds(read({ code: 80100000, data }))).toEqual([
      'invalid_token',
      'invalid_token',
      'accepted',
    ])
  })

  it('knows its codes, and takes no page of a proxy for success', () => {
    const codes = [80300007, 403, 80200047, 10207, 80200050, 404]
    expect(kindsOf(codes, (code) => read({ code }))).toEqual([
      'invalid_token?',
      'auth_expired',
      'quota',
      'config',
      'payload',
      'config',
    ])
    expect(kinds(read('', 403))[0]).toBe('auth_expired')
    expect(kinds(read('<html>', 200))[0]).toBe('server_error')
  })
})

describe('vendor_x', () => {
  const read = (body: unknown) =>
    vendorXOutcomes(answer(body), { targets, messageClass: 'private' })

  it('takes the bad ones from a text with commas', () => {
    const outcomes = read({ result: 'ok', code: 0, data: { id: 'm', bad_regids: 'a,c' } })
    expect(kinds(outcomes)).toEqual(['invalid_token', 'accepted', 'invalid_token'])
    expect(outcomes[1]).toEqual(accepted('m'))
    expect(kinds(read({ code: 0, data: { id: 'm' } }))).toEqual([
      'accepted',
      'accepted',
      'accepted',
    ])
  })

  it('tells no valid target from a failed send by the words', () => {
    expect(kinds(read({ code: 20301, reason: 'There is no valid target' }))[0]).toBe(
      'invalid_token?',
    )
    expect(kinds(read({ code: 20301, reason: 'send failed' }))[0]).toBe('server_error')
  })

  it('knows its codes', () => {
    expect(kindsOf([21301, 200002, 200001, -1, 10017, 27001], (code) => read({ code }))).toEqual([
      'config',
      'throttled',
      'quota',
      'server_error',
      'payload',
      'config',
    ])
  })
})

describe('refusals of the set-up', () => {
  const outcomesOf: Readonly<Record<string, (code: string | number) => readonly PushOutcome[]>> = {
    ios_gw: (reason) => [iosOutcome(answer({ reason }, 403))],
    cloud_gw: (status) => [cloudOutcome(answer({ error: { status } }, 403))],
    vendor_h: (code) => vendorHOutcomes(answer({ code }), ofVersion2),
    vendor_n: (code) => vendorNOutcomes(answer({ code }), { targets }),
    vendor_x: (code) => vendorXOutcomes(answer({ code }), { targets, messageClass: 'private' }),
    vendor_f: (code) => vendorFOutcomes(answer({ code }), { targets }),
    vendor_v: (result) => vendorVOutcomes(answer({ result }), { targets }),
    vendor_o: (code) => vendorOOutcomes(answer({ code }), { targets }),
  }

  it.each<[string, readonly (string | number)[], readonly (string | number)[]]>([
    ['ios_gw', ['InvalidProviderToken', 'Forbidden', 'BadCertificate'], ['MethodNotAllowed']],
    ['cloud_gw', ['PERMISSION_DENIED'], ['THIRD_PARTY_AUTH_ERROR']],
    ['vendor_h', [80300037], [80300002, 80300011, 80300013]],
    ['vendor_n', [], [404, 10205, 80200020]],
    ['vendor_x', [21301, 22006, 10031], [10036]],
    ['vendor_f', [1006, 110000, 110009], [300, 110031]],
    ['vendor_v', [10043, 10094, 10203], [10051, 10082]],
    ['vendor_o', [14, 16, 28], [27, 59]],
  ])(
    '%s: tells those of the credentials or the account from others',
    (channel, general, others) => {
      const isOfCredentials = (code: string | number) => {
        const [outcome] = outcomesOf[channel]?.(code) ?? []
        expect(outcome?.kind, String(code)).toBe('config')
        return outcome?.kind === 'config' && outcome.isOfCredentials === true
      }
      expect(general.map(isOfCredentials)).toEqual(general.map(() => true))
      expect(others.map(isOfCredentials)).toEqual(others.map(() => false))
    },
  )

  it.each(['cloud_gw', 'vendor_h', 'vendor_x', 'vendor_f', 'vendor_v', 'vendor_o'])(
    '%s: HTTP 403 without a code is about the credentials',
    (channel) => {
      const withoutCode = {
        cloud_gw: () => [cloudOutcome(answer('', 403))],
        vendor_h: () => vendorHOutcomes(answer('', 403), ofVersion2),
        vendor_x: () => vendorXOutcomes(answer('', 403), { targets, messageClass: 'private' }),
        vendor_f: () => vendorFOutcomes(answer('', 403), { targets }),
        vendor_v: () => vendorVOutcomes(answer('', 403), { targets }),
        vendor_o: () => vendorOOutcomes(answer('', 403), { targets }),
      }[channel]
      expect(withoutCode?.()[0]).toMatchObject({ kind: 'config', isOfCredentials: true })
    },
  )
})

describe('quotas', () => {
  const scopesOf = (outcomes: readonly PushOutcome[]) =>
    outcomes.map((outcome) => (outcome.kind === 'quota' ? outcome.scope : outcome.kind))
  const read = <Code>(codes: readonly Code[], outcomesOf: (code: Code) => readonly PushOutcome[]) =>
    codes.map((code) => scopesOf(outcomesOf(code))[0])

  it('of vendor_v are of a class of messages', () => {
    const outcomesOf = (result: number) => vendorVOutcomes(answer({ result }), { targets })
    expect(read([10070, 10073, 10252], outcomesOf)).toEqual(['operational', 'system', 'list'])
  })

  it('of vendor_f are of all messages, of commands, or of a device', () => {
    const outcomesOf = (code: string) => vendorFOutcomes(answer({ code }), { targets })
    expect(read(['110019', '110051', '110053'], outcomesOf)).toEqual([
      'certificate',
      'certificate',
      'command',
    ])
    const ofDevice = answer({ code: '200', value: { 110011: ['b'] }, msgId: 'm' })
    expect(scopesOf(vendorFOutcomes(ofDevice, { targets }))).toEqual([
      'accepted',
      'device',
      'accepted',
    ])
  })

  it('of vendor_x are of the class of the message', () => {
    const outcomesOf = (messageClass: MessageClass) =>
      vendorXOutcomes(answer({ code: 200001 }), { targets, messageClass })
    expect(read(['public', 'private'], outcomesOf)).toEqual(['public', 'private'])
  })
})

describe('vendor_f', () => {
  const read = (body: unknown) => vendorFOutcomes(answer(body), { targets })

  it('reads codes of devices otherwise than codes of requests', () => {
    const value = { 110002: ['a'], 110010: ['b'] }
    expect(kinds(read({ code: '200', value, msgId: 'm' }))).toEqual([
      'invalid_token',
      'suppressed',
      'accepted',
    ])
    expect(kinds(read({ code: '110010', value: '' }))[0]).toBe('throttled')
    const refused = read({ code: '200', value: { 201: ['a'] }, msgId: 'm' })
    expect(refused[0]).toMatchObject({ kind: 'config', isOfPush: true })
    expect(kinds(read({ code: '200', value: '', msgId: 'm' }))[0]).toBe('accepted')
  })

  it('a device above the rate of the app is tried again later, and so is a request with an unknown fault', () => {
    const [slow, , sent] = read({ code: '200', value: { 518: ['a'] }, msgId: 'm' })
    expect(slow).toEqual(expect.objectContaining({ kind: 'throttled', code: '518' }))
    expect(sent).toEqual(accepted('m'))
    const [failed] = read({ code: '-1', message: 'unknown', value: '' })
    expect(failed).toMatchObject({ kind: 'server_error', code: '-1' })
    for (const outcome of [slow, failed]) expect(outcome).not.toHaveProperty('alarm')
  })
})

describe('vendor_v', () => {
  const read = (body: unknown) => vendorVOutcomes(answer(body), { targets })

  it('prunes unknown and uninstalled ones, and never a device that is no test device', () => {
    const invalidUsers = [
      { userid: 'a', status: 1 },
      { userid: 'b', status: 2 },
      { userid: 'c', status: 4 },
    ]
    expect(kinds(read({ result: 0, requestId: 'r', invalidUsers }))).toEqual([
      'invalid_token',
      'invalid_token',
      'suppressed',
    ])
  })

  it('keeps the token of a device that was offline for 90 days', () => {
    const invalidUsers = [{ userid: 'a', status: 3 }]
    const [outcome] = read({ result: 0, requestId: 'r', invalidUsers })
    expect(outcome).toMatchObject({ kind: 'suppressed', code: 'user_3' })
    expect(outcome).not.toHaveProperty('alarm')
  })

  it('delays operational messages until the vendor takes them again', () => {
    expect(read({ result: 10071, desc: 'night' })[0]).toEqual({
      kind: 'throttled',
      code: '10071',
      reason: 'night',
      // From 11:00 to 7:00 in China.
      retryAfterMs: 20 * 3_600_000,
    })
  })

  it('knows its codes', () => {
    const codes = [10302, 10311, 10000, 10072, 10250, 10070, 10203, 10207, 10152, 10305]
    expect(kindsOf(codes, (result) => read({ result }))).toEqual([
      'invalid_token',
      'suppressed',
      'auth_expired',
      'throttled',
      'throttled',
      'quota',
      'config',
      'config',
      'payload',
      'payload',
    ])
  })
})

describe('vendor_o', () => {
  const read = (body: unknown) => vendorOOutcomes(answer(body), { targets })

  it('reads an outcome for each message of a batch, in whatever order they come', () => {
    const data = [
      { registrationId: 'c', messageId: 'm3' },
      { registrationId: 'a', errorCode: 10000, errorMessage: 'Invalid RegistrationId' },
    ]
    const outcomes = read({ code: 0, data })
    expect(kinds(outcomes)).toEqual(['invalid_token', 'server_error', 'accepted'])
    expect(outcomes[2]).toEqual(accepted('m3'))
  })

  it('knows its codes', () => {
    expect(kindsOf([11, -2, 33, -1, 19, 16, 41, 67, 15000], (code) => read({ code }))).toEqual([
      'auth_expired',
      'throttled',
      'quota',
      'server_error',
      'config',
      'config',
      'payload',
      'config',
      'server_error',
    ])
  })

  it('tells a wrong token from other wrong parameters by the words', () => {
    const message = '无效 registration_id'
    const [single] = vendorOOutcomes(answer({ code: 41, message }), {
      targets: targets.slice(0, 1),
    })
    expect(single).toMatchObject({ kind: 'invalid_token', isSuspect: true })
    // Of many, each device gets a request, so that the others lose nothing.
    expect(kinds(read({ code: 41, message }))).toEqual(targets.map(() => 'invalid_token'))
    const data = [{ registrationId: 'a', errorCode: 41, errorMessage: 'Invalid RegistrationId' }]
    expect(kinds(read({ code: 0, data }))[0]).toBe('invalid_token?')
  })

  it('names the way out of a refused level', () => {
    const [outcome] = read({ code: 67, message: 'no right' })
    expect(outcome).toMatchObject({ kind: 'config', isOfPush: true })
    expect(outcome).toHaveProperty(
      'reason',
      expect.stringMatching(/^no right; .*--notify-level 2$/),
    )
  })
})
