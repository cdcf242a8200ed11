import { expect, it, vi } from 'vitest'
import type { Database } from '../db/database.js'
import { ConsumerRunner } from './consumer-runner.js'
import type { OutboxStore } from './outbox-store.js'
import type { Positions } from './positions.js'

it('a flood of wakes for apps that do not exist is bounded, and keeps no other app out', async () => {
  const asked: string[] = []
  const runner = new ConsumerRunner({
    database: { read: async () => 0 } as unknown as Database,
    store: {} as OutboxStore,
    messages: { count: () => 0 } as never,
    consumer: {
      name: 'files',
      needs: async (appId) => {
        asked.push(appId)
        return false
      },
      async handle() {},
      async missed() {},
    },
    positions: {
      get: async () => 0,
      listBehind: async () => [{ appId: 'shop', position: 0, head: 0 }],
    } as unknown as Positions,
    share: { isHeld: true },
    observer: { lagging() {}, reached() {}, missed() {}, failed() {} },
    retryMs: 10,
  })
  await runner.start()
  await vi.waitFor(() => expect(asked).toContain('shop'))
  for (let count = 0; count < 50_000; count++) runner.wake(`none-${count}`)
  asked.splice(0)
  await runner.poll()
  await vi.waitFor(() => expect(asked).toContain('shop'), 20_000)
  expect(new Set(asked).size).toBeLessThan(11_000)
  await runner.stop()
})
