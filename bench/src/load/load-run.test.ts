import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type LoadOrder, runLoad } from './load-run.js'

const plan = {
  kind: 'send',
  appId: 'app',
  users: [{ id: 1, token: 'hmu_1' }],
  offsets: [[0]],
  firstTransaction: 1,
  requests: 10,
} as const

async function loadOf(order: Partial<LoadOrder>) {
  const body = '{"code":200}'
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-length', body.length).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const base = { port, plan, connections: 2, minBodyBytes: 0, warmUpMs: 20, measureMs: 20 }
    return await runLoad({ ...base, ...order }, { measuring: () => {}, measured: () => {} })
  } finally {
    server.close()
  }
}

test('a plan that ends before the time is an error', async () => {
  const { taken, succeededInAll, errors, errorSamples } = await loadOf({
    taken: 4,
    measureMs: 500,
  })
  expect({ taken, succeededInAll, errors }).toEqual({ taken: 6, succeededInAll: 6, errors: 1 })
  expect(errorSamples).toEqual(['the plan ended before the time'])
})

test('a run without an end in time takes what is left of its plan', async () => {
  const result = await loadOf({ taken: 4, measureMs: null })
  expect(result).toMatchObject({ taken: 6, succeeded: 6, errors: 0 })
})

test('the requests of the warm-up are taken as well', async () => {
  const { requests: _, ...endless } = plan
  const { taken, issued, succeeded, succeededInAll, errors } = await loadOf({ plan: endless })
  expect(taken).toBeGreaterThan(issued)
  expect(succeededInAll).toBe(taken)
  expect(succeeded).toBeLessThan(succeededInAll)
  expect(errors).toBe(0)
})
