/** Extreme values in imports: they neither break what readers see nor pass the limits of live calls. */
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownServer } from '../support/in-process-server.js'
import { importGroup, importItems, shown } from '../support/imports/imports.js'
import {
  history,
  integrityFaults,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'

const start = Date.UTC(2021, 4, 1)
const minute = 60_000
const distant = [Date.UTC(2099), 9_223_372_036_854_775_807n]

for (const backend of testBackends())
  describe(`limits of imports on ${backend.name}`, () => {
    const server = ownServer(backend)
    const texts = (count: number, place: object) =>
      Array.from({ length: count }, (_, index) => ({
        ...{ external_id: `m${index}`, created_at: start + index * minute, content: `${index}` },
        ...place,
      }))

    it('pinned: an instant of the future becomes that of the import, and the history can be read', async () => {
      const [alice, bob] = await sessions(server, 2)
      const before = Date.now()
      const items = texts(2, { sender_id: alice.id, peer_id: bob.id })
      await importItems(
        server,
        'message',
        items.map((item, index) => ({ ...item, pinned: { user_id: bob.id, at: distant[index] } })),
        'pinned',
      )
      for (const { pinned } of await history(bob.api, alice.id)) {
        expect(pinned?.at).toBeGreaterThanOrEqual(before)
        expect(pinned?.at).toBeLessThanOrEqual(Date.now())
      }
      expect(await integrityFaults(server)).toEqual([])
    })

    it('reactions: each of one user has its own time', async () => {
      const [alice, bob] = await sessions(server, 2)
      const [item] = texts(1, { sender_id: alice.id, peer_id: bob.id })
      const reactions = ['a', 'b'].map((key, index) => ({
        ...{ user_id: bob.id, key, created_at: start + 1 + index },
      }))
      await importItems(server, 'message', [{ ...item, reactions }], 'reactions')
      const stored = await server.sql.run(
        `select reaction, reacted_at from message_reactions where user_id = ${bob.id} order by 1`,
      )
      expect(stored.map(({ reacted_at }) => Number(reacted_at))).toEqual([start + 1, start + 2])
    })

    it('last_read: an instant of the future reads everything', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const group_id = await importGroup(server, alice.id, { external_id: 'future' })
      await importItems(server, 'message', texts(3, { sender_id: alice.id, group_id }), 'future')
      const members = [bob, carol].map(({ id }, index) => ({
        ...{ user_id: id, group_id, last_read: distant[index] },
      }))
      expect(shown(await importItems(server, 'member', members, 'future'))).toEqual([
        'stored',
        'stored',
      ])
      expect(await unreadCounts(carol.api)).toEqual({})
    })

    it('last_read: what a member may not see is not unread', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const group = { external_id: 'hidden', history_visible: false }
      const group_id = await importGroup(server, alice.id, group)
      await importItems(server, 'message', texts(10, { sender_id: alice.id, group_id }), 'hidden')
      const joined_at = start + 5 * minute
      const members = [
        { user_id: bob.id, group_id, joined_at, last_read: 0 },
        { user_id: carol.id, group_id, joined_at, last_read: start + 7 * minute },
      ]
      await importItems(server, 'member', members, 'hidden')
      const seen = await history(bob.api, group_id)
      expect(seen.map(({ content }) => content)).toEqual(['9', '8', '7', '6', '5'])
      expect(await unreadCounts(bob.api)).toEqual({ [group_id]: 5 })
      expect(await unreadCounts(carol.api)).toEqual({ [group_id]: 2 })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('members: one who comes after live messages has nothing unread without last_read', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const group_id = await importGroup(server, alice.id, { external_id: 'late' })
      await importItems(server, 'message', texts(3, { sender_id: alice.id, group_id }), 'late')
      await sendText(alice.api, group_id, 'live', { type: 2 })
      const members = [
        { user_id: bob.id, group_id },
        { user_id: carol.id, group_id, last_read: start },
      ]
      await importItems(server, 'member', members, 'late')
      expect(await unreadCounts(bob.api)).toEqual({})
      expect(await unreadCounts(carol.api)).toEqual({ [group_id]: 3 })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('capacity: above the maximum of the application is refused; without one it is the usual one', async () => {
      const [alice] = await sessions(server, 1)
      const capacities = [100_000, undefined, 100_001, 9_223_372_036_854_775_807n]
      const groups = capacities.map((capacity, index) => ({
        ...{ external_id: `c${index}`, owner_id: alice.id, name: 'Team', capacity },
      }))
      const results = await importItems(server, 'group', groups, 'capacity')
      expect(shown(results)).toEqual(['stored', 'stored', 'capacity_invalid', 'capacity_invalid'])
      const stored = await server.sql.run(
        `select capacity from groups where owner_id = ${alice.id} order by capacity`,
      )
      expect(stored.map(({ capacity }) => Number(capacity))).toEqual([2_000, 100_000])
    })

    it('members: where all of a call are refused, each has its reason', async () => {
      const [alice] = await sessions(server, 1)
      const group_id = await importGroup(server, alice.id, { external_id: 'refused' })
      await importItems(server, 'message', texts(3, { sender_id: alice.id, group_id }), 'refused')
      const members = [{ user_id: 5, group_id, last_read: 0 }]
      expect(shown(await importItems(server, 'member', members, 'refused'))).toEqual([
        'user_not_found',
      ])
    })

    it('last_read: own messages are read for the members of every step of a call', async () => {
      const [alice, bob] = await sessions(server, 2)
      const group_id = await importGroup(server, alice.id, { external_id: 'steps' })
      const items = texts(6, { sender_id: alice.id, group_id })
      const sent = items.map((item, index) => (index === 3 ? { ...item, sender_id: bob.id } : item))
      await importItems(server, 'message', sent, 'steps')
      const { data } = await server.api
        .as(server.operatorToken)
        .succeed('POST', '/operator/v1/user/import', {
          body: {
            app_id: server.appId,
            users: Array.from({ length: 200 }, (_, index) => ({ username: `step_${index}` })),
          },
        })
      const others = data.map(({ user_id }: { user_id: number }) => user_id)
      const members = [...others, bob.id].map((user_id) => ({ user_id, group_id, last_read: 0 }))
      await importItems(server, 'member', members, 'steps')
      expect(await unreadCounts(bob.api)).toEqual({ [group_id]: 2 })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('admins: those beyond the limit of a group are refused', async () => {
      const [alice] = await sessions(server, 1)
      const group_id = await importGroup(server, alice.id, { external_id: 'admins' })
      const { data } = await server.api
        .as(server.operatorToken)
        .succeed('POST', '/operator/v1/user/import', {
          body: {
            app_id: server.appId,
            users: Array.from({ length: 500 }, (_, index) => ({ username: `admin_${index}` })),
          },
        })
      const ids = [
        ...data.map(({ user_id }: { user_id: number }) => user_id),
        (await sessions(server, 1))[0].id,
      ]
      const members = ids.map((user_id) => ({ user_id, group_id, role: 1 }))
      const results = shown(await importItems(server, 'member', members, 'admins'))
      expect(results.filter((result) => result === 'stored')).toHaveLength(500)
      expect(results.at(-1)).toBe('admin_limit_reached')
    })
  })
