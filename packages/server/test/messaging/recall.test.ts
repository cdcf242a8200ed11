import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import type { Sql } from '../support/database/sql.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { messageEvents, operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  notify,
  peers,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'

for (const backend of anyBackend()) {
  describe(`recalling on ${backend.name}`, () => {
    let watched: InProcessServer
    let server: InProcessServer
    let sql: Sql

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      server = watched.server
      sql = watched.sql
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function trio(): Promise<readonly [Session, Session, Session]> {
      const [alice, bob, carol] = await Promise.all([
        server.api.newSession(),
        server.api.newSession(),
        server.api.newSession(),
      ])
      return [alice as Session, bob as Session, carol as Session]
    }

    /** As if the message had been sent so many seconds earlier. */
    async function age(messageId: number, seconds: number): Promise<number> {
      const older = messageId - seconds * 1_000 * 4_096
      await sql.run(
        `update messages set msg_id = ${older}, sent_at = sent_at - ${seconds * 1_000} where msg_id = ${messageId}`,
      )
      await sql.run(
        `update conversations set last_msg_id = ${older} where last_msg_id = ${messageId}`,
      )
      return older
    }

    async function setRecall(settings: Record<string, unknown>): Promise<void> {
      const operator = server.api.as(server.operatorToken)
      await operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: server.appId, settings },
      })
    }

    for (const [way, call] of [
      ['/message/recall', recall],
      [
        'content_type 10',
        (api: Session['api'], peer: number, message: number) =>
          operate(api, 'recall', { peer, message }),
      ],
    ] as const) {
      describe(`with ${way}`, () => {
        it('takes the message out of the history of both', async () => {
          const [alice, bob] = await trio()
          await sendText(alice.api, bob.id, 'first')
          const wrong = await sendText(alice.api, bob.id, 'wrong')
          const last = await sendText(bob.api, alice.id, 'last')
          expect((await call(alice.api, bob.id, wrong)).envelope).toEqual({
            code: 200,
            data: true,
            message: null,
          })
          for (const [reader, peer] of [
            [alice, bob],
            [bob, alice],
          ] as const) {
            expect(await contents(reader.api, peer.id)).toEqual(['last', 'first'])
            expect(await historyPage(reader.api, peer.id, { start: wrong })).toMatchObject({
              messages: [{ content: 'first' }],
            })
            expect(await historyPage(reader.api, peer.id, { limit: 1 })).toMatchObject({
              messages: [{ msg_id: last }],
              is_last: false,
            })
          }
          expect(
            await sql.run(`select * from recalled_messages where msg_id = ${wrong}`),
          ).toMatchObject([{ seq: 2, sender_id: alice.id, recalled_by: alice.id }])
        })

        it('is for the sender alone', async () => {
          const [alice, bob, carol] = await trio()
          const id = await sendText(alice.api, bob.id, 'mine')
          expect((await call(bob.api, alice.id, id)).code).toBe(answerCode.no_permission)
          expect((await call(carol.api, alice.id, id)).code).toBe(answerCode.conversation_not_found)
          await sendText(carol.api, alice.id, 'hello')
          expect((await call(carol.api, alice.id, id)).code).toBe(answerCode.message_not_found)
          const notice = await notify(server.api.admin(), alice.id, 'notice')
          expect((await call(alice.api, 0, notice)).code).toBe(answerCode.no_permission)
          expect(await contents(bob.api, alice.id)).toEqual(['mine'])
        })

        it('finds no message that is not there, and none twice', async () => {
          const [alice, bob, carol] = await trio()
          const id = await sendText(alice.api, bob.id, 'once')
          expect((await call(alice.api, carol.id, id)).code).toBe(answerCode.conversation_not_found)
          expect((await call(alice.api, bob.id, id + 1)).code).toBe(answerCode.message_not_found)
          expect((await call(alice.api, bob.id, id)).code).toBe(200)
          expect((await call(alice.api, bob.id, id)).code).toBe(answerCode.message_not_found)
        })

        it('is too late after five minutes, but not for an Admin token', async () => {
          const [alice, bob] = await trio()
          const old = await age(await sendText(bob.api, alice.id, 'old'), 301)
          const young = await age(await sendText(alice.api, bob.id, 'young'), 290)
          expect((await call(alice.api, bob.id, young)).code).toBe(200)
          const answer = await call(bob.api, alice.id, old)
          expect(answer.code).toBe(answerCode.recall_too_late)
          expect(answer.envelope.message).toContain('exceed recall time limit')
          expect(await contents(alice.api, bob.id)).toEqual(['old'])
          expect((await call(server.api.admin({ userId: alice.id }), bob.id, old)).code).toBe(200)
          expect(await contents(alice.api, bob.id)).toEqual([])
        })

        it('tells both parties of it, once', async () => {
          const [alice, bob] = await trio()
          const id = await sendText(alice.api, bob.id, 'secret')
          await call(alice.api, bob.id, id)
          await call(alice.api, bob.id, id)
          const recalled = { kind: 'message.recalled', actor: alice.id, messageId: id }
          for (const { id } of [alice, bob])
            expect(await messageEvents(sql, id)).toEqual([
              { ...recalled, users: expect.arrayContaining([alice.id, bob.id]) },
            ])
        })
      })
    }

    it('names every faulty parameter', async () => {
      const [alice] = await trio()
      const answer = await alice.api.call('PUT', '/message/recall', {
        body: { conversation_id: 'x' },
      })
      expect(answer.code).toBe(answerCode.invalid_parameter)
      for (const name of ['conversation_id', 'msg_id'])
        expect(answer.envelope.message).toContain(name)
    })

    it('by an Admin token needs the user whose conversation it is, and reaches any message of it', async () => {
      const [alice, bob] = await trio()
      const first = await sendText(alice.api, bob.id, 'of alice')
      const second = await sendText(bob.api, alice.id, 'of bob')
      expect((await recall(server.api.admin(), alice.id, first)).code).toBe(
        answerCode.invalid_parameter,
      )
      for (const id of [first, second])
        expect((await recall(server.api.admin({ userId: alice.id }), bob.id, id)).code).toBe(200)
      expect(await peers(alice.api)).toEqual([])
      const notice = await notify(server.api.admin(), alice.id, 'by mistake')
      expect((await recall(server.api.admin({ userId: alice.id }), 0, notice)).code).toBe(200)
      expect(await unreadCounts(alice.api)).toEqual({})
    })

    it('by an Admin token in a group needs no user, and takes the header of that group', async () => {
      const [alice, bob] = await trio()
      const [group, other] = [
        await aGroup(alice, { members: [bob], more: { history_visible: false } }),
        await aGroup(alice),
      ]
      const ids = []
      for (const text of ['first', 'second', 'third'])
        ids.push(await sendToGroup(bob.api, group, text))
      const [first, second, third] = ids as [number, number, number]
      const asAdminOf = (groupId: number) => server.api.admin({ groupId })
      const query = { opposite_id: group, msg_id_start: 0, limit: 2 }
      const page = await asAdminOf(group).succeed('GET', '/message/conversation', { query })
      expect(page.data).toMatchObject({
        is_last: false,
        next_msg_id: first,
        messages: [
          { msg_id: third, from_xid: { uid: bob.id }, to_xid: { uid: group } },
          { msg_id: second, status: 'UNREAD' },
        ],
      })
      for (const answer of [
        await recall(asAdminOf(other), group, first),
        await asAdminOf(other).call('GET', '/message/conversation', { query }),
      ])
        expect(answer.code).toBe(answerCode.no_permission)
      expect((await server.api.admin().call('GET', '/message/conversation', { query })).code).toBe(
        answerCode.invalid_parameter,
      )
      expect((await recall(server.api.admin(), group, first)).code).toBe(200)
      expect((await recall(asAdminOf(group), group, second)).code).toBe(200)
      expect(await contents(alice.api, group)).toEqual(['third'])
      expect((await recall(server.api.admin(), group, second)).code).toBe(
        answerCode.message_not_found,
      )
    })

    it('leaves the unread count to what is left', async () => {
      const [alice, bob] = await trio()
      const ids: number[] = []
      for (const text of ['1', '2', '3', '4', '5'])
        ids.push(await sendText(alice.api, bob.id, text))
      const [first, second, third, fourth, fifth] = ids as [number, number, number, number, number]
      await acknowledge(bob.api, { peer: alice.id, message: second })
      await recall(alice.api, bob.id, first)
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 3 })
      await recall(alice.api, bob.id, fourth)
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 2 })
      await acknowledge(bob.api, { peer: alice.id, message: third })
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      await recall(alice.api, bob.id, fifth)
      expect(await unreadCounts(bob.api)).toEqual({})
      await sendText(alice.api, bob.id, '6')
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
    })

    it('leaves the list to the newest message that the user can see', async () => {
      const [alice, bob, carol] = await trio()
      const first = await sendText(alice.api, bob.id, 'first')
      const other = await sendText(carol.api, bob.id, 'other')
      const last = await sendText(alice.api, bob.id, 'last')
      expect(await peers(bob.api)).toEqual([alice.id, carol.id])
      await recall(alice.api, bob.id, last)
      expect(
        (await conversationList(bob.api, 1)).map(({ latest_msg_id }) => latest_msg_id),
      ).toEqual([other, first])
      await recall(alice.api, bob.id, first)
      expect(await peers(bob.api)).toEqual([carol.id])
      expect(await peers(alice.api)).toEqual([])
      const next = await sendText(alice.api, bob.id, 'next')
      expect(next).toBeGreaterThan(last)
      expect((await conversationList(bob.api)).map(({ latest_msg_id }) => latest_msg_id)).toEqual([
        next,
        other,
      ])
    })

    it('does not bring back what a party has deleted', async () => {
      const [alice, bob] = await trio()
      await sendText(alice.api, bob.id, 'deleted')
      await deleteConversation(bob.api, alice.id)
      const shown = await sendText(alice.api, bob.id, 'shown')
      expect(await contents(bob.api, alice.id)).toEqual(['shown'])
      await recall(alice.api, bob.id, shown)
      expect(await peers(bob.api)).toEqual([])
      expect(await contents(bob.api, alice.id)).toEqual([])
      expect(await contents(alice.api, bob.id)).toEqual(['deleted'])
      await deleteConversation(bob.api, alice.id)
      await sendText(alice.api, bob.id, 'again')
      expect(await contents(bob.api, alice.id)).toEqual(['again'])
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
    })

    it('of a message that comes again with its transaction_id stays a recall', async () => {
      const [alice, bob] = await trio()
      const id = await sendText(alice.api, bob.id, 'once', { transaction_id: 5 })
      await recall(alice.api, bob.id, id)
      expect(await sendText(alice.api, bob.id, 'once', { transaction_id: 5 })).toBe(id)
      expect(await contents(bob.api, alice.id)).toEqual([])
      const other = await sendText(alice.api, bob.id, 'other')
      for (let repeat = 1; repeat <= 2; repeat++)
        expect(
          (await operate(alice.api, 'recall', { peer: bob.id, message: other, transaction_id: 6 }))
            .code,
        ).toBe(200)
      expect(await contents(bob.api, alice.id)).toEqual([])
    })

    it('is counted once when several users do it at the same time, with sends and deletions between', async () => {
      const [alice, bob] = await trio()
      const ids: number[] = []
      for (let count = 1; count <= 20; count++)
        ids.push(await sendText(alice.api, bob.id, `${count}`))
      const calls = ids.flatMap((id, index) => [
        recall(alice.api, bob.id, id),
        recall(server.api.admin({ userId: bob.id }), alice.id, id),
        alice.api.call('POST', '/message/send', { body: textTo([bob.id], `more ${index}`) }),
        bob.api.call('GET', '/message/ack', { query: { conversation_id: alice.id } }),
        ...(index % 5 === 0
          ? [
              alice.api.call('DELETE', '/message/conversation', {
                body: { conversation_id: bob.id },
              }),
            ]
          : []),
      ])
      const answers = await Promise.all(calls)
      expect(new Set(answers.map(({ code }) => code))).toEqual(
        new Set([200, answerCode.message_not_found]),
      )
      expect(answers.filter(({ code }) => code === answerCode.message_not_found)).toHaveLength(
        ids.length,
      )
      const shown = await history(bob.api, alice.id)
      expect(
        shown.map(({ content }) => content).filter((content) => !content.startsWith('more')),
      ).toEqual([])
      expect(shown).toHaveLength(ids.length)
      const unread = shown.filter(({ status }) => status !== 'READ').length
      expect(await unreadCounts(bob.api)).toEqual(unread === 0 ? {} : { [alice.id]: unread })
    })

    it('follows the settings of the application', async () => {
      const [alice, bob] = await trio()
      const old = await age(await sendText(alice.api, bob.id, 'old'), 1_000)
      const young = await sendText(alice.api, bob.id, 'young')
      expect((await recall(alice.api, bob.id, old)).code).toBe(answerCode.recall_too_late)
      await setRecall({ recall_seconds: 2_000, recall_enabled: false })
      expect((await recall(alice.api, bob.id, old)).code).toBe(answerCode.recall_disabled)
      expect((await operate(alice.api, 'recall', { peer: bob.id, message: old })).code).toBe(
        answerCode.recall_disabled,
      )
      expect((await recall(server.api.admin({ userId: alice.id }), bob.id, young)).code).toBe(200)
      await setRecall({ recall_enabled: true })
      expect((await recall(alice.api, bob.id, old)).code).toBe(200)
      await setRecall({ recall_seconds: 300 })
    })

    it('leaves nothing behind that does not agree', async () => {
      expect(await integrityFaults(server)).toEqual([])
    })
  })
}
