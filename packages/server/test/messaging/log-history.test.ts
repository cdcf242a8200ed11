/** The messages of a log by position, with which clients fill holes. */
import { anyBackend, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timestampOf } from '../../dist/lib/ids/ids.js'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { deleteConversation, history, sendText } from '../support/messaging/messaging.js'
import {
  broadcasts,
  direct,
  groupLog,
  type LogKey,
  logPage,
} from '../support/messaging/sync-client.js'

const step = fc.record({
  what: fc.oneof(
    { weight: 8, arbitrary: fc.constant('send' as const) },
    { weight: 2, arbitrary: fc.constant('edit' as const) },
    { weight: 2, arbitrary: fc.constant('recall' as const) },
    { weight: 1, arbitrary: fc.constant('delete' as const) },
  ),
  /** Selects one of the messages that were sent. */
  which: fc.nat(30),
  isByFirst: fc.boolean(),
})

for (const backend of testBackends()) {
  describe(`history of a log on ${backend.name}`, () => {
    let server: InProcessServer
    let people: PeoplePool
    let retention: Retention

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      people = new PeoplePool(server, 60)
      retention = new Retention(server.place)
    })

    afterAll(async () => {
      await retention?.[Symbol.asyncDispose]()
      await server?.[Symbol.asyncDispose]()
    })

    const pair = async () => (await people.take(2)) as [Person, Person]

    /** Walks the pages down to the beginning. */
    async function walk({ api }: Person, log: LogKey, limit: number) {
      const messages: { id: number; seq: number; content: string }[] = []
      for (let before = 0, calls = 0; before !== 1; calls++) {
        expect(calls).toBeLessThan(100)
        const page = await logPage(api, log, { before_seq: before, limit })
        expect(page.messages.length).toBeLessThanOrEqual(limit)
        if (before !== 0) expect(page.before_seq).toBe(before)
        for (const { msg_id, seq, content } of page.messages) {
          expect(Number(seq)).toBeLessThan(Number(messages.at(-1)?.seq ?? page.before_seq))
          expect(Number(seq)).toBeGreaterThanOrEqual(Number(page.from_seq))
          messages.push({ id: Number(msg_id), seq: Number(seq), content })
        }
        before = Number(page.from_seq)
      }
      return messages
    }

    const known = async ({ api }: Person, peer: number) =>
      (await history(api, peer)).map(({ msg_id, seq, content }) => ({
        id: Number(msg_id),
        seq: Number(seq),
        content,
      }))

    it('history of a log: pages of any length have the messages of the history', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        fc.array(step, { maxLength: 40, size: 'max' }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(40),
        async (steps, limit, place) => {
          const [alice, bob] = await pair()
          const log = direct(alice.id, bob.id)
          const sent: { readonly sender: Person; readonly id: number }[] = []
          for (const { what, which, isByFirst } of steps) {
            const [user, peer] = isByFirst ? [alice, bob] : [bob, alice]
            const old = sent[which % Math.max(sent.length, 1)]
            if (what === 'delete') await deleteConversation(user.api, peer.id)
            else if (what === 'send' || !old)
              sent.push({ sender: user, id: await sendText(user.api, peer.id, 'text') })
            else {
              const { sender, id } = old
              const other = sender === alice ? bob.id : alice.id
              if (what === 'recall') await recall(sender.api, other, id)
              else await operate(sender.api, 'append', { peer: other, message: id, content: '+' })
            }
          }
          for (const [user, peer] of [
            [alice, bob],
            [bob, alice],
          ] as const) {
            const expected = await known(user, peer.id)
            expect(await walk(user, log, limit)).toEqual(expected)
            const before_seq = 1 + (place % (sent.length + 2))
            const page = await logPage(user.api, log, { before_seq, limit })
            const below = expected.filter(({ seq }) => seq < before_seq)
            expect(page.messages.map(({ msg_id }) => msg_id)).toEqual(
              below.slice(0, limit).map(({ id }) => id),
            )
            expect(page.before_seq).toBe(Math.min(before_seq, sent.length + 1))
            if (below.length > limit) expect(page.from_seq).toBe(below[limit - 1]?.seq)
          }
        },
      )
      await checkProperty(backend, property, { share: 0.5 })
    })

    it('history of a log: a group member sees messages since the join, or all with history_visible', async () => {
      const [alice, bob] = await pair()
      const group = await aGroup(alice)
      await sendToGroup(alice.api, group, 'before')
      expectSuccess(
        await groupCall(alice.api, '/group/admin/member_join', group, { user_list: [bob.id] }),
      )
      await sendToGroup(alice.api, group, 'after')
      const contents = async () =>
        (await walk(bob, groupLog(group), 1)).map(({ content }) => content)
      const since = await contents()
      expect(since).toContain('after')
      expect(since).not.toContain('before')
      const value = true
      expectSuccess(await groupCall(alice.api, '/group/settings/history_visible', group, { value }))
      expect(await contents()).toContain('before')
      expect(await walk(bob, groupLog(group), 2)).toEqual(await known(bob, group))
    })

    it('history of a log: broadcasts and the direct conversation of a sender are separate', async () => {
      const admin = await anApplication(server)
      const [alice, bob] = (await addUsers(admin, 2)) as [Person, Person]
      await broadcast(admin, 'first to all', { from_user_id: bob.id })
      await sendText(bob.api, alice.id, 'to alice')
      await broadcast(admin, 'second to all', { from_user_id: bob.id })
      const contents = async (log: LogKey) =>
        (await walk(alice, log, 1)).map(({ content }) => content)
      expect(await contents(broadcasts(bob.id))).toEqual(['second to all', 'first to all'])
      expect(await contents(direct(alice.id, bob.id))).toEqual(['to alice'])
    })

    it('history of a log: a page ends at 256 KiB, and has at least one message', async () => {
      const [alice, bob] = await pair()
      const log = direct(alice.id, bob.id)
      for (let number = 0; number < 6; number++)
        await sendText(bob.api, alice.id, 'x'.repeat(60_000))
      const page = await logPage(alice.api, log)
      expect(page).toMatchObject({ from_seq: 3, before_seq: 7 })
      expect(page.messages.map(({ seq }) => seq)).toEqual([6, 5, 4, 3])
      expect(await logPage(alice.api, log, { before_seq: 3 })).toMatchObject({
        from_seq: 1,
        messages: [{ seq: 2 }, { seq: 1 }],
      })
    })

    it('history of a log: removed messages are gone, and the end is that of the log', async () => {
      const admin = await anApplication(server)
      const [alice, bob] = (await addUsers(admin, 2)) as [Person, Person]
      const { appId = '' } = admin.options
      await keepHistory(server.api.as(server.operatorToken), appId, 1)
      const log = direct(alice.id, bob.id)
      const ids: number[] = []
      for (const text of ['one', 'two', 'three', 'four']) {
        ids.push(await sendText(bob.api, alice.id, text))
        await aMoment()
      }
      const [, second = 0, third = 0, fourth = 0] = ids
      await retention.run(appId, timestampOf(third))
      await recall(bob.api, alice.id, fourth)
      expect(await logPage(alice.api, log, { before_seq: 99 })).toMatchObject({
        from_seq: 1,
        before_seq: 5,
        hidden_msg_id: second,
        messages: [{ seq: 3, content: 'three' }],
      })
    })

    it('history of a log: the transaction ID of a message is for its sender', async () => {
      const [alice, bob] = await pair()
      await sendText(alice.api, bob.id, 'text', { transaction_id: '77' })
      const log = direct(alice.id, bob.id)
      expect((await logPage(alice.api, log)).messages[0]?.transaction_id).toBe('77')
      expect((await logPage(bob.api, log)).messages[0]?.transaction_id).toBeUndefined()
    })
  })
}

for (const backend of anyBackend()) {
  describe(`bad calls of the history of a log on ${backend.name}`, () => {
    let server: InProcessServer
    let alice: Person
    let bob: Person
    const log = direct(1, 2)

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
      ;[alice, bob] = (await new PeoplePool(server, 2).take(2)) as [Person, Person]
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    const read = ({ api }: Person, body: object) => api.call('POST', '/message/history', { body })

    it.each([
      ['log', {}],
      ['before_seq', { log, before_seq: -1 }],
      ['before_seq', { log, before_seq: 'x' }],
      ['limit', { log, limit: 0 }],
      ['log.high_id', { log: { ...log, is_group: true } }],
    ])('history of a log: %s is named when it is not valid', async (field, body) => {
      const answer = await read(alice, body)
      expect(answer.code).toBe(answerCode.invalid_parameter)
      expect(answer.envelope.message).toContain(field)
    })

    it('history of a log: only parties, members and readers see a log', async () => {
      const group = await aGroup(alice)
      expect((await read(bob, { log: groupLog(group) })).code).toBe(answerCode.member_required)
      for (const other of [log, groupLog(alice.id), direct(alice.id, group)])
        expect((await read(alice, { log: other })).code).toBe(answerCode.conversation_not_found)
    })

    it('history of a log: a conversation without messages has an empty last page', async () => {
      const empty = { messages: [], from_seq: 1, before_seq: 1, hidden_msg_id: 0 }
      expect(await logPage(alice.api, direct(alice.id, bob.id))).toMatchObject(empty)
      expect(await logPage(alice.api, broadcasts(bob.id), { before_seq: 9 })).toMatchObject(empty)
    })
  })
}
