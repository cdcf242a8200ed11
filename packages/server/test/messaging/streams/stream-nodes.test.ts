/** A stream that is written on two nodes, with readers on both. */
import {
  GatewayClient,
  type ServerProcess,
  type Session,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownNodes } from '../../support/nodes/own-nodes.js'
import { append, begin, shown } from '../../support/messaging/streams.js'

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'streams on several nodes',
  (backend) => {
    const nodes = ownNodes(backend)

    async function open(node: ServerProcess, { token }: Session): Promise<GatewayClient> {
      const client = await GatewayClient.connect(node.url)
      await client.open({
        ...{ appId: node.appId, accessToken: token, features: ['streams'] },
      })
      return client
    }

    it('streams: readers of both nodes get the text in order, after the message', async () => {
      const [first, second] = nodes as [ServerProcess, ServerProcess]
      const [alice, bob] = [await first.api.newSession(), await first.api.newSession()]
      using near = await open(first, bob)
      using far = await open(second, bob)
      const msg_id = await begin(alice, bob)
      const words = Array.from({ length: 12 }, (_, index) => `word ${index} `)
      for (const [index, text] of words.entries()) {
        const node = nodes[index % 2] as ServerProcess
        await append({ api: node.api.as(alice.token) }, bob, { msg_id, index: index + 1, text })
      }
      // The bus may lose a message: a gap is what clients ask /message/get for.
      const textOf = (client: GatewayClient) => {
        let text = ''
        for (const { event, data } of client.events)
          if (event === 'message.delta') {
            expect(data).toMatchObject({ msg_id, offset: text.length })
            text += (data as { text: string }).text
          }
        return text
      }
      for (const client of [near, far]) {
        const what = 'the text on a device'
        await waitFor(() => textOf(client) === words.join(''), { what, timeoutMs: 10_000 })
        const kinds = client.events.map(({ event }) => event)
        expect(kinds.indexOf('message.stored')).toBeLessThan(kinds.indexOf('message.delta'))
      }
      const end = { msg_id, index: 13, text: '', end: { state: 'done' } }
      await append({ api: second.api.as(alice.token) }, bob, end)
      expect(await shown(bob, alice.id, msg_id)).toMatchObject({ content: words.join('') })
    })
  },
)
