/**
 * What may be done to a message after it was sent, beside recalling it: edits, and how far it got
 * (rules E5, E6, E8).
 */
import type { Message } from '@hermod/protocol'
import { anyBackend, type ServerProcess, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import type { Sql } from '../support/database/sql.js'
import { messageEvents, operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  history,
  historyPage,
  integrityFaults,
  notify,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { WatchedServer } from '../support/watched-server.js'

for (const backend of anyBackend()) {
  describe(`messages that were sent on ${backend.name}`, () => {
    let watched: WatchedServer
    let server: ServerProcess
    let sql: Sql

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
      server = watched.server
      sql = watched.sql
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function couple(): Promise<readonly [Session, Session]> {
      const [alice, bob] = await Promise.all([server.api.newSession(), server.api.newSession()])
      return [alice as Session, bob as Session]
    }

    async function newest(reader: Session, peer: Session): Promise<Message> {
      const { messages } = await historyPage(reader.api, peer.id, { limit: 1 })
      return messages[0] as Message
    }

    describe('every operation', () => {
      const kinds = ['readAck', 'recall', 'append', 'replace'] as const

      it('asks for related_mid and for one target, and has no msg_ids', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'x')
        for (const kind of kinds) {
          const unnamed = await operate(alice.api, kind, {
            peer: bob.id,
            message,
            related_mid: undefined,
          })
          expect(unnamed).toMatchObject({
            code: answerCode.invalid_parameter,
            envelope: { message: expect.stringContaining('related_mid') },
          })
          const many = await operate(alice.api, kind, {
            peer: bob.id,
            message,
            targets: [bob.id, alice.id],
          })
          expect(many).toMatchObject({
            code: answerCode.invalid_parameter,
            envelope: { message: expect.stringContaining('targets') },
          })
          expect((await operate(alice.api, kind, { peer: bob.id, message, type: 2 })).code).toBe(
            answerCode.group_not_found,
          )
        }
        for (const kind of ['readAck', 'append', 'replace', 'recall'] as const) {
          const answer = await operate(alice.api, kind, {
            peer: bob.id,
            message,
            targets: [bob.id, bob.id],
            content: undefined,
          })
          expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        }
      })

      it('finds neither conversations nor messages that are not there', async () => {
        const [alice, bob] = await couple()
        for (const kind of kinds)
          expect((await operate(alice.api, kind, { peer: bob.id, message: 5 })).code).toBe(
            answerCode.conversation_not_found,
          )
        const message = await sendText(alice.api, bob.id, 'x')
        for (const kind of kinds)
          expect(
            (await operate(alice.api, kind, { peer: bob.id, message: message + 1 })).code,
          ).toBe(answerCode.message_not_found)
        await recall(alice.api, bob.id, message)
        // Reading up to it is no less possible than before.
        for (const kind of kinds)
          expect((await operate(alice.api, kind, { peer: bob.id, message })).code).toBe(
            kind === 'readAck' ? answerCode.ok : answerCode.message_not_found,
          )
      })

      it('may be sent with an Admin token in the name of a user, and as a notification', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'x')
        const admin = server.api.admin()
        expect(
          (
            await operate(admin, 'append', {
              peer: bob.id,
              message,
              from_user_id: alice.id,
              content: 'y',
            })
          ).code,
        ).toBe(200)
        const body = {
          type: 1,
          content_type: 12,
          content: 'z',
          targets: [alice.id],
          related_mid: message,
          from_user_id: bob.id,
        }
        expect((await admin.succeed('POST', '/message/notify', { body })).data).toBe(true)
        expect((await newest(bob, alice)).content).toBe('z')
        const notice = await notify(admin, alice.id, 'notice')
        expect(
          (await operate(admin, 'append', { peer: alice.id, message: notice, content: '!' })).code,
        ).toBe(200)
        expect(await history(alice.api, 0)).toMatchObject([{ content: 'notice!', is_system: true }])
      })
    })

    describe('an edit', () => {
      it('appends to the content and merges config and ext', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'Hello', {
          config: '{"a":{"x":1}}',
          ext: '{"k":1}',
          attachment: 'kept',
        })
        const before = await newest(bob, alice)
        const edit = { content: ', world', config: '{"a":{"y":2}}', ext: '{"k":[2]}' }
        expect((await operate(alice.api, 'append', { peer: bob.id, message, ...edit })).code).toBe(
          200,
        )
        for (const after of [await newest(bob, alice), await newest(alice, bob)]) {
          const texts = { content: 'Hello, world', config: '{"a":{"x":1,"y":2}}', ext: '{"k":[2]}' }
          expect(after).toEqual({ ...before, ...texts, edit_timestamp: expect.any(Number) })
          expect(after.edit_timestamp).toBeGreaterThan(before.timestamp)
        }
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      })

      it('keeps names with an escape, whatever names other users have written before', async () => {
        const [alice, bob] = await couple()
        const editExt = async (sender: Session, name: string) => {
          const message = await sendText(sender.api, bob.id, 'x', { ext: '{"before":""}' })
          const ext = `{"before":"",${JSON.stringify(name)}:[2.0]}`
          await operate(sender.api, 'append', { peer: bob.id, message, ext })
          expect((await newest(bob, sender)).ext).toBe(ext)
        }
        await editExt(bob, '\\')
        for (const name of ['"', '\n', '\r', '\n\t', '\u0001']) await editExt(alice, name)
      })

      it('replaces the content when there is some', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'Hello', {
          config: 'plain',
          ext: '{"k":1}',
        })
        await operate(alice.api, 'replace', {
          peer: bob.id,
          message,
          content: 'Bye',
          config: 'other',
        })
        expect(await newest(bob, alice)).toMatchObject({
          content: 'Bye',
          config: 'other',
          ext: '{"k":1}',
          msg_id: message,
        })
        const first = (await newest(bob, alice)).edit_timestamp
        await operate(alice.api, 'replace', { peer: bob.id, message, ext: 'text' })
        expect(await newest(bob, alice)).toMatchObject({
          content: 'Bye',
          config: 'other',
          ext: 'text',
          msg_id: message,
        })
        expect((await newest(bob, alice)).edit_timestamp).toBeGreaterThan(first)
      })

      it('that names another edit_timestamp than that of the message is refused and not remembered', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, '1')
        const edit = (content: string, edit_timestamp: number, more: object = {}) =>
          operate(alice.api, 'replace', {
            ...{ peer: bob.id, message, content, edit_timestamp, ...more },
          })
        expect((await edit('2', 0, { transaction_id: 20 })).code).toBe(answerCode.ok)
        const seen = Number((await newest(bob, alice)).edit_timestamp)
        for (const other of [0, seen - 1, seen + 1])
          expect((await edit('3', other, { transaction_id: 21 })).code).toBe(
            answerCode.edited_meanwhile,
          )
        expect((await newest(bob, alice)).content).toBe('2')
        // A repeat is answered as the first call.
        expect((await edit('2', 0, { transaction_id: 20 })).code).toBe(answerCode.ok)
        expect((await edit('3', seen, { transaction_id: 21 })).code).toBe(answerCode.ok)
        expect((await newest(bob, alice)).content).toBe('3')
      })

      it('is for the sender and an Admin token alone', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'mine')
        for (const kind of ['append', 'replace'] as const)
          expect(
            (await operate(bob.api, kind, { peer: alice.id, message, content: 'x' })).code,
          ).toBe(answerCode.no_permission)
        expect(await newest(bob, alice)).toMatchObject({ content: 'mine', edit_timestamp: 0 })
        const asBob = server.api.admin({ userId: bob.id })
        expect(
          (await operate(asBob, 'replace', { peer: alice.id, message, content: 'moderated' })).code,
        ).toBe(200)
        expect((await newest(bob, alice)).content).toBe('moderated')
        const events = await messageEvents(sql, bob.id)
        expect(events).toMatchObject([{ kind: 'message.replaced', actor: 0, messageId: message }])
      })

      it('is refused like a message by a user who has blocked the sender, while recalling is not', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'before')
        const again = { peer: bob.id, message, content: '!', transaction_id: 4711 }
        expect((await operate(alice.api, 'append', again)).code).toBe(200)
        await bob.api.succeed('POST', '/roster/block', { query: { user_id: alice.id } })
        expect((await operate(alice.api, 'append', again)).code).toBe(200)
        for (const kind of ['append', 'replace'] as const)
          expect(
            (await operate(alice.api, kind, { peer: bob.id, message, content: 'more' })).code,
          ).toBe(answerCode.blocked_by_recipient)
        expect((await newest(bob, alice)).content).toBe('before!')
        expect((await operate(alice.api, 'recall', { peer: bob.id, message })).code).toBe(200)
        expect(await history(bob.api, alice.id)).toEqual([])
      })

      it('does not change commands', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'go', { content_type: 6 })
        for (const kind of ['append', 'replace'] as const)
          expect(
            (await operate(alice.api, kind, { peer: bob.id, message, content: 'x' })).code,
          ).toBe(answerCode.message_type_refused)
        expect((await newest(bob, alice)).content).toBe('go')
      })

      it('makes no message larger than a message may be', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'x'.repeat(40_000))
        expect(
          (
            await operate(alice.api, 'append', {
              peer: bob.id,
              message,
              content: 'y'.repeat(25_537),
            })
          ).code,
        ).toBe(answerCode.message_too_large)
        expect((await newest(bob, alice)).edit_timestamp).toBe(0)
        expect(
          (
            await operate(alice.api, 'append', {
              peer: bob.id,
              message,
              content: 'y'.repeat(25_536),
            })
          ).code,
        ).toBe(200)
        expect((await newest(bob, alice)).content).toHaveLength(65_536)
      })

      it('that comes again with its transaction_id is made once, also when it comes at once and after a kill', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, '1')
        const edit = { peer: bob.id, message, content: '2', transaction_id: 2n ** 53n + 1n }
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => operate(alice.api, 'append', edit)),
        )
        expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 200))
        expect((await newest(bob, alice)).content).toBe('12')
        await server.kill9()
        server = await watched.startAgain()
        const again = server.api.as(alice.token)
        expect((await operate(again, 'append', edit)).code).toBe(200)
        expect((await historyPage(again, bob.id)).messages[0]?.content).toBe('12')
        expect((await operate(again, 'append', { ...edit, transaction_id: 2n ** 53n })).code).toBe(
          200,
        )
        expect((await historyPage(again, bob.id)).messages[0]?.content).toBe('122')
      })

      it('shares the memory of transaction IDs with sends, and is not remembered when it is refused', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, '1', { transaction_id: 7 })
        expect(
          (
            await operate(alice.api, 'append', {
              peer: bob.id,
              message,
              content: '2',
              transaction_id: 7,
            })
          ).code,
        ).toBe(200)
        expect((await newest(bob, alice)).content).toBe('1')
        await operate(alice.api, 'append', {
          peer: bob.id,
          message,
          content: '2',
          transaction_id: 8,
        })
        const repeat = await alice.api.succeed('POST', '/message/send', {
          body: textTo([bob.id], 'x', { transaction_id: 8 }),
        })
        expect(repeat).toEqual({ code: 200, data: true, message: null })
        expect((await history(bob.api, alice.id)).map(({ content }) => content)).toEqual(['12'])
        expect(
          (await operate(alice.api, 'append', { peer: bob.id, message: 5, transaction_id: 9 }))
            .code,
        ).toBe(answerCode.message_not_found)
        expect(
          (
            await operate(alice.api, 'append', {
              peer: bob.id,
              message,
              content: '3',
              transaction_id: 9,
            })
          ).code,
        ).toBe(200)
        expect((await newest(bob, alice)).content).toBe('123')
      })

      it('loses nothing when many come at once', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, '')
        const marks = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index))
        const edits = marks.map((content) =>
          operate(alice.api, 'append', { peer: bob.id, message, content, ext: `{"${content}":1}` }),
        )
        for (const { code } of await Promise.all(edits)) expect(code).toBe(200)
        const { content, ext } = await newest(bob, alice)
        expect([...content].sort()).toEqual(marks)
        expect(Object.keys(JSON.parse(ext)).sort()).toEqual(marks)
      })

      it('makes an event for both parties', async () => {
        const [alice, bob] = await couple()
        const message = await sendText(alice.api, bob.id, 'x')
        await operate(alice.api, 'append', { peer: bob.id, message, content: 'y' })
        await operate(alice.api, 'replace', { peer: bob.id, message, content: 'z' })
        for (const { id } of [alice, bob])
          expect(await messageEvents(sql, id)).toMatchObject([
            { kind: 'message.appended', actor: alice.id, messageId: message },
            { kind: 'message.replaced', actor: alice.id, messageId: message },
          ])
      })
    })

    describe('how far they got', () => {
      const statuses = async (reader: Session, peer: Session) =>
        (await history(reader.api, peer.id)).map(({ status }) => status)

      it('is READ up to the message that a read receipt of content_type 9 names', async () => {
        const [alice, bob] = await couple()
        const first = await sendText(alice.api, bob.id, 'first')
        await sendText(alice.api, bob.id, 'second')
        expect((await operate(bob.api, 'readAck', { peer: alice.id, message: first })).code).toBe(
          200,
        )
        expect(await statuses(alice, bob)).toEqual(['UNREAD', 'READ'])
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
        expect((await operate(bob.api, 'readAck', { peer: alice.id, message: first })).code).toBe(
          200,
        )
        const receipts = [{ kind: 'message.read', actor: bob.id, messageId: first }]
        expect(await messageEvents(sql, alice.id)).toMatchObject(receipts)
      })

      it('tells the sender of each conversation when everything is read', async () => {
        const [alice, bob] = await couple()
        const carol = await server.api.newSession()
        const ids = [await sendText(alice.api, bob.id, 'x'), await sendText(carol.api, bob.id, 'y')]
        await acknowledge(bob.api)
        await acknowledge(bob.api)
        const events = await messageEvents(sql, bob.id)
        expect(events.map(({ kind }) => kind)).toEqual([
          'message.read_all',
          'message.read',
          'message.read',
        ])
        for (const [index, { id }] of [alice, carol].entries())
          expect(await messageEvents(sql, id)).toMatchObject([
            { kind: 'message.read', actor: bob.id, messageId: ids[index] },
          ])
      })

      it('is DELIVERED once a device of the receiver has read the page, and READ after that', async () => {
        const [alice, bob] = await couple()
        const phone = await server.api.login(bob, 'phone of bob')
        const first = await sendText(alice.api, bob.id, 'first')
        const second = await sendText(alice.api, bob.id, 'second')
        await sendText(alice.api, bob.id, 'third')
        expect(await statuses(bob, alice)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
        await historyPage(server.api.admin({ userId: bob.id }), alice.id)
        expect(await statuses(alice, bob)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
        await historyPage(phone.api, alice.id, { start: second, limit: 1 })
        for (const [reader, peer] of [
          [alice, bob],
          [bob, alice],
        ] as const)
          expect(await statuses(reader, peer)).toEqual(['UNREAD', 'DELIVERED', 'DELIVERED'])
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 3 })
        await historyPage(phone.api, alice.id, { start: first, limit: 1 })
        expect(await messageEvents(sql, alice.id)).toMatchObject([
          { kind: 'message.delivered', actor: bob.id, messageId: second },
        ])
        await acknowledge(phone.api, { peer: alice.id, message: first })
        expect(await statuses(alice, bob)).toEqual(['UNREAD', 'DELIVERED', 'READ'])
        await historyPage(phone.api, alice.id)
        expect(await statuses(alice, bob)).toEqual(['DELIVERED', 'DELIVERED', 'READ'])
        await acknowledge(bob.api, { peer: alice.id })
        expect(await statuses(alice, bob)).toEqual(['READ', 'READ', 'READ'])
      })

      it('does not come from reading what one sent oneself', async () => {
        const [alice, bob] = await couple()
        const phone = await server.api.login(alice, 'phone of alice')
        await sendText(phone.api, bob.id, 'x')
        await sendText(phone.api, alice.id, 'note')
        for (const peer of [alice, bob]) await historyPage(phone.api, peer.id)
        expect(await statuses(alice, bob)).toEqual(['UNREAD'])
        expect(await messageEvents(sql, alice.id)).toEqual([])
      })
    })

    it('leave nothing behind that does not agree', async () => {
      expect(await integrityFaults(server)).toEqual([])
    })
  })
}
