/** Messages of other systems: what an import stores, refuses and leaves alone. */
import { testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { ownServer } from '../support/in-process-server.js'
import {
  callImport,
  failureOf,
  finish,
  importGroup,
  importItems,
  shown,
} from '../support/imports/imports.js'
import {
  aDeletedUser,
  conversationList,
  history,
  integrityFaults,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { syncPage } from '../support/messaging/sync-client.js'

const day = 86_400_000
const start = Date.UTC(2021, 4, 1)
/** Messages of a conversation, a minute apart. */
function texts(count: number, more: object, from = 0) {
  return Array.from({ length: count }, (_, index) => ({
    external_id: `m${from + index}`,
    created_at: start + (from + index) * 60_000,
    content: `text ${from + index}`,
    ...more,
  }))
}

for (const backend of testBackends())
  describe(`imported messages on ${backend.name}`, () => {
    const server = ownServer(backend)

    it('message: parties read it in order with its times, nothing is unread, and no event is written', async () => {
      const [alice, bob] = await sessions(server, 2)
      const before = await outboxRows()
      const items = texts(5, { sender_id: alice.id, peer_id: bob.id })
      const results = await importItems(server, 'message', items, 'direct')
      expect(shown(results)).toEqual(Array(5).fill('stored'))
      expect(await outboxRows()).toBe(before)
      for (const { api, peer } of [
        { api: alice.api, peer: bob.id },
        { api: bob.api, peer: alice.id },
      ]) {
        const read = (await history(api, peer)).reverse()
        expect(read.map(({ content, timestamp, msg_id }) => [content, timestamp, msg_id])).toEqual(
          items.map(({ content, created_at }, index) => [
            content,
            created_at,
            results[index]?.msg_id,
          ]),
        )
        expect(read.every(({ status }) => status === 'READ')).toBe(true)
        expect((await unreadCounts(api))[peer] ?? 0).toBe(0)
      }
      const sent = await sendText(alice.api, bob.id, 'live')
      expect((await unreadCounts(bob.api))[alice.id]).toBe(1)
      expect(sent).toBeGreaterThan(Number(results.at(-1)?.msg_id))
      expect(await integrityFaults(server)).toEqual([])
    })

    it('list: conversations are in the order of their newest imported messages', async () => {
      const [alice, ...others] = await sessions(server, 4)
      const ages = [3, 1, 2]
      for (const [index, { id }] of others.entries())
        await importItems(
          server,
          'message',
          [
            {
              external_id: `list ${id}`,
              created_at: Date.now() - (ages[index] ?? 0) * day,
              sender_id: alice.id,
              peer_id: id,
              content: 'x',
            },
          ],
          'list',
        )
      const listed = await conversationList(alice.api)
      expect(listed.map(({ conversation_id }) => Number(conversation_id.uid))).toEqual([
        others[1]?.id,
        others[2]?.id,
        others[0]?.id,
      ])
    })

    it('repeat: the same items answer the same IDs and store nothing; another content is refused', async () => {
      const [alice, bob] = await sessions(server, 2)
      const items = texts(4, { sender_id: bob.id, peer_id: alice.id })
      const first = await importItems(server, 'message', items, 'repeat')
      const again = await importItems(server, 'message', [...items, ...items.slice(1)], 'repeat')
      expect(shown(again)).toEqual(Array(7).fill('known'))
      expect(again.slice(0, 4).map(({ msg_id }) => msg_id)).toEqual(
        first.map(({ msg_id }) => msg_id),
      )
      const other = { ...items[2], content: 'another text' }
      const fresh = { ...items[0], external_id: 'twice', created_at: start + day }
      const refused = await importItems(
        server,
        'message',
        [other, fresh, fresh, { ...fresh, content: 'y' }],
        'repeat',
      )
      expect(shown(refused)).toEqual(['import_conflict', 'stored', 'known', 'import_conflict'])
      expect(await history(alice.api, bob.id)).toHaveLength(5)
    })

    it('refusals: each item by its own reason, and the others are stored', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const deleted = await aDeletedUser(server)
      const good = {
        created_at: start,
        sender_id: alice.id,
        peer_id: bob.id,
        content: 'x',
      }
      const live = await sendText(alice.api, carol.id, 'live')
      expect(live).toBeGreaterThan(0)
      const items = [
        good,
        { ...good, created_at: Date.now() + day },
        { ...good, created_at: Date.UTC(1999, 11, 31) },
        { ...good, created_at: start - 1 },
        { ...good, sender_id: 5 },
        { ...good, peer_id: deleted },
        { ...good, group_id: 7 },
        { ...good, peer_id: undefined },
        { ...good, peer_id: undefined, group_id: 9 },
        { ...good, peer_id: carol.id },
        { ...good, content: '' },
        { ...good, content: 'x'.repeat(70_000) },
        { ...good, content_type: 9 },
        { ...good, odd: true },
        good,
      ]
      const results = await importItems(
        server,
        'message',
        items.map((item, index) => ({ external_id: `r${index}`, ...item })),
        'refusals',
      )
      expect(shown(results)).toEqual([
        'stored',
        'invalid_parameter',
        'invalid_parameter',
        'import_order',
        'user_not_found',
        'user_deleted',
        'invalid_parameter',
        'invalid_parameter',
        'group_not_found',
        'import_after_live',
        'invalid_parameter',
        'message_too_large',
        'invalid_parameter',
        'invalid_parameter',
        'stored',
      ])
      expect(results.map(({ external_id }) => external_id)).toEqual(
        items.map((_, index) => `r${index}`),
      )
      expect(await history(alice.api, bob.id)).toHaveLength(2)
      const many = Array.from({ length: 1_001 }, (_, index) => ({
        ...good,
        external_id: `n${index}`,
      }))
      const tooMany = await callImport(server, 'message', many, 'refusals')
      expect(failureOf(tooMany)).toBe('invalid_parameter')
      const odd = await callImport(server, 'message', [good], 'a b/c')
      expect(failureOf(odd)).toBe('invalid_parameter')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('group: replies, reactions and pins are parts of messages; what cannot be kept is named', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const group_id = await importGroup(server, alice.id)
      const items = [
        { external_id: 'g1', content: 'first' },
        {
          external_id: 'g2',
          content: 'second',
          reply_to: 'g1',
          reactions: [
            { user_id: bob.id, key: '👍', created_at: start + 1 },
            { user_id: carol.id, key: '👍' },
            { user_id: 5, key: '👎' },
          ],
          pinned: { user_id: carol.id, at: start + 5 },
        },
        { external_id: 'g3', content: 'third', reply_to: 'nothing' },
      ].map((item, index) => ({
        ...item,
        created_at: start + index,
        sender_id: bob.id,
        group_id,
      }))
      const results = await importItems(server, 'message', items)
      expect(results.map(({ left_out }) => left_out?.map((each) => each.split(':')[0]))).toEqual([
        undefined,
        ['reactions'],
        ['reply_to'],
      ])
      const members = [bob.id, carol.id].map((user_id) => ({ user_id, group_id }))
      expect(shown(await importItems(server, 'member', members))).toEqual(['stored', 'stored'])
      const [third, second, first] = await history(carol.api, group_id)
      expect([first?.content, second?.content, third?.content]).toEqual([
        'first',
        'second',
        'third',
      ])
      expect(second).toMatchObject({
        reply_to: { msg_id: first?.msg_id },
        reactions: [{ key: '👍', count: 2, latest: [bob.id, carol.id].sort((a, b) => a - b) }],
        pinned: { by: carol.id, at: start + 5 },
      })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('members: last_read makes later messages unread; without it everything is read', async () => {
      const [alice, bob, carol, dora] = await sessions(server, 4)
      const group_id = await importGroup(server, alice.id, { external_id: 'unread' })
      await importItems(server, 'message', texts(10, { sender_id: alice.id, group_id }), 'unread')
      const members = [
        { user_id: bob.id, group_id, last_read: start + 6 * 60_000 + 5, role: 1 },
        { user_id: carol.id, group_id, joined_at: start },
        { user_id: dora.id, group_id, last_read: 0 },
      ]
      await importItems(server, 'member', members, 'unread')
      const counts = () =>
        Promise.all(
          [bob, carol, dora].map(async ({ api }) => (await unreadCounts(api))[group_id] ?? 0),
        )
      expect(await counts()).toEqual([3, 0, 10])
      await importItems(
        server,
        'message',
        texts(2, { sender_id: alice.id, group_id }, 10),
        'unread',
      )
      expect(await counts()).toEqual([5, 0, 12])
      const later = members.map((each) => ({ ...each, last_read: start + 10 * 60_000 }))
      expect(shown(await importItems(server, 'member', later, 'unread'))).toEqual(
        Array(3).fill('known'),
      )
      expect(await counts()).toEqual([1, 1, 1])
      await importItems(server, 'member', members, 'unread')
      // Without last_read everything is read; an earlier last_read takes nothing back.
      expect(await counts()).toEqual([1, 0, 1])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('direct: last_read of a party makes later messages unread', async () => {
      const [alice, bob] = await sessions(server, 2)
      await importItems(
        server,
        'message',
        texts(6, { sender_id: alice.id, peer_id: bob.id }),
        'direct-read',
      )
      const item = { user_id: bob.id, peer_id: alice.id, last_read: start + 60_000 }
      await importItems(server, 'member', [item], 'direct-read')
      expect((await unreadCounts(bob.api))[alice.id]).toBe(4)
      const none = [{ user_id: bob.id, peer_id: bob.id }]
      expect(shown(await importItems(server, 'member', none, 'direct-read'))).toEqual([
        'conversation_not_found',
      ])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('finish: the source takes nothing more, and clients that synced before read their lists anew', async () => {
      const [alice, bob] = await sessions(server, 2)
      await sendText(alice.api, bob.id, 'live')
      const sync = (after?: string) => syncPage(alice.api, { ...(after && { after }) })
      const { pos } = await sync()
      const items = texts(1, { sender_id: alice.id, peer_id: alice.id })
      await importItems(server, 'message', items, 'done')
      expect(failureOf(await finish(server, 'unknown'))).toBe('import_not_found')
      const { envelope } = await finish(server, 'done')
      expect(envelope.data).toMatchObject({ source: 'done', messages: 1, groups: 0 })
      expect((await finish(server, 'done')).envelope.data).toEqual(envelope.data)
      for (const kind of ['group', 'message', 'member'] as const)
        expect(failureOf(await callImport(server, kind, [{}], 'done'))).toBe('import_finished')
      expect((await sync(pos)).reset).toBe('epoch')
      const anew = await sync()
      expect(anew.heads).toHaveLength(2)
      expect((await sync(anew.pos)).reset).toBeFalsy()
      const left = await server.sql.run(
        "select count(*) as n from imported_items where source = 'done'",
      )
      expect(Number(left[0]?.n)).toBe(0)
    })

    it('finish: forgets many IDs, in a table without statistics', async () => {
      const { appId, sql } = server
      const [alice] = await sessions(server, 1)
      await importItems(
        server,
        'message',
        texts(1, { sender_id: alice.id, peer_id: alice.id }),
        'many',
      )
      await sql.run(`insert into imported_items (app_id, source, kind, external_id, item_id, low_id, high_id, seq, hash, user_id)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${20_000})
        select '${appId}', 'many', 1, 'm' || n, n, 1, 1, n, '', 1 from numbers`)
      expect((await finish(server, 'many')).code).toBe(200)
      expect(await sql.run("select 1 from imported_items where source = 'many' limit 1")).toEqual(
        [],
      )
    })

    async function outboxRows(): Promise<number> {
      const rows = await server.sql.run('select count(*) as n from outbox')
      return Number(rows[0]?.n)
    }
  })
