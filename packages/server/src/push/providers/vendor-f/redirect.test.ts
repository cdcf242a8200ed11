import { expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import { ContentNotes } from '../content/content-notes.js'
import { probeNotification } from '../runtime/probe.js'
import type { GatewayRequest } from '../runtime/transport.js'
import { vendorFProtocol } from './protocol.js'

const now = Date.UTC(2026, 0, 2)
const certificate: GatewayCertificate = {
  channel: 'vendor_f',
  environment: 'production',
  appId: '1',
  appKey: 'k',
  appSecret: 's',
  certificate: '',
}
const first = '/garcia/api/server/push/varnished/pushByPushId'

/** Sends to a gateway that answers the first request with a redirect, and accepts the second. */
async function sendTo(redirect: string, sendUrl?: string) {
  const own = { ...certificate, ...(sendUrl === undefined ? {} : { endpoint: { sendUrl } }) }
  const requests: GatewayRequest[] = []
  const batch = {
    credentials: vendorFProtocol.readCredentials(own),
    certificate: own,
    notification: probeNotification(now),
    targets: [{ token: 'device', badgeCount: null }],
    part: '',
    authToken: '',
    now,
    notes: new ContentNotes(),
  }
  const outcomes = await vendorFProtocol.send(batch, async (request) => {
    requests.push(request)
    const isFirst = requests.length === 1
    const body = isFirst ? { code: '300', redirect } : { code: '200', value: '', msgId: 'm' }
    return { status: 200, headers: {}, body: JSON.stringify(body), receivedAt: now }
  })
  return { outcomes, urls: requests.map(({ url }) => url) }
}

it.each<[string, string | undefined]>([
  ['https://server-api-push.meizu.com/new', undefined],
  ['https://eu.push.meizu.com/new', undefined],
  ['https://server-api-push.in.meizu.com/new', undefined],
  ['https://server-api-push.meizu.com/new', 'https://server-api-push.in.meizu.com'],
  ['https://eu.push.meizu.com/new', 'https://push.example.com'],
  ['https://push.example.com:8443/new', 'https://push.example.com'],
  ['http://127.0.0.1:9000/new', 'http://127.0.0.1:8000'],
])('vendor_f: a redirect to %s is followed, with the address %s', async (redirect, sendUrl) => {
  const { outcomes, urls } = await sendTo(redirect, sendUrl)
  expect(outcomes).toEqual([{ kind: 'accepted', messageId: 'm' }])
  expect(urls.at(-1)).toBe(redirect)
})

it.each<[string, string | undefined]>([
  ['http://server-api-push.meizu.com/new', undefined],
  ['http://server-api-push.in.meizu.com/new', 'https://server-api-push.in.meizu.com'],
  ['https://evil.example.com/new', undefined],
  ['https://evilmeizu.com/new', undefined],
  ['https://meizu.com.evil.example.com/new', undefined],
  ['https://server-api-push.meizu.com@evil.example.com/new', undefined],
  ['https://user:secret@server-api-push.meizu.com/new', undefined],
  ['https://push.example.com/new', undefined],
  ['http://push.example.com/new', 'https://push.example.com'],
  ['https://other.example.com/new', 'https://push.example.com'],
  ['http://169.254.169.254/new', 'http://127.0.0.1:8000'],
  ['file:///etc/passwd', undefined],
])('vendor_f: a redirect to %s is not followed, with the address %s', async (redirect, sendUrl) => {
  const { outcomes, urls } = await sendTo(redirect, sendUrl)
  expect(outcomes).toMatchObject([{ kind: 'config', code: '300' }])
  expect(urls).toEqual([(sendUrl ?? 'https://server-api-push.meizu.com') + first])
})
