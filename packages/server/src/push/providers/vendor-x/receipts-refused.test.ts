/** Messages whose address for receipts the gateway refuses. */
import { describe, expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import { ContentNotes } from '../content/content-notes.js'
import { probeNotification } from '../runtime/probe.js'
import type { GatewayRequest } from '../runtime/transport.js'
import { vendorXProtocol } from './protocol.js'

const receivedAt = Date.UTC(2026, 0, 2, 3)
const accepted = { code: 0, data: { id: 'm1' } }
const certificate: GatewayCertificate = {
  channel: 'vendor_x',
  environment: 'production',
  appId: '1',
  appKey: 'key',
  appSecret: 'secret',
  certificate: '',
  packageName: 'com.example.app',
  receiptUrl: 'https://chat.example.com/push/receipts/1',
}

/** Sends one message to a gateway with these answers. */
async function send(answers: readonly unknown[], own: GatewayCertificate = certificate) {
  const requests: GatewayRequest[] = []
  const outcomes = await vendorXProtocol.send(
    {
      certificate: own,
      credentials: vendorXProtocol.readCredentials(own),
      notification: probeNotification(receivedAt),
      targets: [{ token: 'a', badgeCount: null }],
      part: '',
      authToken: '',
      notes: new ContentNotes(),
      now: receivedAt,
    },
    async (request) => {
      const body = JSON.stringify(answers[requests.length])
      requests.push(request)
      return { status: 200, headers: {}, body, receivedAt }
    },
  )
  const asked = requests.map(({ body }) => body.includes('extra.callback='))
  return { outcomes, asked }
}

describe('vendor_x: a refused address for receipts', () => {
  const refused = { code: 65038, reason: 'Callback url非法' }
  const alarm = { kind: 'receipts_refused', code: '65038' }

  it('costs the receipts and not the push, and raises an alarm', async () => {
    const { outcomes, asked } = await send([refused, accepted])
    expect(outcomes).toEqual([{ kind: 'accepted', messageId: 'm1', alarm }])
    expect(asked).toEqual([true, false])
  })

  it('leaves the second answer as it is', async () => {
    const { outcomes } = await send([refused, { code: 10001, reason: 'busy' }])
    expect(outcomes).toMatchObject([{ kind: 'server_error', code: '10001', alarm }])
  })

  it('is not asked about again without an address, or for other reasons', async () => {
    const { receiptUrl: _, ...silent } = certificate
    expect(await send([refused], silent)).toMatchObject({
      outcomes: [{ kind: 'payload' }],
      asked: [false],
    })
    const { asked } = await send([{ code: 10017, reason: 'title' }])
    expect(asked).toEqual([true])
  })
})
