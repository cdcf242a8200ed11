/** The requests that notifications become, beside those that are kept as golden files. */
import { generateKeyPairSync } from 'node:crypto'
import { resolve } from 'node:path'
import { parse, stringify } from 'lossless-json'
import { describe, expect, it } from 'vitest'
import { definedOnly } from '../../lib/defined-only.js'
import { extLocation } from '../rules/ext-location.js'
import type { GatewayCertificate, VendorChannel } from '../certificate.js'
import type { PushNotification } from '../notification.js'
import type { PushTarget } from '../port.js'
import { cloudProtocol } from './cloud-gw/protocol.js'
import { ContentNotes } from './content/content-notes.js'
import { withCertificateDefaults } from './content/options.js'
import { iosProtocol } from './ios-gw/protocol.js'
import type { GatewayProtocol, PushBatch } from './runtime/protocol.js'
import type { GatewayRequest } from './runtime/transport.js'
import { vendorFProtocol } from './vendor-f/protocol.js'
import { vendorHProtocol } from './vendor-h/protocol.js'
import { vendorNProtocol } from './vendor-n/protocol.js'
import { vendorOProtocol } from './vendor-o/protocol.js'
import { vendorVProtocol } from './vendor-v/protocol.js'
import { vendorXProtocol } from './vendor-x/protocol.js'

const goldenFolder = resolve(import.meta.dirname, '../../../test/push/gateways/golden')
const now = Date.UTC(2026, 0, 2, 3)

const plain: PushNotification = {
  origin: 'direct',
  kind: 'text',
  title: 'Alice',
  body: 'Are you there?',
  bigText: '',
  attachmentUrl: '',
  badge: null,
  ext: null,
  expiresAt: now + 86_400_000,
  priority: 'high',
  isSilent: false,
  collapseKey: null,
  deduplicationId: 'task 4711, device 1',
  taskId: '4711',
  receiptTag: '4711.12',
  ios: {},
  android: {},
  channels: {},
}

const intent =
  'intent:#Intent;action=com.example.OPEN;component=com.example.app/.ChatActivity;S.peer=7;end'

/** Every kind of message, with every field in one of them. */
const notifications: Readonly<Record<string, PushNotification>> = {
  text: plain,
  'every option': {
    ...plain,
    bigText: 'Are you there? I have been waiting for an hour.',
    badge: { mode: 'add', count: 1 },
    ext: { order: 12, tags: ['a', 'b'], from: 'x', id: 9007199254740993n },
    collapseKey: 'conversation-7',
    ios: {
      sound: 'bell.caf',
      category: 'REPLY',
      threadId: 'conversation-7',
      subtitle: 'in Friends',
      contentAvailable: true,
      mutableContent: true,
      collapseId: 'own-id',
      interruptionLevel: 'time-sensitive',
      relevanceScore: 0.75,
    },
    android: { sound: 'bell', channelId: 'chat', clickAction: 'intent', intent },
    channels: {
      cloud_gw: { icon: 'ic_chat', color: '#3366ff', collapseKey: 'chat' },
      vendor_h: {
        channelId: 'chat-h',
        badgeClass: 'com.example.app.MainActivity',
        icon: 'ic_chat',
        color: '#3366ff',
        importance: 'high',
      },
      vendor_n: { badgeClass: 'com.example.app.MainActivity', importance: 'high' },
      vendor_v: { pushMode: 1, classification: 1 },
    },
  },
  image: { ...plain, kind: 'image', attachmentUrl: 'https://example.com/cat.png' },
  'image without https': { ...plain, kind: 'image', attachmentUrl: 'http://example.com/cat.png' },
  'other attachment': { ...plain, attachmentUrl: 'https://example.com/song.mp3' },
  'badge set, silent, low priority': {
    ...plain,
    badge: { mode: 'set', count: 120 },
    isSilent: true,
    priority: 'normal',
    channels: {
      vendor_h: { badgeClass: 'Main' },
      vendor_n: { badgeClass: 'Main' },
    },
  },
  'too long': {
    ...plain,
    title: `${'t'.repeat(30)}😀${'中'.repeat(40)}`,
    body: '😀'.repeat(1500),
    ext: { note: 'n'.repeat(900) },
  },
  'without a title': { ...plain, title: '' },
  command: {
    ...plain,
    kind: 'cmd',
    title: '',
    body: '',
    ext: { do: 'sync' },
    attachmentUrl: 'https://example.com/song.mp3',
    android: { clickAction: 'intent', intent },
  },
}

const keys = {
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
}
const account = {
  project_id: 'demo',
  client_email: 'push@demo',
  private_key_id: 'key-1',
  private_key: keys.rsa.export({ type: 'pkcs8', format: 'pem' }),
  token_uri: 'https://oauth2.googleapis.com/token',
}

const guardingCommands: VendorChannel[] = []

/** The requests of one batch; every gateway takes everything. */
type Send = (
  batch: Omit<PushBatch<unknown>, 'credentials' | 'notes'>,
  notes?: ContentNotes,
) => Promise<GatewayRequest[]>

function recording<Credentials>(protocol: GatewayProtocol<Credentials>): Send {
  if (protocol.guardsCommands) guardingCommands.push(protocol.channel)
  return async (batch, notes = new ContentNotes()) => {
    if (protocol.refuse?.(batch.notification, batch.certificate)) return []
    const credentials = protocol.readCredentials(batch.certificate)
    const requests: GatewayRequest[] = []
    const notification = withCertificateDefaults(batch.notification, batch.certificate)
    await protocol.send({ ...batch, credentials, notification, notes }, async (request) => {
      requests.push(request)
      const body = JSON.stringify({ result: 0, taskId: 'STORED' })
      return { status: 200, headers: {}, body, receivedAt: now }
    })
    return requests
  }
}

const sends: Readonly<Record<VendorChannel, Send>> = {
  ios_gw: recording(iosProtocol()),
  cloud_gw: recording(cloudProtocol),
  vendor_h: recording(vendorHProtocol),
  vendor_x: recording(vendorXProtocol),
  vendor_f: recording(vendorFProtocol),
  vendor_v: recording(vendorVProtocol),
  vendor_o: recording(vendorOProtocol),
  vendor_n: recording(vendorNProtocol),
}
const channels = Object.keys(sends) as VendorChannel[]

type Changes = { readonly [K in keyof GatewayCertificate]?: GatewayCertificate[K] | undefined }

function certificateOf(channel: VendorChannel, changes: Changes = {}): GatewayCertificate {
  const certificate = {
    channel,
    environment: 'production',
    appId: '10001',
    appKey: channel === 'vendor_h' ? '' : 'key',
    appSecret: 'secret',
    certificate:
      {
        ios_gw: keys.ec.export({ type: 'pkcs8', format: 'pem' }).toString(),
        cloud_gw: JSON.stringify(account),
      }[channel as string] ?? '',
    packageName: 'com.example.app',
    category: 'IM',
    allowsPassThrough: true,
    receiptUrl: 'https://chat.example.com/push/receipts/1',
  } satisfies GatewayCertificate
  return definedOnly({ ...certificate, ...changes }) as GatewayCertificate
}

interface Sending {
  readonly certificate?: Changes
  readonly notes?: ContentNotes
  readonly targets?: readonly PushTarget[]
}

const withBadge: PushNotification = { ...plain, badge: { mode: 'add', count: 1 } }
const defaults = { channelId: 'messages', badgeClass: 'com.example.app.Launcher' }
const oneTarget = [{ token: 'device-1', badgeCount: 5 }]
const twoTargets = [...oneTarget, { token: 'device-2', badgeCount: null }]

/** The requests of a notification. */
function requestsOf(
  channel: VendorChannel,
  notification: PushNotification,
  { certificate = {}, targets = oneTarget, notes }: Sending = {},
): Promise<GatewayRequest[]> {
  const batch = {
    certificate: certificateOf(channel, certificate),
    notification,
    targets,
    part: 'domestic',
    authToken: 'TOKEN',
    now,
  }
  return sends[channel](batch, notes)
}

/** Readable, with the JSON of form fields laid open. */
function describeRequest({ method, url, headers, body }: GatewayRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${url}`, ...lines, '', describeBody(body, headers)].join('\n')
}

function describeBody(body: string, headers: GatewayRequest['headers']): string {
  if (headers['content-type']?.includes('json')) return pretty(body)
  return [...new URLSearchParams(body)]
    .map(([name, value]) => `${name} = ${/^[[{]/.test(value) ? pretty(value) : value}`)
    .join('\n')
}

function pretty(json: string): string {
  return stringify(parse(json), null, 2) ?? ''
}

async function goldenOf(channel: VendorChannel, certificate: Changes): Promise<string> {
  const parts: string[] = []
  for (const [name, notification] of Object.entries(notifications)) {
    const requests = await requestsOf(channel, notification, { certificate })
    parts.push(`### ${name}`, ...requests.map(describeRequest))
    if (requests.length === 0) parts.push('(is not sent on this channel)')
  }
  const twoDevices = await requestsOf(channel, plain, { certificate, targets: twoTargets })
  parts.push('### two devices', ...twoDevices.map(describeRequest))
  const withDefaults = await requestsOf(channel, withBadge, {
    certificate: { ...certificate, ...defaults },
  })
  parts.push('### a badge, and a certificate with defaults', ...withDefaults.map(describeRequest))
  return `${parts.join('\n\n')}\n`
}

/** A certificate of version 3 of vendor_h. */
const version3 = {
  apiVersion: 3,
  appKey: '388421841221889963',
  certificate: JSON.stringify({ ...account, sub_account: 'sub-1', key_id: 'key-1' }),
  receiptId: 'RCP1',
} satisfies Changes

it('vendor_h: version 3 makes the requests of its golden file', async () => {
  const golden = resolve(goldenFolder, 'vendor_h_version_3.http')
  await expect(await goldenOf('vendor_h', version3)).toMatchFileSnapshot(golden)
})

describe.each(channels)('%s', (channel) => {
  it('makes the requests of the golden file', async () => {
    const golden = resolve(goldenFolder, `${channel}.http`)
    await expect(await goldenOf(channel, {})).toMatchFileSnapshot(golden)
  })

  it('makes the same request again when it is tried again', async () => {
    const [first, second] = await Promise.all(
      [plain, plain].map((each) => requestsOf(channel, each)),
    )
    expect(second).toEqual(first)
  })

  it('tells a repeated push from another one, if it says so for commands too', async () => {
    const differs = async (notification: PushNotification) => {
      const another = { ...notification, deduplicationId: 'another' }
      const requests = [await requestsOf(channel, notification), await requestsOf(channel, another)]
      return JSON.stringify(requests[0]) !== JSON.stringify(requests[1])
    }
    expect(await differs(plain)).toBe(true)
    const command = notifications.command ?? plain
    expect(await differs(command)).toBe(guardingCommands.includes(channel))
  })

  it('sends to another place when the certificate says so', async () => {
    const certificate = { endpoint: { sendUrl: 'https://127.0.0.1:4444' } }
    const requests = await requestsOf(channel, plain, { certificate })
    for (const { url } of requests) expect(url.startsWith('https://127.0.0.1:4444/')).toBe(true)
  })
})

it.each(channels)(
  '%s: what a notification says itself wins over the defaults of the certificate',
  async (channel) => {
    const everything = notifications['every option'] ?? plain
    const requests = await requestsOf(channel, everything, { certificate: defaults })
    expect(requests).toEqual(await requestsOf(channel, everything))
  },
)

it.each(['vendor_h', 'vendor_n', 'vendor_x', 'vendor_f', 'vendor_v', 'vendor_o'] as const)(
  '%s: a long text alone fills the title and the body, which the gateway requires',
  async (channel) => {
    const bigText = 'A long text.'
    const [request] = await requestsOf(channel, { ...plain, title: '', body: '', bigText })
    const texts = describeRequest(request as GatewayRequest).matchAll(
      /^ *"?(?:title|body|content|description)"?(?:: | = )"?([^{"\n]*)"?,?$/gm,
    )
    const values = [...texts].map(([, text]) => text)
    expect(values.length).toBeGreaterThanOrEqual(2)
    expect(new Set(values)).toEqual(new Set([bigText]))
  },
)

describe('changes that a channel makes to the content', () => {
  const changesOf = async (channel: VendorChannel, changes: Partial<PushNotification>) => {
    const notes = new ContentNotes()
    await requestsOf(channel, { ...plain, ...changes }, { notes })
    return notes.changes
  }
  const long = { title: 't'.repeat(60), body: 'b'.repeat(200) }

  it.each(channels)('%s: a plain message has none', async (channel) => {
    expect(await changesOf(channel, { ext: { order: 12 } })).toEqual([])
  })

  it.each(['vendor_x', 'vendor_f', 'vendor_v', 'vendor_o'] as const)(
    '%s: a long title and a long body are shortened',
    async (channel) => {
      expect(await changesOf(channel, long)).toEqual(['title shortened', 'body shortened'])
    },
  )

  it.each(['ios_gw', 'cloud_gw', 'vendor_h', 'vendor_n'] as const)(
    '%s: members of ext are left out when there is no room for them',
    async (channel) => {
      const ext = { first: 'f'.repeat(2_000), second: 's'.repeat(2_000), third: 't' }
      expect(await changesOf(channel, { ext })).toEqual([
        'ext.second left out',
        'ext.third left out',
      ])
    },
  )

  it.each(channels)('%s: the members of ext are where the trace says', async (channel) => {
    const [request] = await requestsOf(channel, { ...plain, ext: { order: 'o-12' } })
    const [member] = /aps|\w+(?=, as)/.exec(extLocation(channel, 'text') ?? '') ?? []
    const text = decodeURIComponent(request?.body ?? '').replaceAll('\\', '')
    expect(text).toMatch(/"order":"o-12"/)
    const isNext = channel === 'ios_gw' ? `"aps"` : `${member}[^{]*{[^{]*"order"`
    expect(text).toMatch(new RegExp(isNext))
  })

  it('ios_gw: a member aps is left out', async () => {
    expect(await changesOf('ios_gw', { ext: { aps: 1 } })).toEqual(['ext.aps left out'])
  })

  it('cloud_gw: reserved members are renamed, or left out when that name is taken', async () => {
    expect(await changesOf('cloud_gw', { ext: { from: 'x', google: 1, _google: 2 } })).toEqual([
      'ext.from sent as ext._from',
      'ext.google left out',
    ])
  })
})

describe('without an approved class of messages', () => {
  it.each(['vendor_h', 'vendor_v', 'vendor_o'] as const)('%s names none', async (channel) => {
    const [request] = await requestsOf(channel, plain, { certificate: { category: undefined } })
    expect(decodeURIComponent(request?.body ?? '')).not.toContain('"category"')
  })

  it('vendor_n sends what it has to call advertising, without a picture', async () => {
    const image = notifications.image ?? plain
    const [request] = await requestsOf('vendor_n', image, { certificate: { category: undefined } })
    expect(request?.body).toContain('"importance":"LOW"')
    expect(request?.body).not.toContain('"image"')
  })
})

describe('importance', () => {
  const sentWith = async (
    channel: 'vendor_h' | 'vendor_n',
    android: PushNotification['android'],
    certificate: Changes = {},
  ) => {
    const image = { ...(notifications.image ?? plain), android }
    const [request] = await requestsOf(channel, image, { certificate })
    const body = request?.body ?? ''
    return [/"importance":"(\w+)"/.exec(body)?.[1], body.includes('"image"')]
  }

  it.each([
    ['vendor_h', undefined, 'NORMAL', true],
    ['vendor_h', 'low', 'LOW', true],
    ['vendor_h', 'normal', 'NORMAL', true],
    ['vendor_h', 'high', 'HIGH', true],
    ['vendor_n', undefined, 'NORMAL', true],
    // vendor_n refuses pictures of low importance.
    ['vendor_n', 'low', 'LOW', false],
    ['vendor_n', 'normal', 'NORMAL', true],
    ['vendor_n', 'high', 'NORMAL', true],
  ] as const)('%s: %s is sent as %s; with the picture: %s', async (channel, given, sent, has) => {
    expect(await sentWith(channel, given ? { importance: given } : {})).toEqual([sent, has])
  })

  it('vendor_n: is as the push says, also without an approved class', async () => {
    const noClass = { category: undefined }
    expect(await sentWith('vendor_n', {}, noClass)).toEqual(['LOW', false])
    expect(await sentWith('vendor_n', { importance: 'normal' }, noClass)).toEqual(['NORMAL', true])
  })
})

describe('environment of a certificate', () => {
  it('chooses the host of ios_gw', async () => {
    const [request] = await requestsOf('ios_gw', plain, {
      certificate: { environment: 'development' },
    })
    expect(request?.url).toBe('https://api.sandbox.push.apple.com/3/device/device-1')
  })
})

it('ios_gw: a command is known by its own ID, whatever replaces notifications', async () => {
  const changes = { ios: { ...plain.ios, collapseId: 'own-id' }, collapseKey: 'conversation-7' }
  const idOf = async (notification: PushNotification) => {
    const [request] = await requestsOf('ios_gw', notification)
    return request?.headers['apns-collapse-id']
  }
  expect(await idOf({ ...plain, ...changes })).toBe('own-id')
  const command: PushNotification = { ...plain, ...changes, kind: 'cmd', ext: { do: 'sync' } }
  expect(await idOf(command)).toBe(plain.deduplicationId)
})

describe('cloud_gw', () => {
  const messageOf = async (notification: PushNotification, token = 'device-1') => {
    const [request] = await requestsOf('cloud_gw', notification, {
      targets: [{ token, badgeCount: null }],
    })
    return JSON.parse(request?.body ?? '{}').message
  }

  it.each([
    ['an installation ID', 'cXyZ0_-AbCdEfGhIjKlMnO', 'fid'],
    ['a registration token', 'cXyZ0_-AbCdEfGhIjKlMnO:APA91bHPRgkF3JUikC4ENAHEeMrd41Zxv3', 'token'],
    ['a text of 22 characters that begins otherwise', 'bXyZ0_-AbCdEfGhIjKlMnO', 'token'],
  ])('%s is the only address of its message', async (_, token, field) => {
    const { fid, token: other } = await messageOf(plain, token)
    expect({ fid, token: other }).toEqual({ fid: undefined, token: undefined, [field]: token })
  })

  it('a command has the collapse key of its task, and no icon', async () => {
    const options = { icon: 'ic_chat', color: '#3366ff', collapseKey: 'sync' }
    const command: PushNotification = { ...plain, kind: 'cmd', android: options }
    expect((await messageOf(command)).android).toEqual({
      priority: 'HIGH',
      ttl: '86400s',
      collapse_key: 'sync',
    })
  })
})
