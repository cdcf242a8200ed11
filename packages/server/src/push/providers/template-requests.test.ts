/** The requests of private messages with templates: vendor_o and vendor_x. */
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import type { GatewayCertificate } from '../certificate.js'
import type { PushNotification } from '../notification.js'
import { ContentNotes } from './content/content-notes.js'
import { withCertificateDefaults } from './content/options.js'
import { probeNotification } from './runtime/probe.js'
import type { GatewayProtocol } from './runtime/protocol.js'
import type { GatewayRequest } from './runtime/transport.js'
import { vendorOProtocol } from './vendor-o/protocol.js'
import { vendorXProtocol } from './vendor-x/protocol.js'

const goldenFolder = resolve(import.meta.dirname, '../../../test/push/gateways/golden')
const now = Date.UTC(2026, 0, 2, 3)

const common = {
  environment: 'production',
  appId: '1',
  appKey: 'key',
  appSecret: 'secret',
  certificate: '',
} as const

const vendorO: GatewayCertificate = {
  ...common,
  channel: 'vendor_o',
  category: 'IM',
  notifyLevel: 2,
  templates: [
    {
      name: 'default',
      id: 'ac20d345',
      title_parameters: { sender: '{title}' },
      content_parameters: { text: '{body}', order: 'No. {ext.order}' },
    },
    { name: 'group', id: 'fixed-texts', category: 'SUBSCRIPTION' },
  ],
}

const vendorX: GatewayCertificate = {
  ...common,
  channel: 'vendor_x',
  packageName: 'com.example.app',
  channelId: 'chat',
  templates: [
    { name: 'default', id: 'P10001', parameters: { sender: '{title}', text: '{body}' } },
    { name: 'group', id: 'P10002', channel_id: 'groups' },
  ],
}

const message: PushNotification = {
  ...probeNotification(now),
  origin: 'direct',
  title: 'Alice 😀',
  body: 'A long text. '.repeat(12),
  ext: { order: 12 },
  isSilent: false,
  deduplicationId: 'task 4711, device 1',
}

async function requestOf<Credentials>(
  protocol: GatewayProtocol<Credentials>,
  certificate: GatewayCertificate,
  notification: PushNotification,
): Promise<GatewayRequest> {
  const requests: GatewayRequest[] = []
  await protocol.send(
    {
      certificate,
      credentials: protocol.readCredentials(certificate),
      notification: withCertificateDefaults(notification, certificate),
      targets: [{ token: 'device-1', badgeCount: null }],
      part: 'domestic',
      authToken: 'TOKEN',
      now,
      notes: new ContentNotes(),
    },
    async (request) => {
      requests.push(request)
      return { status: 200, headers: {}, body: '{"code":0}', receivedAt: now }
    },
  )
  const [request] = requests
  if (request === undefined || requests.length > 1) throw new Error('not one request')
  return request
}

function fieldsOf({ body }: GatewayRequest): [string, string][] {
  return [...new URLSearchParams(body)]
}

function describeRequest(request: GatewayRequest): string {
  const fields = fieldsOf(request).map(([name, value]) => {
    const shown = value.startsWith('{') ? JSON.stringify(JSON.parse(value), null, 2) : value
    return `${name} = ${shown}`
  })
  return [`${request.method} ${request.url}`, '', ...fields].join('\n')
}

it.each([
  ['vendor_o', (content: PushNotification) => requestOf(vendorOProtocol, vendorO, content)],
  ['vendor_x', (content: PushNotification) => requestOf(vendorXProtocol, vendorX, content)],
] as const)('%s: messages have their templates, as in the golden file', async (channel, send) => {
  const named: PushNotification = { ...message, channels: { [channel]: { template: 'default' } } }
  const parts: string[] = []
  for (const [name, content] of [
    ['a direct message', message],
    [
      'a group message, with a template of fixed texts and of another class',
      { ...message, origin: 'group' as const },
    ],
    ['a task that names its template', { ...named, origin: 'task' as const, title: '👍', ext: {} }],
  ] as const)
    parts.push(`### ${name}`, describeRequest(await send(content)))
  const golden = resolve(goldenFolder, `${channel}_templates.http`)
  await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot(golden)
})

it('vendor_o: an intent that is too long goes to the app in its data, and the app opens', async () => {
  const opened = async (length: number) => {
    const android = { clickAction: 'intent', intent: 'i'.repeat(length) } as const
    const request = await requestOf(vendorOProtocol, vendorO, { ...message, android })
    const { notification } = JSON.parse(Object.fromEntries(fieldsOf(request)).message ?? '{}')
    const { hermod } = JSON.parse(notification.action_parameters)
    return [
      notification.click_action_type,
      notification.click_action_url?.length,
      hermod.intent?.length,
    ]
  }
  expect(await opened(2000)).toEqual([5, 2000, undefined])
  expect(await opened(2001)).toEqual([0, undefined, 2001])
})
