/** Reactions to one message on two nodes at once. */
import { type ServerProcess, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownNodes } from '../support/nodes/own-nodes.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'reactions on several nodes',
  (backend) => {
    const nodes = ownNodes(backend)

    it('reaction: after changes on both nodes at once each user has what it wanted last', async () => {
      const [first] = nodes as [ServerProcess, ServerProcess]
      const random = new Random(20_260_101)
      const users = await Promise.all(Array.from({ length: 6 }, () => first.api.newSession()))
      const [owner, ...members] = users
      if (!owner) throw new Error('no users were made')
      const group = await aGroup(owner, { members })
      const msg_id = await sendToGroup(owner.api, group, 'text')
      const named = { conversation_id: group, msg_id }
      const keys = ['a', 'b', 'c']
      const wanted = new Map<number, Set<string>>()
      await Promise.all(
        users.map(async ({ id }, index) => {
          const own = new Set<string>()
          wanted.set(id, own)
          for (let step = 0; step < 12; step++) {
            const node = nodes[(index + step) % 2] as ServerProcess
            const key = random.pick(keys)
            const on = !own.has(key)
            const body = { ...named, type: 2, key, on }
            await node.api.admin({ userId: id }).succeed('POST', '/message/reaction', { body })
            if (on) own.add(key)
            else own.delete(key)
          }
        }),
      )
      for (const { id } of users) {
        const { data } = await first.api
          .admin({ userId: id })
          .succeed('GET', '/message/get', { query: named })
        expect(new Set(data.message.own ?? [])).toEqual(wanted.get(id))
      }
      expect(await integrityFaults(first)).toEqual([])
    })

    it('reaction: on and off at once on both nodes leave one of the two, and sums that equal the rows', async () => {
      const [first, second] = nodes as [ServerProcess, ServerProcess]
      const [alice, bob] = await Promise.all([first.api.newSession(), first.api.newSession()])
      const msg_id = await sendText(alice.api, bob.id, 'text')
      for (let round = 0; round < 5; round++) {
        const calls = [true, false].map((on) => {
          const body = { conversation_id: alice.id, type: 1, msg_id, key: 'a', on }
          const { api } = on ? first : second
          return api.admin({ userId: bob.id }).succeed('POST', '/message/reaction', { body })
        })
        await Promise.all(calls)
        const query = { conversation_id: bob.id, msg_id }
        const { data } = await alice.api.succeed('GET', '/message/get', { query })
        const sums = [{ key: 'a', count: 1, latest: [bob.id] }]
        expect([undefined, sums]).toContainEqual(data.message.reactions)
      }
      expect(await integrityFaults(first)).toEqual([])
    })
  },
)
