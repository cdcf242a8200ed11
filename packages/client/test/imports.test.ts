/** A client before, during and after an import from another system. */
import { type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { finish, importItems } from '../../server/test/support/imports/imports.js'
import { sendText } from '../../server/test/support/messaging/messaging.js'
import { LogDevice } from './support/log-device.js'

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})

afterAll(() => server?.[Symbol.asyncDispose]())

it('import: a connected client and one that was away have the imported conversations after the end', async () => {
  const [alice, bob, carol] = await Promise.all(
    Array.from({ length: 3 }, () => server.api.newSession()),
  )
  if (!alice || !bob || !carol) throw new Error('no users were made')
  const options = { url: server.url, appId: server.appId, token: alice.token }
  using device = await LogDevice.start(options)
  await sendText(bob.api, alice.id, 'live')
  const peers = async () => (await device.logs()).size
  await waitFor(async () => (await peers()) === 1, {
    what: 'the live conversation',
    timeoutMs: 20_000,
  })
  const message = (external_id: string, created_at: number) => ({
    ...{ external_id, created_at, sender_id: carol.id, peer_id: alice.id, content: external_id },
  })
  await importItems(server, 'message', [message('a', 1.4e12), message('b', 1.5e12)])
  await finish(server)
  await waitFor(async () => (await peers()) === 2, {
    what: 'the imported conversation',
    timeoutMs: 20_000,
  })

  device.cut()
  await importItems(server, 'message', [message('c', 1.6e12)], 'second')
  await finish(server, 'second')
  await waitFor(async () => [...(await device.logs()).values()].some(({ seq }) => seq === 3), {
    what: 'the second import',
    timeoutMs: 20_000,
  })
  expect(device.errors).toEqual([])
})
