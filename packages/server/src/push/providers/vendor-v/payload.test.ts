import { describe, expect, it } from 'vitest'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import { ContentNotes } from '../content/content-notes.js'
import { probeNotification } from '../runtime/probe.js'
import type { GatewayRequest } from '../runtime/transport.js'
import { vendorVSingle, vendorVStored } from './payload.js'
import { vendorVProtocol } from './protocol.js'

const now = Date.UTC(2026, 0, 2)
const plain: GatewayCertificate = {
  channel: 'vendor_v',
  environment: 'production',
  appId: '10001',
  appKey: 'k',
  appSecret: 's',
  certificate: '',
}
const target = { token: 'device', badgeCount: null }

interface Sending {
  readonly certificate?: Partial<GatewayCertificate>
  readonly notification?: Partial<PushNotification>
}

function batchOf({ certificate = {}, notification = {} }: Sending) {
  const own = { ...plain, ...certificate }
  return {
    credentials: vendorVProtocol.readCredentials(own),
    certificate: own,
    notification: { ...probeNotification(now), receiptTag: '4711.12', ...notification },
    targets: [target],
    part: '',
    authToken: 'TOKEN',
    now,
    notes: new ContentNotes(),
  }
}

const single = (sending: Sending) => vendorVSingle(batchOf(sending), target)
const stored = (sending: Sending) => vendorVStored(batchOf(sending))
const bodyOf = (request: ReturnType<typeof single>) => JSON.parse((request as GatewayRequest).body)

describe('the receipts that vendor_v is asked for', () => {
  const address = { receiptUrl: 'https://chat.example.com/push/receipts/1' }
  const byAddress = { callback: address.receiptUrl, 'callback.param': '4711.12' }
  const both = { ...address, receiptId: '7145' }
  const byId = { 'callback.id': '7145', 'callback.param': '4711.12' }

  it.each([
    ['one device, with an address', single, address, byAddress],
    ['a list of devices, with an address', stored, address, undefined],
    ['one device, with an ID of the console', single, both, byId],
    ['a list of devices, with an ID of the console', stored, both, byId],
    ['a list of devices, with an ID and no address', stored, { receiptId: '7145' }, byId],
    ['one device, with neither', single, {}, undefined],
  ] as const)('for %s', (_, build, certificate, extra) => {
    expect(bodyOf(build({ certificate })).extra).toEqual(extra)
  })

  it.each([
    [single, address],
    [single, both],
    [stored, both],
  ] as const)('are none in test mode (%#)', (build, certificate) => {
    const notification = { channels: { vendor_v: { pushMode: 1 } } }
    expect(bodyOf(build({ certificate, notification })).extra).toBeUndefined()
  })
})

describe('the page that a click on a push of vendor_v opens', () => {
  const longest = `intent:#Intent;S.peer=${'7'.repeat(998)};end`

  it.each([
    ['an intent of 1024 characters', longest, { skipType: 4, skipContent: longest }, []],
    ['a longer intent', `${longest} `, { skipType: 1 }, ['intent left out']],
  ])('with %s', (_, intent, fields, changes) => {
    const notification = { android: { clickAction: 'intent', intent } } as const
    const batch = batchOf({ notification })
    const { skipType, skipContent } = bodyOf(vendorVSingle(batch, target))
    expect(intent.length).toBeGreaterThanOrEqual(1024)
    expect({ skipType, skipContent }).toEqual({ skipContent: undefined, ...fields })
    expect(batch.notes.changes).toEqual(changes)
  })
})
