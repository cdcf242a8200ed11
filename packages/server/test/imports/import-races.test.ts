/** Imports at the same time as others and as live messages; their messages under retention and holds. */
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownServer } from '../support/in-process-server.js'
import { importGroup, importItems, shown } from '../support/imports/imports.js'
import { keepHistory, Retention } from '../support/messaging/history-retention.js'
import {
  contents,
  history,
  integrityFaults,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'

const start = Date.UTC(2021, 4, 1)
const day = 86_400_000
const count = 40

function texts(prefix: string, place: object) {
  return Array.from({ length: count }, (_, index) => ({
    ...{ external_id: `${prefix}${index}`, created_at: start, content: `${prefix}${index}` },
    ...place,
  }))
}

for (const backend of testBackends())
  describe(`imports at the same time on ${backend.name}`, () => {
    const server = ownServer(backend)

    it('one source: the same call three times at once stores each message once', async () => {
      const [alice, bob] = await sessions(server, 2)
      const items = texts('same', { sender_id: alice.id, peer_id: bob.id })
      const calls = await Promise.all(
        Array.from({ length: 3 }, () => importItems(server, 'message', items, 'same')),
      )
      const results = calls.flat()
      expect(shown(results).filter((result) => result === 'stored')).toHaveLength(count)
      expect(shown(results).filter((result) => result === 'known')).toHaveLength(2 * count)
      expect(new Set(results.map(({ msg_id }) => msg_id)).size).toBe(count)
      expect(await contents(bob.api, alice.id)).toHaveLength(count)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('two sources: both fill a new conversation and a group, each in its order', async () => {
      const [alice, bob] = await sessions(server, 2)
      const group_id = await importGroup(server, alice.id, { external_id: 'raced' })
      for (const [place, peer] of [
        [{ peer_id: bob.id }, bob.id],
        [{ group_id }, group_id],
      ] as const) {
        const sources = ['first', 'second'].map((source) => ({
          source,
          items: texts(`${source}${peer}/`, { sender_id: alice.id, ...place }),
        }))
        const calls = await Promise.all(
          sources.map(({ source, items }) => importItems(server, 'message', items, source)),
        )
        expect(shown(calls.flat())).toEqual(Array(2 * count).fill('stored'))
        const read = (await history(alice.api, peer)).reverse()
        for (const { items, source } of sources)
          expect(
            read.map(({ content }) => content).filter((content) => content.startsWith(source)),
          ).toEqual(items.map(({ content }) => content))
      }
      expect(await integrityFaults(server)).toEqual([])
    })

    it('a live message: it comes after the whole call, or the whole call is refused', async () => {
      const [alice, ...others] = await sessions(server, 9)
      for (const [index, bob] of others.entries()) {
        const items = texts(`live${index}/`, { sender_id: alice.id, peer_id: bob.id })
        const [results] = await Promise.all([
          importItems(server, 'message', items, 'live'),
          sendText(alice.api, bob.id, 'live'),
        ])
        const [result] = shown(results)
        expect(['stored', 'import_after_live']).toContain(result)
        expect(shown(results)).toEqual(Array(count).fill(result))
        const stored = result === 'stored' ? items.map(({ content }) => content) : []
        const read = (await history(bob.api, alice.id)).reverse()
        expect(read.map(({ content }) => content)).toEqual([...stored, 'live'])
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      }
      expect(await integrityFaults(server)).toEqual([])
    })

    it('retention: the age counts from created_at, a hold keeps it, and the end of a conversation stays', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const operator = server.api.as(server.operatorToken)
      const app_id = server.appId
      await keepHistory(operator, app_id, 30)
      // Younger than what the maintenance of the server itself would remove.
      const first = Date.now() - 25 * day
      const aged = (peer_id: number, days: readonly number[]) =>
        days.map((age) => ({
          ...{ external_id: `${peer_id}/${age}`, created_at: first + age * day },
          ...{ sender_id: alice.id, peer_id, content: `day ${age}` },
        }))
      const items = [bob, carol].flatMap(({ id }) => aged(id, [0, 1, 20]))
      await importItems(server, 'message', items, 'aged')
      const held = [alice.id, carol.id]
      const hold = { app_id, name: 'case', reason: 'x', conversation: held }
      await operator.succeed('POST', '/operator/v1/hold/set', { body: hold })
      await using retention = new Retention(server.place)
      await retention.run(app_id, first + 10 * day)
      expect(await contents(bob.api, alice.id)).toEqual(['day 20'])
      expect(await contents(carol.api, alice.id)).toHaveLength(3)
      await retention.run(app_id, first + 24 * day)
      expect(await contents(bob.api, alice.id)).toEqual([])
      const later = await importItems(server, 'message', aged(bob.id, [19, 21]), 'aged')
      expect(shown(later)).toEqual(['import_order', 'stored'])
      expect(await contents(bob.api, alice.id)).toEqual(['day 21'])
      expect(await integrityFaults(server)).toEqual([])
    })
  })
