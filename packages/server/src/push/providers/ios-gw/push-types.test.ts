/** Push types of ios_gw: requests, topics and certificates. */
import { generateKeyPairSync } from 'node:crypto'
import { resolve } from 'node:path'
import { parse, stringify } from 'lossless-json'
import { describe, expect, it } from 'vitest'
import type { ApnsTokenType, GatewayCertificate } from '../../certificate.js'
import type { ApnsPushType, LiveActivityChange, PushNotification } from '../../notification.js'
import { ContentNotes } from '../content/content-notes.js'
import { CredentialError } from '../runtime/credentials.js'
import {
  type IosCredentials,
  inspectIosCredentials,
  iosTopic,
  readIosCredentials,
} from './credentials.js'
import { iosRequest } from './payload.js'

const golden = resolve(
  import.meta.dirname,
  '../../../../test/push/gateways/golden/ios_gw_push_types.http',
)
const now = Date.UTC(2026, 0, 2, 3)
const at = now / 1000
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const plain: PushNotification = {
  origin: 'task',
  kind: 'text',
  title: 'Alice',
  body: 'Are you there?',
  bigText: '',
  attachmentUrl: '',
  badge: { mode: 'set', count: 3 },
  ext: { call: 'c1' },
  expiresAt: now + 86_400_000,
  priority: 'high',
  isSilent: false,
  collapseKey: null,
  deduplicationId: '4711',
  taskId: '4711',
  receiptTag: '4711.12',
  ios: {},
  android: {},
  channels: {},
}

function certificateOf(appId: string, pushType?: ApnsTokenType): GatewayCertificate {
  return {
    channel: 'ios_gw',
    environment: 'production',
    appId,
    appKey: 'KEY1234567',
    appSecret: 'TEAM123456',
    certificate: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    ...(pushType && { pushType }),
  }
}

/** The request of a notification to a token for its push type, and what the device does not get. */
function requestOf(notification: PushNotification, pushType = notification.ios.pushType) {
  const certificate = certificateOf('com.example.app', pushType)
  const notes = new ContentNotes()
  const target = { token: 'a1b2', badgeCount: 3 }
  const credentials = readIosCredentials(certificate)
  const batch = { certificate, credentials, notification, notes, now, part: '', authToken: 'TOKEN' }
  const request = iosRequest({ ...batch, targets: [target] }, target)
  if ('kind' in request) return { refusal: request.code, changes: notes.changes }
  const { url, headers, body } = request
  return { url, headers, body, payload: JSON.parse(body), changes: notes.changes }
}

function activity(change: LiveActivityChange, changes: Partial<PushNotification> = {}) {
  const liveActivity = { timestamp: at, ...change }
  const ios = { ...changes.ios, pushType: 'liveactivity', liveActivity } as const
  return { ...plain, title: '', body: '', ...changes, ios }
}

const contentState = { home: 1, away: 0, id: 9007199254740993n }

const notifications: Readonly<Record<string, PushNotification>> = {
  'keys of texts': {
    ...plain,
    ios: {
      titleLocKey: 'FROM',
      titleLocArgs: ['Alice', 'Friends'],
      locKey: 'MESSAGES',
      locArgs: ['3'],
    },
  },
  'a key without arguments': { ...plain, ios: { locKey: 'NEW_MESSAGE' } },
  'critical, with a sound of the app': {
    ...plain,
    ios: { interruptionLevel: 'critical', sound: 'alarm.caf' },
  },
  'a call': {
    ...plain,
    ios: { pushType: 'voip', collapseId: 'own-id', sound: 'ring.caf', category: 'CALL' },
  },
  'a call as a command': { ...plain, kind: 'cmd', ios: { pushType: 'voip' } },
  'start of a live activity': activity(
    {
      event: 'start',
      contentState,
      attributesType: 'MatchAttributes',
      attributes: { match: 'A against B' },
      staleDate: at + 600,
    },
    { title: 'A - B', body: 'has begun', ios: { sound: 'whistle.caf', relevanceScore: 1 } },
  ),
  'update of a live activity': activity({ event: 'update', contentState }),
  'update of a live activity, passive': activity(
    { event: 'update', contentState },
    { ios: { interruptionLevel: 'passive' } },
  ),
  'update of a live activity with an alert by keys': activity(
    { event: 'update', contentState },
    { ios: { titleLocKey: 'GOAL', locKey: 'GOAL_OF', locArgs: ['A'] } },
  ),
  'end of a live activity': activity({ event: 'end', contentState, dismissalDate: at + 60 }),
}

describe('requests of ios_gw', () => {
  it('by push type are those of the golden file', async () => {
    const parts = Object.entries(notifications).map(([name, notification]) => {
      const { url, headers = {}, body = '' } = requestOf(notification)
      const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`)
      const text = stringify(parse(body), null, 2)
      return [`### ${name}`, '', `POST ${url}`, ...lines, '', text].join('\n')
    })
    await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot(golden)
  })

  it('for a call may have 5120 bytes, for any other push 4096', () => {
    const ext = { note: 'n'.repeat(4500) }
    expect(requestOf({ ...plain, ext }, 'voip').payload.note).toBe(ext.note)
    expect(requestOf({ ...plain, ext }).payload.note).toBeUndefined()
  })

  it('for a live activity have no data for the app, and are refused when the state is too large', () => {
    const update = (state: object) => activity({ event: 'update', contentState: { ...state } })
    expect(requestOf(update({})).changes).toEqual(['ext.call left out'])
    expect(requestOf(update({ note: 'n'.repeat(4096) })).refusal).toBe('too_large')
  })

  it('for the check of a certificate name its topic, also without a change of a live activity', () => {
    const { headers, payload } = requestOf(plain, 'liveactivity')
    expect(headers).toMatchObject({ 'apns-topic': 'com.example.app.push-type.liveactivity' })
    expect(payload.aps).toMatchObject({ timestamp: at, event: 'update' })
  })
})

function read(appId: string, pushType?: ApnsTokenType): string {
  try {
    return iosTopic(readIosCredentials(certificateOf(appId, pushType)))
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    return error.message
  }
}

function faultsOf(uid: string, bundleId: string, pushType: ApnsPushType): string[] {
  const file = { pfx: Buffer.alloc(0), passphrase: '', uid, expiresAt: 5 }
  const credentials: IosCredentials = { kind: 'certificate', bundleId, pushType, file }
  return inspectIosCredentials(credentials).faults.map(({ field, text }) => `${field} ${text}`)
}

describe('topics of ios_gw', () => {
  it.each([
    [undefined, 'com.example.app'],
    ['alert', 'com.example.app'],
    ['voip', 'com.example.app.voip'],
    ['liveactivity', 'com.example.app.push-type.liveactivity'],
    ['liveactivity_start', 'com.example.app.push-type.liveactivity'],
  ] as const)('of push type %s: %s', (pushType, topic) => {
    expect(read('com.example.app', pushType)).toBe(topic)
  })

  it.each([
    ['com.example.app.voip', '.voip', 'voip'],
    ['com.example.app.push-type.liveactivity', '.push-type.liveactivity', 'liveactivity'],
  ])('%s is no bundle ID', (topic, suffix, pushType) => {
    const fault = `gateway_app_id must be the bundle ID com.example.app; instead of the suffix ${suffix}, set push_type to ${pushType}`
    expect(read(topic)).toBe(fault)
    expect(read(topic, 'voip')).toBe(fault)
  })

  it.each([
    '.voip-ptt',
    '.complication',
    '.location-query',
    '.pushkit.fileprovider',
    '.push-type.widgets',
    '.push-type.controls',
  ])('topics with the suffix %s are not supported', (suffix) => {
    expect(read(`com.example.app${suffix}`)).toBe(
      `gateway_app_id must be the bundle ID of the app; pushes to topics with the suffix ${suffix} are not supported`,
    )
  })
})

describe('client certificates of ios_gw', () => {
  const app = 'com.example.app'
  const ofCalls = 'certificate is a file of VoIP services, which needs push_type voip'
  const ofKey = 'certificate must be a signing key (.p8) for live activities'

  it.each<[string, string, ApnsPushType, string[]]>([
    [app, app, 'alert', []],
    [app, app, 'voip', []],
    ['', app, 'alert', []],
    [app, app, 'liveactivity', [ofKey]],
    [`${app}.voip`, app, 'voip', []],
    [`${app}.voip`, app, 'alert', [ofCalls]],
    ['com.other', app, 'alert', ['gateway_app_id must be com.other, as in the certificate']],
    ['com.other.voip', app, 'voip', ['gateway_app_id must be com.other, as in the certificate']],
    [`${app}.more`, app, 'alert', [`gateway_app_id must be ${app}.more, as in the certificate`]],
  ])('the file of %j for %s and push type %s: %j', (uid, bundleId, pushType, faults) => {
    expect(faultsOf(uid, bundleId, pushType)).toEqual(faults)
  })
})
