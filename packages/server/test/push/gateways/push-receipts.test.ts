/** Receipts of simulated gateways, in the vendors' forms, over HTTP. */
import {
  gatewayModels,
  SimulatedGateway,
  TestAuthority,
  vendorFAccessToken,
  vendorHCallback,
} from '@hermod/push-simulator'
import { expect, it } from 'vitest'
import { createProviders } from '../../../dist/push/providers/providers.js'
import { isSignedByVendorH } from '../../../dist/push/receipts/kit.js'
import { parseReceipts } from '../../../dist/push/receipts/parse.js'
import { receiptChannels } from '../../../dist/push/receipts/receipt.js'
import { isSentByVendorF } from '../../../dist/push/receipts/vendor-f.js'
import { aNotification, ReceiptListener, targetsOf } from '../../support/push/push.js'

const authority = new TestAuthority()
/** What becomes of a device whose token has ended, where the vendor tells. */
const ended: Readonly<Record<string, string>> = { vendor_f: 'delivered' }

it.each(receiptChannels)('%s: receipts lead back to message, device and task', async (channel) => {
  await using listener = await ReceiptListener.start()
  const options = { authority, receiptUrl: listener.url }
  await using gateway = await SimulatedGateway.start(gatewayModels[channel](), options)
  await using providers = createProviders()
  const tokens = ['device-1', 'gone-2', 'dead-3']
  const outcomes = await providers.senders[channel].send({
    // vendor_v sends receipts of lists to an address of its console.
    certificate: {
      ...gateway.certificate,
      ...(channel === 'vendor_v' ? { receiptId: '7145' } : { receiptUrl: listener.url }),
    },
    notification: aNotification(),
    targets: targetsOf(tokens),
  })
  const messageIds = outcomes.map((outcome) =>
    outcome.kind === 'accepted' ? outcome.messageId : outcome.kind,
  )
  expect(messageIds[2]).toBe('invalid_token')

  const answered = await gateway.sendReceipts()
  expect(answered).toBe(listener.received.length)
  const receipts = listener.received.flatMap(({ body }) => parseReceipts(channel, body))
  const found = receipts.map(({ messageId, token, kind, tag }) => [messageId, token, kind, tag])
  expect(found.sort()).toEqual(
    [
      [messageIds[0], 'device-1', 'delivered', '4711.12'],
      [messageIds[1], 'gone-2', ended[channel] ?? 'invalid_token', '4711.12'],
    ].sort(),
  )
  for (const { body, headers } of listener.received) {
    if (channel === 'vendor_f') expect(isSentByVendorF(body, vendorFAccessToken)).toBe(true)
    const signature = String(headers['x-huawei-callback-id'])
    if (channel === 'vendor_h')
      expect(isSignedByVendorH(signature, vendorHCallback, Date.now())).toBe(true)
  }
})

it('vendor_v: receipts come to the address of a message to one device, and not of a list', async () => {
  await using listener = await ReceiptListener.start()
  await using gateway = await SimulatedGateway.start(gatewayModels.vendor_v(), { authority })
  await using providers = createProviders()
  const received = async (tokens: readonly string[]) => {
    await providers.senders.vendor_v.send({
      certificate: { ...gateway.certificate, receiptUrl: listener.url },
      notification: aNotification(),
      targets: targetsOf(tokens),
    })
    await gateway.sendReceipts()
    const bodies = listener.received.splice(0).map(({ body }) => parseReceipts('vendor_v', body))
    return bodies.flat().map(({ token, kind }) => [token, kind])
  }
  expect(await received(['device-1', 'device-2'])).toEqual([])
  expect(await received(['device-1'])).toEqual([['device-1', 'delivered']])
})
