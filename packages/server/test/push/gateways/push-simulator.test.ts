import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Child, TempFolder, waitFor } from '@hermod/testkit'
import { expect, it } from 'vitest'
import type { PushSimulation, SimulatedCall } from '../../../dist/commands/runtime/command.js'
import { createProviders } from '../../../dist/push/providers/providers.js'
import { aNotification, targetsOf } from '../../support/push/push.js'

const command = resolve(import.meta.dirname, '../../../bin/hermod.js')

it('hermod push-simulator: takes messages until it is told to stop, and prints them', async () => {
  using folder = new TempFolder('push-simulator')
  const child = new Child([
    process.execPath,
    command,
    'push-simulator',
    '--json',
    '--out',
    folder.path,
  ])
  const lines: string[] = []
  child.watch((line) => line.startsWith('{') && lines.push(line))
  await waitFor(() => lines.length > 0, { what: 'the start', timeoutMs: 30_000 })
  const { gateways, ca }: PushSimulation = JSON.parse(lines[0] ?? '')
  expect(gateways).toHaveLength(8)
  expect(readFileSync(join(folder.path, 'ca.pem'), 'utf8')).toBe(ca)

  const gateway = JSON.parse(readFileSync(join(folder.path, 'vendor_x.json'), 'utf8'))
  expect(gateway.ca).toBe(ca)
  await using providers = createProviders()
  const outcomes = await providers.senders.vendor_x.send({
    certificate: {
      channel: 'vendor_x',
      environment: 'production',
      appId: gateway.gateway_app_id,
      appKey: gateway.app_key,
      appSecret: gateway.app_secret,
      certificate: '',
      packageName: gateway.package_name,
      endpoint: { sendUrl: gateway.send_url, ca: gateway.ca },
    },
    notification: aNotification({ title: 'Hello' }),
    targets: targetsOf(['device-1', 'dead-2']),
  })
  expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'invalid_token'])
  const call = await waitFor(() => lines[1], { what: 'the request', timeoutMs: 5_000 })
  const { channel, path, body }: SimulatedCall = JSON.parse(call)
  expect([channel, path]).toEqual(['vendor_x', '/v3/message/regid'])
  expect(new URLSearchParams(body).get('title')).toBe('Hello')

  const vendorH = JSON.parse(readFileSync(join(folder.path, 'vendor_h.json'), 'utf8'))
  const version3 = await providers.senders.vendor_h.send({
    certificate: {
      channel: 'vendor_h',
      environment: 'production',
      appId: '',
      appKey: '',
      appSecret: '',
      certificate: readFileSync(join(folder.path, 'vendor_h-account.json'), 'utf8'),
      apiVersion: 3,
      endpoint: { sendUrl: vendorH.send_url, authUrl: vendorH.auth_url, ca },
    },
    notification: aNotification(),
    targets: targetsOf(['MAMzLg-device-1']),
  })
  expect(version3.map(({ kind }) => kind)).toEqual(['accepted'])

  child.signal('SIGTERM')
  expect(await child.exited).toEqual({ code: 0, signal: null })
})
