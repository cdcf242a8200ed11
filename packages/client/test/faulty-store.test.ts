import { type ServerProcess, startServer, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClientWith } from '../src/create-client.js'
import { nodePorts } from '../src/node/node-ports.js'
import { memoryStore } from '../src/stores/memory-store.js'
import { FaultyStore } from './support/faulty-store.js'

describe('a client with a store that fails', () => {
  let server: ServerProcess

  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server?.[Symbol.asyncDispose]())

  /** Sends two messages and receives one, with a store that fails at a call. */
  async function play(failAt: number, error: ConstructorParameters<typeof FaultyStore>[2]) {
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    const store = new FaultyStore(memoryStore(), failAt, error)
    const errors: unknown[] = []
    const client = createClientWith(
      {
        url: server.url,
        appId: server.appId,
        userId: alice.id,
        token: () => alice.token,
        onError: (each) => errors.push(each),
      },
      { ...nodePorts, openStore: async () => store },
    )
    try {
      const conversation = client.direct(bob.id)
      const { messages } = conversation
      messages.subscribe(() => {})
      const sent = conversation.send('one')
      await client.connect()
      await sent
      const body = { type: 1, content_type: 0, targets: [alice.id], content: 'two' }
      await bob.api.succeed('POST', '/message/send', { body })
      await conversation.send('three')
      const texts = () => messages.getSnapshot().messages.map(({ text, id }) => id > 0 && text)
      await waitFor(() => texts().length === 3 && texts().every((text) => text !== false), {
        what: `three stored messages after a failure of call ${failAt}`,
        timeoutMs: 10_000,
      })
      return { texts: texts(), isDurable: client.isDurable.getSnapshot(), errors, store }
    } finally {
      await client.close()
    }
  }

  it('shows all messages once, whichever call fails, and says that it is not durable', async () => {
    const works = await play(Number.POSITIVE_INFINITY, 'quota')
    expect(works.isDurable).toBe(true)
    expect(works.store.calls).toBeGreaterThan(6)
    for (let call = 1; call <= works.store.calls; call++) {
      const failure = call % 2 === 0 ? 'quota' : 'unavailable'
      const { texts, isDurable, errors } = await play(call, failure)
      expect(texts.toSorted()).toEqual(['one', 'three', 'two'])
      expect(errors).toEqual([])
      // The last calls of the first run may not come again.
      if (call < works.store.calls - 2) expect([call, isDurable]).toEqual([call, false])
    }
  })

  it('reports an error that no store should throw, and continues in memory too', async () => {
    const fault = new Error('a fault of the store')
    const { texts, isDurable, errors } = await play(3, fault)
    expect(texts).toHaveLength(3)
    expect(isDurable).toBe(false)
    expect(errors).toEqual([fault])
  })
})
