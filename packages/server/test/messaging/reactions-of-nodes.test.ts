/** Reactions to one message on two nodes at once. */
import { type ServerProcess, startServer, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'reactions on several nodes',
  (backend) => {
    let database: Awaited<ReturnType<typeof backend.createDatabase>>
    const nodes: ServerProcess[] = []

    beforeAll(async () => {
      database = await backend.createDatabase()
      const options = {
        ...sharedTokens,
        databaseUrl: database.url as string,
        env: { HERMOD_CHECK_ANSWERS: 'on', ...sharedKey },
      }
      for (let index = 0; index < 2; index++) nodes.push(await startServer(options))
    })
    afterAll(async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
    })

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
  },
)
