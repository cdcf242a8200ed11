/** Catching up: pages of sync, changes of logs, and receipts of group messages. */
import { anyBackend, GatewayClient, type Json, testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timestampOf } from '../../dist/lib/ids/ids.js'
import { answerCode } from '../support/answer-codes.js'
import { block, PeoplePool, type Person } from '../support/contacts.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { FieldChanges } from '../support/messaging/field-changes.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  integrityFaults,
  notify,
  sendText,
} from '../support/messaging/messaging.js'
import {
  broadcasts,
  changesPage,
  direct,
  groupLog,
  nameOf,
  SyncClient,
  syncPage,
  trySync,
} from '../support/messaging/sync-client.js'

const userChangeKinds = { contact: 0, group: 2 }

for (const backend of testBackends()) {
  describe(`sync on ${backend.name}`, () => {
    let server: InProcessServer
    let people: PeoplePool
    let retention: Retention
    let fieldChanges: FieldChanges

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      people = new PeoplePool(server, 60)
      retention = new Retention(server.place)
      fieldChanges = new FieldChanges(server.place)
    })

    afterAll(async () => {
      await fieldChanges?.[Symbol.asyncDispose]()
      await retention?.[Symbol.asyncDispose]()
      await server?.[Symbol.asyncDispose]()
    })

    const take = async (count: number) => (await people.take(count)) as [Person, ...Person[]]

    it('sync: a delta has the logs that changed, with all changes above what the client holds', async () => {
      const [alice, bob, carol] = (await people.take(3)) as [Person, Person, Person]
      const first = await sendText(bob.api, alice.id, 'first')
      await sendText(carol.api, alice.id, 'from carol')
      const client = new SyncClient(alice.api)
      await client.syncToEnd()
      await operate(bob.api, 'append', { peer: alice.id, message: first, content: '!' })
      const second = await sendText(bob.api, alice.id, 'second')
      await recall(bob.api, alice.id, second)
      const { heads, list, more, pos } = await syncPage(alice.api, { after: client.pos })
      expect([list, more]).toEqual([false, false])
      const log = direct(alice.id, bob.id)
      expect(heads).toEqual([
        expect.objectContaining({ log, kind: 'direct', change: 4, seq: 2, unread: 1, from: 1 }),
      ])
      expect(heads[0]?.changes).toEqual([
        {
          event: 'message.replaced',
          change: 2,
          data: expect.objectContaining({ msg_id: first, seq: 1, content: 'first!' }),
        },
        {
          event: 'change.skipped',
          change: 3,
          data: { conversation: log, seq: 2, sender_id: bob.id, is_system: false },
        },
        {
          event: 'message.recalled',
          change: 4,
          data: expect.objectContaining({ msg_id: second, seq: 2, actor_id: bob.id }),
        },
      ])
      expect(await syncPage(alice.api, { after: pos as string })).toMatchObject({
        heads: [],
        gone: [],
        user: [],
        more: false,
      })
    })

    it('sync: changed fields are in history and sync, and their number has the whole message', async () => {
      const [alice, bob] = (await people.take(2)) as [Person, Person]
      const messageId = await sendText(alice.api, bob.id, 'text')
      const client = new SyncClient(bob.api)
      await client.syncToEnd()
      const pinned = { by: alice.id, at: 1_000 }
      const change = { messageId, actorId: alice.id, set: { pinned } }
      await fieldChanges.direct('test', [alice.id, bob.id], change)
      await operate(alice.api, 'append', { peer: bob.id, message: messageId, content: '!' })
      const [shown] = await history(bob.api, alice.id)
      expect(shown).toMatchObject({ content: 'text!', pinned })
      const log = direct(alice.id, bob.id)
      const { changes } = await changesPage(bob.api, log, 1)
      expect(changes).toEqual([
        { event: 'change.skipped', change: 2, data: { conversation: log } },
        { event: 'message.replaced', change: 3, data: expect.objectContaining({ pinned }) },
      ])
      await fieldChanges.direct('test', [alice.id, bob.id], { ...change, set: { pinned: null } })
      const { heads } = await syncPage(bob.api, { after: client.pos })
      expect(heads[0]?.changes.at(-1)).toMatchObject({ event: 'message.replaced', change: 4 })
      expect(JSON.stringify(heads)).not.toContain('pinned')
      expect(await integrityFaults(server)).toEqual([])
    })

    it('sync: several messages of one log are changed at once, each with a number of its own', async () => {
      const [alice, bob] = (await people.take(2)) as [Person, Person]
      const ids = [await sendText(alice.api, bob.id, 'a'), await sendText(bob.api, alice.id, 'b')]
      const pinned = { by: bob.id, at: 5 }
      const changes = ids.map((messageId) => ({ messageId, actorId: bob.id, set: { pinned } }))
      await fieldChanges.direct('test', [alice.id, bob.id], ...changes)
      const page = await changesPage(alice.api, direct(alice.id, bob.id), 2)
      expect(page.changes.map(({ change, data }) => [change, data])).toMatchObject([
        [3, { msg_id: ids[0], pinned }],
        [4, { msg_id: ids[1], pinned }],
      ])
    })

    it('sync: sessions that announce changes.skipped get skipped numbers in a row as one entry', async () => {
      const [bob] = await take(1)
      const alice = await server.api.newSession()
      const messageId = await sendText(alice.api, bob.id, 'text')
      for (let at = 1; at <= 150; at++) {
        const change = { messageId, actorId: bob.id, set: { pinned: { by: bob.id, at } } }
        await fieldChanges.direct('test', [alice.id, bob.id], change)
      }
      const log = direct(alice.id, bob.id)
      const entries = async (features: readonly string[]) => {
        using client = await GatewayClient.connect(server.url)
        await client.open({ appId: server.appId, accessToken: alice.token, features })
        const page = await client.succeed('message.changes', { log, after_change: 1 })
        const have = [{ log, change: 1 }]
        const sync = await client.succeed('message.sync', { list: true, limit: 1, have })
        return [page.data.changes, sync.data.heads[0].changes] as Json[][]
      }
      const whole = { event: 'message.replaced', change: 151 }
      const run = { event: 'changes.skipped', change: 150, data: { conversation: log, count: 149 } }
      for (const changes of await entries(['changes.skipped']))
        expect(changes).toMatchObject([run, whole])
      const [page = [], head] = await entries([])
      expect(page.map(({ event }) => event)).toEqual(Array(100).fill('change.skipped'))
      expect(head).toEqual([])
    })

    it('sync: the transaction ID of a message is for its sender', async () => {
      const [alice, bob] = (await people.take(2)) as [Person, Person]
      await sendText(alice.api, bob.id, 'text', { transaction_id: '9007199254740993' })
      const messageOf = async ({ api }: Person) =>
        (await syncPage(api, {})).heads[0]?.messages?.[0]?.transaction_id
      expect(await messageOf(alice)).toBe('9007199254740993')
      expect(await messageOf(bob)).toBeUndefined()
    })

    it('sync: the list has empty groups and deleted conversations, and both logs of a peer together', async () => {
      const admin = await anApplication(server)
      const [alice, bob, carol] = (await addUsers(admin, 3)) as [Person, Person, Person]
      const empty = await aGroup(alice)
      await sendText(alice.api, bob.id, 'to be deleted')
      await deleteConversation(alice.api, bob.id)
      await sendText(carol.api, alice.id, 'direct')
      await sendText(bob.api, alice.id, 'again')
      await deleteConversation(alice.api, bob.id)
      await broadcast(admin, 'to all', { from_user_id: carol.id })
      const client = new SyncClient(alice.api)
      await client.sync({ limit: 1 })
      expect([...client.logs.keys()].slice(0, 2)).toEqual([
        nameOf(direct(alice.id, carol.id)),
        nameOf(broadcasts(carol.id)),
      ])
      await client.syncToEnd({ limit: 1 })
      expect([...client.logs.keys()].slice(2)).toEqual([
        nameOf(direct(alice.id, bob.id)),
        nameOf(groupLog(empty)),
      ])
      expect(client.held(direct(alice.id, bob.id))?.head).toMatchObject({
        seq: 2,
        unread: 0,
        latest_msg_id: 0,
        messages: [],
      })
      expect(client.held(groupLog(empty))?.head).toMatchObject({
        ...{ change: 0, seq: 0, status: 0, group_type: 0 },
      })
    })

    it('sync: a walk over the list misses no log, whatever is written meanwhile', async () => {
      const [alice, ...others] = await take(8)
      for (const other of others) await sendText(other.api, alice.id, 'before')
      const client = new SyncClient(alice.api)
      await client.sync({ limit: 2, window: 1 })
      const last = others[0] as Person
      // It moves from the end of the list to its beginning.
      await sendText(last.api, alice.id, 'meanwhile')
      const group = await aGroup(alice)
      while (client.cursor !== '') await client.readRest({ limit: 2, window: 1 })
      await client.sync()
      expect(client.logs.size).toBe(others.length + 1)
      expect(client.held(groupLog(group))).toBeDefined()
      const held = client.held(direct(alice.id, last.id))
      expect([...(held?.messages.values() ?? [])].map(({ content }) => content)).toContain(
        'meanwhile',
      )
    })

    it('sync: a group that the user has left is gone, and so is a log that never was', async () => {
      const [alice, bob, carol] = (await people.take(3)) as [Person, Person, Person]
      const group = await aGroup(alice, { members: [bob] })
      const client = new SyncClient(bob.api)
      await client.syncToEnd()
      expectSuccess(await groupCall(alice.api, '/group/kick', group, { user_list: [bob.id] }))
      const other = direct(alice.id, carol.id)
      const page = await syncPage(bob.api, {
        after: client.pos,
        have: [{ log: other, change: 3 }],
      })
      expect(page.gone.map(nameOf).toSorted()).toEqual(
        [nameOf(other), nameOf(groupLog(group))].toSorted(),
      )
      expect(page.user).toContainEqual({ kind: userChangeKinds.group, ref: group })
    })

    it('sync: a group that the user has joined comes with its newest messages', async () => {
      const [alice, bob] = (await people.take(2)) as [Person, Person]
      const group = await aGroup(alice)
      expectSuccess(
        await groupCall(alice.api, '/group/settings/history_visible', group, { value: true }),
      )
      await sendToGroup(alice.api, group, 'before')
      const { pos = '' } = await syncPage(bob.api, {})
      expectSuccess(
        await groupCall(alice.api, '/group/admin/member_join', group, { user_list: [bob.id] }),
      )
      const { heads } = await syncPage(bob.api, { after: pos })
      expect(heads).toEqual([expect.objectContaining({ log: groupLog(group), change: 1 })])
      expect(heads[0]?.messages?.map(({ content }) => content)).toEqual(['before'])
    })

    it('sync: the things of the user that changed are named once', async () => {
      const [alice, bob] = (await people.take(2)) as [Person, Person]
      const { pos = '' } = await syncPage(alice.api, {})
      await block(alice.api, bob.id)
      await alice.api.call('DELETE', '/roster/unblock', { query: { user_id: bob.id } })
      const page = await syncPage(alice.api, { after: pos })
      expect(page.user).toEqual([{ kind: userChangeKinds.contact, ref: bob.id }])
      expect((await syncPage(bob.api, { after: pos })).user).toEqual([])
    })

    it('sync: many changed things of the user come page by page, in deltas and in the list', async () => {
      const admin = await anApplication(server)
      const [alice, bob] = (await addUsers(admin, 2)) as [Person, Person]
      const { appId } = admin.options
      await sendText(bob.api, alice.id, 'text')
      const { pos = '' } = await syncPage(alice.api, {})
      const [{ position: head = 0 } = {}] = await server.sql.run(
        `select position from outbox_heads where app_id = '${appId}'`,
      )
      const count = 2_300
      const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
      const payload = JSON.stringify({ actor_id: alice.id, user_ids: [1] })
      await server.sql.run(
        `insert into outbox (app_id, position, kind, payload, created_at) ${numbers}
          select '${appId}', ${Number(head)} + i, 'contact.blocked', '${payload}', 1 from n`,
      )
      await server.sql.run(
        `insert into user_changes (app_id, user_id, kind, ref, position) ${numbers}
          select '${appId}', ${alice.id}, 0, i, ${Number(head)} + i from n`,
      )
      await server.sql.run(
        `update outbox_heads set position = position + ${count} where app_id = '${appId}'`,
      )
      for (const list of [false, true]) {
        const client = new SyncClient(alice.api)
        client.pos = pos
        await client.syncToEnd({ list })
        expect(client.stale.size).toBe(count)
        expect(client.calls.sync).toBe(3)
        expect((await syncPage(alice.api, { after: client.pos })).user).toEqual([])
      }
    })

    it('sync: notifications leave the read position of the system, and a message of the system moves it', async () => {
      const [alice] = await take(1)
      const peerReadSeq = async () =>
        (await syncPage(alice.api, {})).heads.map(({ peer_read_seq }) => peer_read_seq)
      await notify(server.api.admin(), alice.id, 'welcome')
      expect(await peerReadSeq()).toEqual([0])
      await sendText(server.api.admin(), alice.id, 'hello')
      await notify(server.api.admin(), alice.id, 'again')
      expect(await peerReadSeq()).toEqual([2])
    })

    it('sync: heads come whole, and lose their messages when these do not fit', async () => {
      const [alice, bob, carol] = (await people.take(3)) as [Person, Person, Person]
      const large = 'x'.repeat(60_000)
      for (let number = 0; number < 6; number++) await sendText(bob.api, alice.id, large)
      await sendText(carol.api, alice.id, 'small')
      const page = await syncPage(alice.api, { window: 50 })
      expect(page.heads.map(({ seq }) => seq)).toEqual([1, 6])
      expect(page.heads.map(({ messages }) => messages?.length)).toEqual([1, undefined])
      const log = direct(alice.id, bob.id)
      const named = await syncPage(alice.api, {
        after: page.pos as string,
        have: [{ log, change: 3 }],
      })
      expect(named.heads).toEqual([expect.objectContaining({ log, from: 3 })])
      expect(named.heads[0]?.changes).toHaveLength(3)
      const first = await changesPage(alice.api, log, 0)
      expect(first).toMatchObject({ from: 0, next: 4, change: 6 })
      expect((await changesPage(alice.api, log, 4)).next).toBe(6)
    })

    it('sync: a pos of another history resets the client, and one whose rows are gone gets the list', async () => {
      const admin = await anApplication(server)
      const [alice, bob] = (await addUsers(admin, 2)) as [Person, Person]
      const appId = admin.options.appId
      await sendText(bob.api, alice.id, 'one')
      const { pos = '', epoch } = await syncPage(alice.api, {})
      await sendText(bob.api, alice.id, 'two')
      const [, position = '', time = ''] = pos.split('.')
      const later = (text: string) => (Number.parseInt(text, 36) + 7).toString(36)
      for (const [what, after] of [
        ['another epoch', `0-0.${position}.${time}`],
        ['the future', `${epoch}.${later(position)}.${time}`],
        ['a replaced history', `${epoch}.${position}.${later(time)}`],
      ] as const)
        expect(await syncPage(alice.api, { after }), what).toEqual({
          ...{ epoch, reset: 'epoch', list: false, heads: [], gone: [], user: [], more: false },
        })
      expect(await syncPage(alice.api, { after: pos })).toMatchObject({ list: false })
      await server.sql.run(`delete from outbox where app_id = '${appId}'`)
      const page = await syncPage(alice.api, { after: pos })
      expect(page).toMatchObject({ list: true, heads: [{ seq: 2, unread: 2 }] })
      expect(await syncPage(alice.api, { after: page.pos as string })).toMatchObject({ heads: [] })
    })

    it('sync: what retention has removed is hidden, and a client that was before it begins anew', async () => {
      const admin = await anApplication(server)
      const [alice, bob] = (await addUsers(admin, 2)) as [Person, Person]
      const { appId = '' } = admin.options
      await keepHistory(server.api.as(server.operatorToken), appId, 1)
      const log = direct(alice.id, bob.id)
      const ids: number[] = []
      for (const text of ['one', 'two', 'three']) {
        ids.push(await sendText(bob.api, alice.id, text))
        await aMoment()
      }
      const [, second = 0, third = 0] = ids
      const stale = new SyncClient(alice.api)
      await stale.syncToEnd()
      await operate(bob.api, 'append', { peer: alice.id, message: second, content: '!' })
      await retention.run(appId, timestampOf(third))
      await sendText(bob.api, alice.id, 'four')
      const page = await syncPage(alice.api, { have: [{ log, change: 1 }] })
      expect(page.heads).toEqual([
        expect.objectContaining({ change: 5, seq: 4, unread: 2, hidden_msg_id: second }),
      ])
      expect(page.heads[0]?.from).toBeUndefined()
      expect(page.heads[0]?.messages?.map(({ content }) => content)).toEqual(['four', 'three'])
      const changes = await changesPage(alice.api, log, 1)
      expect(changes).toMatchObject({ changes: [], next: 5, change: 5, hidden_msg_id: second })
      expect(changes.from).toBeUndefined()
      await stale.syncToEnd()
      const held = [...(stale.held(log)?.messages.values() ?? [])]
      expect(held.map(({ content }) => content)).not.toContain('two')
    })

    it('receipts: the sender sees who has read, who has not, and who is gone', async () => {
      const [owner, bob, carol, dave, eve] = (await people.take(5)) as [
        Person,
        ...[Person, Person, Person, Person],
      ]
      const group = await aGroup(owner, { members: [bob, carol, dave] })
      expectSuccess(
        await groupCall(owner.api, '/group/settings/enable_read_ack', group, { value: true }),
      )
      const asked = [owner, bob, carol, dave, eve].map(({ id }) => id)
      const config = JSON.stringify({ groupMemberList: asked })
      const message = await sendToGroup(owner.api, group, 'read this', { config })
      const plain = await sendToGroup(owner.api, group, 'nobody is asked')
      expectSuccess(await groupCall(owner.api, '/group/kick', group, { user_list: [dave.id] }))
      expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [eve.id] }),
      )
      await acknowledge(bob.api, { peer: group, message })
      const receipts = ({ api }: Person, msg_id: number, conversation_id = group) =>
        api.call('GET', '/message/receipts', { query: { conversation_id, msg_id } })
      expect((await receipts(owner, message)).envelope.data).toEqual({
        read: [bob.id],
        unread: [carol.id],
        gone: [dave.id, eve.id],
      })
      expect((await receipts(owner, plain)).envelope.data).toEqual({
        read: [],
        unread: [],
        gone: [],
      })
      const refusals = [
        [await receipts(bob, message), answerCode.no_permission],
        [await receipts(dave, message), answerCode.member_required],
        [await receipts(owner, plain + 2 ** 40), answerCode.message_not_found],
        [await receipts(owner, message, owner.id), answerCode.group_not_found],
      ] as const
      for (const [answer, code] of refusals) expect(answer.code).toBe(code)
    })
  })
}

for (const backend of anyBackend()) {
  describe(`bad input of sync on ${backend.name}`, () => {
    let server: InProcessServer
    let alice: Person

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      ;[alice] = (await new PeoplePool(server, 1).take(1)) as [Person]
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    const log = { low_id: 1, high_id: 2, is_group: false }

    it.each([
      ['after', { after: 'x' }],
      ['after', { after: '..' }],
      ['after', { after: `${'e'.repeat(65)}.1.1` }],
      ['after', { after: 'epoch.zzzzzzzzzzz.1' }],
      ['after', { after: 'e'.repeat(129) }],
      ['after', { after: 5 }],
      ['list', { list: 'maybe' }],
      ['cursor', { cursor: 'x' }],
      ['cursor', { cursor: '1-2' }],
      ['cursor', { cursor: '1-2-x' }],
      ['limit', { limit: 0 }],
      ['window', { window: -1 }],
      ['have', { have: Array.from({ length: 101 }, () => ({ log, change: 0 })) }],
      ['have[0].change', { have: [{ log, change: -1 }] }],
      ['have[0].log.low_id', { have: [{ log: { ...log, low_id: 'x' }, change: 1 }] }],
      [
        'have[1].log.high_id',
        {
          have: [
            { log, change: 1 },
            { log: { ...log, low_id: 3 }, change: 1 },
          ],
        },
      ],
      ['have[0].log.high_id', { have: [{ log: { ...log, is_group: true }, change: 1 }] }],
    ])('sync: %s is named when it is not valid', async (field, body) => {
      const { code, envelope } = await trySync(alice.api, body)
      expect(code).toBe(answerCode.invalid_parameter)
      expect(envelope.message).toContain(`${field} must`)
    })

    it.each([
      ['log', {}],
      ['after_change', { log, after_change: -1 }],
      ['after_change', { log }],
      ['limit', { log, after_change: 0, limit: 0 }],
      ['log.high_id', { log: { ...log, is_group: true }, after_change: 0 }],
    ])('changes: %s is named when it is not valid', async (field, body) => {
      const answer = await alice.api.call('POST', '/message/changes', { body })
      expect(answer.code).toBe(answerCode.invalid_parameter)
      expect(answer.envelope.message).toContain(field)
    })

    it('changes: only parties, members and readers see a log', async () => {
      const changesOf = (body: object) =>
        alice.api.call('POST', '/message/changes', { body: { after_change: 0, ...body } })
      expect((await changesOf({ log })).code).toBe(answerCode.conversation_not_found)
      const group = await aGroup({ api: server.api.admin({ userId: alice.id }) })
      const [bob] = (await new PeoplePool(server, 1).take(1)) as [Person]
      const of = groupLog(group)
      const body = { log: of, after_change: 0 }
      expect((await bob.api.call('POST', '/message/changes', { body })).code).toBe(
        answerCode.member_required,
      )
      expect((await changesOf({ log: groupLog(alice.id) })).code).toBe(
        answerCode.conversation_not_found,
      )
      expect((await changesOf({ log: direct(alice.id, group) })).code).toBe(
        answerCode.conversation_not_found,
      )
      expect(await changesPage(alice.api, direct(alice.id, bob.id), 0)).toMatchObject({
        from: 0,
        changes: [],
        next: 0,
        change: 0,
      })
      // A number above the end is one of a lost history: the client begins anew.
      const beyond = await changesPage(alice.api, direct(alice.id, bob.id), 5)
      expect(beyond.from).toBeUndefined()
      expect(beyond.next).toBe(0)
    })
  })
}
