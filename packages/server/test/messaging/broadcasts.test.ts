/** Messages to everybody (rule E9, decision page 028), through the API. */
import { type Api, anyBackend, sharedPassword, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import type { Person } from '../support/contacts.js'
import { InProcessServer } from '../support/in-process-server.js'
import {
  addUsers,
  anApplication,
  broadcast,
  broadcastBody,
  newestId,
  unreadOf,
} from '../support/messaging/broadcasts.js'
import { ChangeReader } from '../support/messaging/change-reader.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  peers,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'

const system = 0

for (const backend of anyBackend()) {
  describe(`broadcasts on ${backend.name}`, () => {
    let watched: InProcessServer
    let server: InProcessServer
    /** Of an application of the test's own. */
    let admin: Api
    let appId: string
    let alice: Person
    let bob: Person
    let bot: Person

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      server = watched.server
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    beforeEach(async () => {
      admin = await anApplication(server)
      appId = admin.options.appId
      ;[alice, bob, bot] = (await addUsers(admin, 3)) as [Person, Person, Person]
    })

    const query = (text: string) => watched.sql.run(text)
    const call = (body: object, caller: Api = admin) =>
      caller.call('POST', '/message/broadcast', { body })
    const addUser = async (name: string): Promise<Person> => {
      const [user] = await addUsers(admin, 1, name)
      if (!user) throw new Error('nobody')
      return user
    }
    const remove = (user: Person) => user.api.succeed('POST', '/user/delete', { body: {} })
    /** A user with a token that is tied to a device. */
    const device = async ({ id, username }: Person) =>
      (await admin.login({ id, username, password: 'correct horse' }, 'phone')).api

    describe('what is sent', () => {
      it('is one message in the history of every user, from the system', async () => {
        expect(
          await broadcast(admin, 'hello all', { ext: 'x', config: 'y', attachment: 'z' }),
        ).toBe(3)
        const shown = await Promise.all([alice, bob, bot].map(({ api }) => history(api, system)))
        for (const [index, [message, ...others]] of shown.entries()) {
          expect(others).toEqual([])
          expect(message).toMatchObject({
            content: 'hello all',
            ext: 'x',
            config: 'y',
            attachment: 'z',
            ctype: 'TEXT',
            is_system: false,
            status: 'UNREAD',
            edit_timestamp: 0,
            from_xid: { uid: system, device_sn: 0 },
            to_xid: { uid: [alice, bob, bot][index]?.id },
          })
        }
        expect(new Set(shown.map(([message]) => message?.msg_id)).size).toBe(1)
        const rows = await query(`select count(*) as count from messages where app_id = '${appId}'`)
        expect(Number(rows[0]?.count)).toBe(1)
      })

      it('costs the same rows whatever the number of users', async () => {
        const rowsOf = async () => {
          const tables = ['messages', 'conversations', 'readers', 'outbox']
          const counts: number[] = []
          for (const table of tables) {
            const [row] = await query(
              `select count(*) as count from ${table} where app_id = '${appId}'`,
            )
            counts.push(Number(row?.count))
          }
          return counts
        }
        await addUsers(admin, 60, 'more')
        const before = await rowsOf()
        expect(await broadcast(admin, 'hello')).toBe(63)
        const after = await rowsOf()
        expect(after.map((count, index) => count - (before[index] ?? 0))).toEqual([1, 1, 0, 1])
      })

      it('comes from the user of the header, or of from_user_id', async () => {
        await broadcast(admin.admin({ userId: bot.id }), 'by header')
        await broadcast(admin, 'by name', { from_user_id: bot.id })
        await broadcast(admin.admin({ userId: alice.id }), 'by name first', {
          from_user_id: bot.id,
        })
        expect(await contents(alice.api, bot.id)).toEqual(['by name first', 'by name', 'by header'])
        expect(await contents(alice.api, system)).toEqual([])
      })

      it('may be of every type up to COMMAND, and have no content', async () => {
        for (const content_type of [0, 1, 2, 3, 4, 5, 6])
          expect(await call({ type: 1, content_type, ext: `${content_type}` })).toMatchObject({
            code: 200,
          })
        expect((await history(alice.api, system)).map(({ ctype }) => ctype)).toEqual([
          'COMMAND',
          'LOCATION',
          'FILE',
          'VIDEO',
          'AUDIO',
          'IMAGE',
          'TEXT',
        ])
        expect(await unreadOf(alice.api, system)).toBe(7)
      })

      it('is a message also when it looks like a typing signal', async () => {
        await broadcast(admin, '', { ext: '{"input_status":"typing"}' })
        expect(await unreadOf(alice.api, system)).toBe(1)
      })

      it.each([
        ['another type of target', { type: 2 }],
        ['no type of target', { type: undefined }],
        ['a content_type beyond 6', { content_type: 7 }],
        ['a negative content_type', { content_type: -1 }],
        ['no content_type', { content_type: undefined }],
        ['a content_type that is no number', { content_type: 'TEXT' }],
        ['content that is no string', { content: 5 }],
        ['ext that is no string', { ext: { a: 1 } }],
        ['a sender that is no number', { from_user_id: 'bot' }],
      ])('is refused with %s', async (_, fields) => {
        const answer = await call({ ...broadcastBody('hello'), ...fields })
        expect(answer.code).toBe(answerCode.invalid_parameter)
        expect(await unreadCounts(alice.api)).toEqual({})
      })

      it('is refused from a sender who is unknown or deleted', async () => {
        const unknown = await call(broadcastBody('hello', { from_user_id: 12345 }))
        expect(unknown.code).toBe(answerCode.user_not_found)
        await remove(bot)
        const gone = await call(broadcastBody('hello', { from_user_id: bot.id }))
        expect(gone.code).toBe(answerCode.user_deleted)
        expect(await unreadCounts(alice.api)).toEqual({})
      })

      it('has at most 64 KiB of texts', async () => {
        const texts = { content: 'ä'.repeat(16_384), ext: 'x'.repeat(32_768) }
        expect(await call({ ...broadcastBody(''), ...texts })).toMatchObject({ code: 200 })
        expect(await call({ ...broadcastBody(''), ...texts, config: '1' })).toMatchObject({
          code: answerCode.message_too_large,
        })
      })

      it('is for an Admin token only', async () => {
        const { api } = await admin.sessionOf({ ...alice, password: sharedPassword })
        expect((await call(broadcastBody('hello'), api)).code).toBe(answerCode.no_permission)
        expect((await call(broadcastBody('hello', { from_user_id: alice.id }), api)).code).toBe(
          answerCode.no_permission,
        )
      })

      it('stays in its application', async () => {
        const elsewhere = await anApplication(server)
        const [other] = await addUsers(elsewhere, 1)
        expect(await broadcast(admin, 'here')).toBe(3)
        expect(await contents(other?.api as Api, system)).toEqual([])
        expect(await unreadCounts(other?.api as Api)).toEqual({})
        expect(await peers(other?.api as Api)).toEqual([])
        expect(await broadcast(elsewhere, 'there')).toBe(1)
        expect(await contents(alice.api, system)).toEqual(['here'])
      })

      it('names everybody in its event', async () => {
        await broadcast(admin, 'hello')
        const rows = await query(
          `select kind, payload from outbox where app_id = '${appId}' order by position desc`,
        )
        expect(rows[0]?.kind).toBe('message.stored')
        expect(rows[0]?.payload).toMatch(/^-1\.0\..+:[1-9a-z][0-9a-z]*$/)
      })
    })

    describe('whom it is for', () => {
      it('is those who exist when it is sent, not those who come later', async () => {
        expect(await broadcast(admin, 'first')).toBe(3)
        const late = await addUser('late')
        expect(await contents(late.api, system)).toEqual([])
        expect(await unreadCounts(late.api)).toEqual({})
        expect(await peers(late.api)).toEqual([])
        expect(await broadcast(admin, 'second')).toBe(4)
        expect(await contents(late.api, system)).toEqual(['second'])
        expect(await unreadCounts(late.api)).toEqual({ [system]: 1 })
        expect(await contents(alice.api, system)).toEqual(['second', 'first'])
      })

      it('is all of an import, and of every way to register', async () => {
        await broadcast(admin, 'before')
        const operator = server.api.as(server.operatorToken)
        const users = Array.from({ length: 40 }, (_, index) => ({ username: `imported_${index}` }))
        const { data } = await operator.succeed('POST', '/operator/v1/user/import', {
          body: { app_id: appId, users: [...users, users[0], { username: alice.username }] },
        })
        expect(data).toHaveLength(42)
        const body = { password: 'correct horse' }
        await admin.succeed('POST', '/user/register/push', {
          body: { ...body, username: 'pushed', device_guid: 'd' },
        })
        await admin.succeed('POST', '/user/register/anonymous', {
          body: { ...body, username: 'anon' },
        })
        await admin.succeed('POST', '/user/register/v2', { body: { ...body, username: 'second' } })
        // A name that is taken adds nobody.
        expect(
          (await admin.call('POST', '/user/register/v2', { body: { ...body, username: 'SECOND' } }))
            .code,
        ).toBe(answerCode.user_exists)
        expect(await broadcast(admin, 'after')).toBe(46)
        const imported = admin.admin({ userId: data[7].user_id })
        expect(await contents(imported, system)).toEqual(['after'])
      })

      it('is no deleted users, but disabled ones', async () => {
        await remove(bob)
        await admin.succeed('PUT', '/user/disable', { body: { list: [bot.id] } })
        expect(await broadcast(admin, 'hello')).toBe(2)
        expect((await bob.api.call('GET', '/message/unread')).code).toBe(answerCode.user_deleted)
        await admin.succeed('PUT', '/user/enable', { body: { list: [bot.id] } })
        expect(await unreadOf(bot.api, system)).toBe(1)
      })

      it('is nobody in an application without users', async () => {
        expect(await broadcast(await anApplication(server), 'hello')).toBe(0)
      })

      it('is everybody, also those who block the sender or take nothing from strangers', async () => {
        await alice.api.succeed('POST', '/roster/block', { body: { user_id: bot.id } })
        await bob.api.succeed('POST', '/user/stranger_chat', { query: { value: 2 } })
        await broadcast(admin, 'hello', { from_user_id: bot.id })
        expect(await contents(alice.api, bot.id)).toEqual(['hello'])
        expect(await contents(bob.api, bot.id)).toEqual(['hello'])
      })

      it('is the sender too, who has read it, in the conversation with itself', async () => {
        expect(await broadcast(admin, 'mine', { from_user_id: bot.id })).toBe(3)
        expect(await unreadCounts(bot.api)).toEqual({})
        expect(await peers(bot.api)).toEqual([bot.id])
        const [message] = await history(bot.api, bot.id)
        expect(message).toMatchObject({
          content: 'mine',
          status: 'READ',
          from_xid: { uid: bot.id },
          to_xid: { uid: bot.id },
        })
        // Whatever others read.
        await acknowledge(alice.api, { peer: bot.id })
        await acknowledge(bot.api, { peer: bot.id, message: Number(message?.msg_id) })
        await acknowledge(bot.api)
        expect(await history(bot.api, bot.id)).toEqual([message])
        expect(await contents(bot.api, alice.id)).toEqual([])
        await deleteConversation(bot.api, bot.id)
        expect(await contents(bot.api, bot.id)).toEqual([])
        expect(await contents(alice.api, bot.id)).toEqual(['mine'])
      })

      it('counts exactly while users come and go at once', async () => {
        const registered: number[] = []
        const sent: { readonly number: number; readonly content: string }[] = []
        const come = async (index: number) => {
          registered.push((await addUser(`crowd_${index}`)).id)
        }
        const say = async (index: number) => {
          const content = `b${index}`
          sent.push({ number: await broadcast(admin, content), content })
        }
        const others = await addUsers(admin, 5, 'leaving')
        await Promise.all([
          ...Array.from({ length: 25 }, (_, index) => come(index)),
          ...Array.from({ length: 15 }, (_, index) => say(index)),
          ...others.map(remove),
        ])
        const seen = await Promise.all(
          registered.map(async (userId) => contents(admin.admin({ userId }), system)),
        )
        const order = (await contents(alice.api, system)).toReversed()
        expect(order).toHaveLength(15)
        for (const own of seen) {
          const shown = own.toReversed()
          expect(shown).toEqual(order.slice(order.length - shown.length))
        }
        for (const { number, content } of sent) {
          const newcomers = seen.filter((own) => own.includes(content)).length
          // Alice, Bob, the bot, and some of those who leave.
          expect(number).toBeGreaterThanOrEqual(3 + newcomers)
          expect(number).toBeLessThanOrEqual(3 + newcomers + others.length)
        }
        expect(await broadcast(admin, 'last')).toBe(3 + 25)
        expect(await integrityFaults(server)).toEqual([])
      })
    })

    describe('the conversation with the sender', () => {
      it('holds direct messages and broadcasts by msg_id, in pages that meet', async () => {
        const due: string[] = []
        for (let index = 0; index < 9; index++) {
          due.unshift(`${index}`)
          if (index % 3 === 0) await broadcast(admin, `${index}`, { from_user_id: bot.id })
          else if (index % 3 === 1) await sendText(bot.api, alice.id, `${index}`)
          else await sendText(alice.api, bot.id, `${index}`)
        }
        const all = await history(alice.api, bot.id)
        expect(all.map(({ content }) => content)).toEqual(due)
        const ids = all.map(({ msg_id }) => Number(msg_id))
        expect(ids).toEqual(ids.toSorted((a, b) => b - a))
        for (let limit = 1; limit <= 10; limit++)
          expect(await history(alice.api, bot.id, limit)).toEqual(all)
        // From any message on, a broadcast or not.
        for (const [index, start] of ids.entries()) {
          const page = await historyPage(alice.api, bot.id, { start, limit: 3 })
          expect(page.messages).toEqual(all.slice(index, index + 3))
          expect(page.is_last).toBe(index + 3 >= all.length)
          expect(Number(page.next_msg_id)).toBe(ids[index + 3] ?? 0)
        }
        expect(await contents(bot.api, alice.id)).toEqual(
          due.filter((text) => Number(text) % 3 !== 0),
        )
      })

      it('is listed by its newest message, with or without direct ones', async () => {
        const first = await sendText(bob.api, alice.id, 'hi')
        await broadcast(admin, 'hello', { from_user_id: bot.id })
        const second = await newestId(alice.api, bot.id)
        expect(await peers(alice.api)).toEqual([bot.id, bob.id])
        const third = await sendText(bob.api, alice.id, 'again')
        await broadcast(admin, 'from the system')
        const fourth = await newestId(alice.api, system)
        const list = await conversationList(alice.api)
        expect(
          list.map(({ conversation_id, latest_msg_id }) => [conversation_id.uid, latest_msg_id]),
        ).toEqual([
          [system, fourth],
          [bob.id, third],
          [bot.id, second],
        ])
        expect(list.map(({ create_timestamp }) => create_timestamp)[1]).toBeLessThanOrEqual(
          Number(list[0]?.create_timestamp),
        )
        expect(first).toBeLessThan(second)
        await broadcast(admin, 'once more', { from_user_id: bob.id })
        for (const limit of [1, 2, 3])
          expect(
            (await conversationList(alice.api, limit)).map(
              ({ conversation_id }) => conversation_id.uid,
            ),
          ).toEqual([bob.id, system, bot.id])
        expect(await peers(bot.api)).toEqual([bob.id, system, bot.id])
      })

      it('counts all of it as unread together', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        await sendText(bot.api, alice.id, 'two')
        await broadcast(admin, 'three', { from_user_id: bot.id })
        await broadcast(admin, 'from the system')
        expect(await unreadCounts(alice.api)).toEqual({ [bot.id]: 3, [system]: 1 })
        expect(await unreadCounts(bob.api)).toEqual({ [bot.id]: 2, [system]: 1 })
      })

      it('is read up to a message, as a whole, or with all others', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const two = await sendText(bot.api, alice.id, 'two')
        await broadcast(admin, 'three', { from_user_id: bot.id })
        const four = await sendText(bot.api, alice.id, 'four')
        const three = (await history(alice.api, bot.id))[1]?.msg_id as number
        await acknowledge(alice.api, { peer: bot.id, message: two })
        expect(await unreadOf(alice.api, bot.id)).toBe(2)
        expect((await history(alice.api, bot.id)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'UNREAD',
          'READ',
          'READ',
        ])
        // By a broadcast, which alone names the conversation.
        await acknowledge(alice.api, { message: three })
        expect(await unreadOf(alice.api, bot.id)).toBe(1)
        // Never back.
        await acknowledge(alice.api, { peer: bot.id, message: two })
        expect(await unreadOf(alice.api, bot.id)).toBe(1)
        expect((await history(bot.api, alice.id)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'READ',
        ])
        await acknowledge(alice.api, { peer: bot.id, message: four })
        expect(await unreadCounts(alice.api)).toEqual({})
        await broadcast(admin, 'five', { from_user_id: bot.id })
        await acknowledge(alice.api, { peer: bot.id })
        expect(await unreadCounts(alice.api)).toEqual({})
        await broadcast(admin, 'six', { from_user_id: bot.id })
        await broadcast(admin, 'seven')
        await acknowledge(alice.api)
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await unreadCounts(bob.api)).toEqual({ [bot.id]: 4, [system]: 1 })
        expect((await history(alice.api, system)).map(({ status }) => status)).toEqual(['READ'])
      })

      it('is read by a receipt message too', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const message = await newestId(alice.api, bot.id)
        expect((await operate(alice.api, 'readAck', { peer: bot.id, message })).code).toBe(200)
        expect(await unreadCounts(alice.api)).toEqual({})
      })

      it('is read by an answer', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        await broadcast(admin, 'two')
        await sendText(alice.api, bot.id, 'thanks')
        expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
        expect((await history(alice.api, bot.id)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'READ',
        ])
        await broadcast(admin, 'three', { from_user_id: bot.id })
        expect(await unreadOf(alice.api, bot.id)).toBe(1)
        // A notification moves nobody's mark.
        await admin.succeed('POST', '/message/notify', {
          body: {
            type: 1,
            content_type: 0,
            targets: [bot.id],
            content: '!',
            from_user_id: alice.id,
          },
        })
        expect(await unreadOf(alice.api, bot.id)).toBe(1)
      })

      it('cannot be read by those who do not have the message', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const message = await newestId(alice.api, bot.id)
        const late = await addUser('late')
        const ack = (query: object) => late.api.call('GET', '/message/ack', { query: { ...query } })
        expect((await ack({ msg_id: message })).code).toBe(answerCode.message_not_found)
        expect((await ack({ conversation_id: bot.id, msg_id: message })).code).toBe(
          answerCode.conversation_not_found,
        )
        expect((await ack({ conversation_id: bot.id })).code).toBe(200)
        expect((await operate(late.api, 'readAck', { peer: bot.id, message })).code).not.toBe(200)
        await broadcast(admin, 'two', { from_user_id: bot.id })
        expect((await ack({ conversation_id: bot.id, msg_id: message })).code).toBe(
          answerCode.message_not_found,
        )
        expect(await unreadOf(late.api, bot.id)).toBe(1)
      })

      it('tells what reached a device', async () => {
        await broadcast(admin, 'one')
        const phone = await device(alice)
        const statuses = async (api: Api) =>
          (await history(api, system)).map(({ status }) => status)
        expect(await statuses(phone)).toEqual(['UNREAD'])
        expect(await statuses(alice.api)).toEqual(['DELIVERED'])
        expect(await unreadOf(alice.api, system)).toBe(1)
        await broadcast(admin, 'two')
        expect(await statuses(alice.api)).toEqual(['UNREAD', 'DELIVERED'])
        expect(await statuses(bob.api)).toEqual(['UNREAD', 'UNREAD'])
        await acknowledge(alice.api, { peer: system })
        expect(await statuses(alice.api)).toEqual(['READ', 'READ'])
      })

      it('tells the own devices, and not the sender, what was read', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const message = await newestId(alice.api, bot.id)
        await acknowledge(alice.api, { peer: bot.id })
        await acknowledge(alice.api, { peer: bot.id })
        const rows = await query(
          `select payload from outbox where app_id = '${appId}' and kind = 'message.read'`,
        )
        expect(rows.map(({ payload }) => JSON.parse(String(payload)))).toEqual([
          {
            actor_id: alice.id,
            user_ids: [alice.id],
            conversation: { low_id: -1, high_id: bot.id, is_group: false },
            msg_id: message,
            seq: 1,
          },
        ])
      })

      it('tells the sender of its own message before the broadcast that is acknowledged', async () => {
        const direct = await sendText(bot.api, alice.id, 'direct')
        await broadcast(admin, 'one', { from_user_id: bot.id })
        await acknowledge(alice.api, {
          peer: bot.id,
          message: await newestId(alice.api, bot.id),
        })
        const rows = await query(
          `select payload from outbox where app_id = '${appId}' and kind = 'message.read'`,
        )
        const told = rows
          .map(({ payload }) => JSON.parse(String(payload)))
          .filter(({ conversation }) => conversation.low_id !== -1)
        expect(told.map(({ msg_id }) => msg_id)).toEqual([direct])
      })

      it('is deleted for the user alone, and comes back with the next message only', async () => {
        await sendText(bot.api, alice.id, 'direct')
        await broadcast(admin, 'one', { from_user_id: bot.id })
        await deleteConversation(alice.api, bot.id)
        expect(await contents(alice.api, bot.id)).toEqual([])
        expect(await peers(alice.api)).toEqual([])
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await contents(bob.api, bot.id)).toEqual(['one'])
        await broadcast(admin, 'two', { from_user_id: bot.id })
        expect(await contents(alice.api, bot.id)).toEqual(['two'])
        expect(await unreadCounts(alice.api)).toEqual({ [bot.id]: 1 })
        expect(await peers(alice.api)).toEqual([bot.id])
        await deleteConversation(alice.api, bot.id)
        await sendText(bot.api, alice.id, 'three')
        expect(await contents(alice.api, bot.id)).toEqual(['three'])
      })

      it('is deleted where there are broadcasts only, and nothing is deleted where there are none', async () => {
        await deleteConversation(alice.api, system)
        await broadcast(admin, 'one')
        await deleteConversation(alice.api, system)
        expect(await contents(alice.api, system)).toEqual([])
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await unreadCounts(bob.api)).toEqual({ [system]: 1 })
        const [row] = await query(
          `select count(*) as count from readers where low_id = -1 and app_id = '${appId}'`,
        )
        expect(Number(row?.count)).toBe(1)
      })

      it('may be pinned', async () => {
        await broadcast(admin, 'one')
        await alice.api.succeed('POST', '/user/conversation/pin', {
          body: { conversation_id: system },
        })
        const { data } = await alice.api.succeed('GET', '/user/conversation/pin_list')
        expect(data).toEqual({ conversation_ids: [system] })
      })

      it('is whole at the first look after a thousand broadcasts', async () => {
        for (let round = 0; round < 20; round++)
          await Promise.all(
            Array.from({ length: 50 }, (_, index) => broadcast(admin, `${round}/${index}`)),
          )
        expect(await unreadCounts(alice.api)).toEqual({ [system]: 1_000 })
        expect((await historyPage(alice.api, system, { limit: 20 })).messages).toHaveLength(20)
        expect(await peers(alice.api)).toEqual([system])
        const shown = await history(alice.api, system)
        expect(shown).toHaveLength(1_000)
        const middle = Number(shown[500]?.msg_id)
        await acknowledge(alice.api, { peer: system, message: middle })
        expect(await unreadCounts(alice.api)).toEqual({ [system]: 500 })
        const late = await addUser('late')
        expect(await unreadCounts(late.api)).toEqual({})
        await broadcast(admin, 'last')
        expect(await unreadCounts(late.api)).toEqual({ [system]: 1 })
      })
    })

    describe('after a clock that was ahead of time', () => {
      const idsPerMs = 4_096
      const inFuture = (hours: number) =>
        (Date.now() + hours * 3_600_000 - Date.UTC(2015, 0, 1)) * idsPerMs

      it('keeps the order of broadcasts and messages in both directions', async () => {
        const [first, second, third] = [inFuture(1), inFuture(2), inFuture(3)]
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const table = (name: string, set: string) =>
          query(`update ${name} set ${set} where app_id = '${appId}'`)
        await table('user_counts', `last_broadcast_id = ${first}`)
        await broadcast(admin, 'two', { from_user_id: bot.id })
        expect(await newestId(alice.api, bot.id)).toBeGreaterThan(first)
        // All at once, so that some batches are under way.
        const texts = Array.from({ length: 20 }, (_, index) => `direct ${index}`)
        await Promise.all([
          ...texts.map((text) => sendText(bot.api, alice.id, text)),
          broadcast(admin, 'among them', { from_user_id: bot.id }),
        ])
        await table('outbox_heads', `last_msg_id = ${second}`)
        await broadcast(admin, 'three', { from_user_id: bot.id })
        // As if another node, whose clock is ahead, had taken a broadcast since; the next one makes the tables agree again.
        await table('outbox_heads', `last_broadcast_id = ${third}`)
        expect(await sendText(bot.api, alice.id, 'after it')).toBeGreaterThan(third)
        await broadcast(admin, 'four', { from_user_id: bot.id })
        await sendText(alice.api, bot.id, 'thanks')
        const shown = await history(alice.api, bot.id)
        expect(shown.slice(0, 4).map(({ content }) => content)).toEqual([
          'thanks',
          'four',
          'after it',
          'three',
        ])
        expect(Number(shown[3]?.msg_id)).toBeGreaterThan(second)
        expect(shown.slice(-2).map(({ content }) => content)).toEqual(['two', 'one'])
        expect(shown).toHaveLength(27)
        expect(await integrityFaults(server)).toEqual([])
      })
    })

    describe('recalled and edited', () => {
      it('is gone for everybody, by an Admin token', async () => {
        await broadcast(admin, 'one')
        await broadcast(admin, 'two')
        const message = await newestId(alice.api, system)
        await acknowledge(bob.api, { peer: system })
        expect((await recall(admin, system, message)).code).toBe(200)
        expect(await contents(alice.api, system)).toEqual(['one'])
        expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
        expect(await unreadCounts(bob.api)).toEqual({})
        const [entry] = await conversationList(alice.api)
        expect(entry?.latest_msg_id).toBe((await history(alice.api, system))[0]?.msg_id)
        expect((await recall(admin, system, message)).code).toBe(answerCode.message_not_found)
        // A recalled one still marks its place.
        await acknowledge(alice.api, { peer: system, message })
        expect(await unreadCounts(alice.api)).toEqual({})
        const [event] = await query(
          `select payload from outbox where app_id = '${appId}' and kind = 'message.recalled'`,
        )
        expect(JSON.parse(String(event?.payload))).toEqual({
          actor_id: 0,
          user_ids: [],
          conversation: { low_id: -1, high_id: system, is_group: false },
          msg_id: message,
          seq: expect.any(Number),
          sender_id: system,
          is_system: expect.any(Boolean),
          timestamp: expect.any(Number),
          change: expect.any(Number),
        })
      })

      it('is recalled in the name of its sender, of a reader, or of nobody', async () => {
        const callers = [admin.admin({ userId: bot.id }), admin.admin({ userId: alice.id }), admin]
        for (const caller of callers) {
          await broadcast(admin, 'one', { from_user_id: bot.id })
          expect((await recall(caller, bot.id, await newestId(alice.api, bot.id))).code).toBe(200)
          expect(await contents(bob.api, bot.id)).toEqual([])
          expect(await peers(bob.api)).toEqual([])
          expect(await unreadCounts(bob.api)).toEqual({})
        }
        await broadcast(admin, 'by a message', { from_user_id: bot.id })
        const message = await newestId(alice.api, bot.id)
        const ofBot = admin.admin({ userId: bot.id })
        expect((await operate(ofBot, 'recall', { peer: alice.id, message })).code).toBe(200)
        expect(await contents(bob.api, bot.id)).toEqual([])
      })

      it('is changed for everybody, by an Admin token', async () => {
        await broadcast(admin, 'one', { ext: '{"a":1}' })
        const message = await newestId(alice.api, system)
        const replaced = { peer: system, message, content: 'new', ext: '{"b":2}' }
        expect((await operate(admin, 'replace', replaced)).code).toBe(200)
        expect(
          (await operate(admin, 'append', { peer: alice.id, message, content: '!' })).code,
        ).toBe(200)
        for (const { api } of [alice, bob]) {
          const [shown, ...others] = await history(api, system)
          expect(others).toEqual([])
          expect(shown).toMatchObject({ content: 'new!', msg_id: message })
          expect(JSON.parse(shown?.ext ?? '')).toEqual({ a: 1, b: 2 })
          expect(Number(shown?.edit_timestamp)).toBeGreaterThan(Number(shown?.timestamp))
        }
        expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
        const tooLong = { peer: system, message, content: 'x'.repeat(65_530) }
        expect((await operate(admin, 'append', tooLong)).code).toBe(answerCode.message_too_large)
      })

      it("is left alone by user tokens, the sender's too", async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        const message = await newestId(alice.api, bot.id)
        const token = async (user: Person) =>
          (await admin.sessionOf({ ...user, password: sharedPassword })).api
        const [asBot, asAlice] = [await token(bot), await token(alice)]
        const late = await token(await addUser('late'))
        const tries = [
          [asAlice, bot.id, answerCode.no_permission],
          [asBot, bot.id, answerCode.no_permission],
          [late, bot.id, answerCode.conversation_not_found],
          [asAlice, bob.id, answerCode.conversation_not_found],
        ] as const
        for (const [api, peer, code] of tries) {
          expect((await recall(api, peer, message)).code).toBe(code)
          for (const operation of ['recall', 'append', 'replace'] as const)
            expect((await operate(api, operation, { peer, message, content: 'x' })).code).toBe(code)
        }
        expect(await contents(alice.api, bot.id)).toEqual(['one'])
      })

      it('stays unread as often as it is there', async () => {
        for (const content of ['1', '2', '3', '4', '5']) await broadcast(admin, content)
        const ids = (await history(alice.api, system)).map(({ msg_id }) => Number(msg_id)).reverse()
        await acknowledge(bob.api, { peer: system, message: ids[1] as number })
        await recall(admin, system, ids[0] as number)
        await recall(admin, system, ids[3] as number)
        expect(await unreadOf(alice.api, system)).toBe(3)
        expect(await unreadOf(bob.api, system)).toBe(2)
        const late = await addUser('late')
        await recall(admin, system, ids[4] as number)
        expect(await unreadCounts(late.api)).toEqual({})
        await broadcast(admin, '6')
        expect(await unreadCounts(late.api)).toEqual({ [system]: 1 })
        expect(await unreadOf(bob.api, system)).toBe(2)
      })

      it('has numbers of its own in the order of changes', async () => {
        await using reader = new ChangeReader(watched.place)
        await broadcast(admin, 'one')
        await broadcast(admin, 'two')
        const late = await addUser('late')
        await broadcast(admin, 'three')
        const [three, , one] = (await history(alice.api, system)).map(({ msg_id }) =>
          Number(msg_id),
        )
        await operate(admin, 'append', { peer: system, message: three as number, content: '!' })
        await recall(admin, system, one as number)
        const of = async (user: Person, after = 0) => {
          const page = await reader.broadcastChangesAfter({ appId, userId: user.id }, system, after)
          return [
            page.end,
            ...(page.changes?.flatMap((each) => {
              if (each.kind === 'skipped') return []
              const what =
                each.kind === 'recalled' ? each.tombstone.messageId : each.message.content
              return [[each.change, each.kind, what]]
            }) ?? ['refetch']),
          ]
        }
        expect(await of(alice)).toEqual([
          5,
          [2, 'stored', 'two'],
          [3, 'stored', 'three!'],
          [4, 'edited', 'three!'],
          [5, 'recalled', one],
        ])
        expect(await of(alice, 4)).toEqual([5, [5, 'recalled', one]])
        expect(await of(late)).toEqual([5, [3, 'stored', 'three!'], [4, 'edited', 'three!']])
        expect(await of(alice, 6)).toEqual([5, 'refetch'])
        await deleteConversation(alice.api, system)
        expect(await of(alice)).toEqual([5])
      })
    })

    describe('when users are deleted', () => {
      it('their positions go, and what they have sent stays', async () => {
        await broadcast(admin, 'one', { from_user_id: bot.id })
        await acknowledge(alice.api, { peer: bot.id })
        await deleteConversation(bob.api, bot.id)
        await remove(alice)
        await remove(bot)
        const rows = await query(
          `select user_id from readers where low_id = -1 and app_id = '${appId}'`,
        )
        expect(rows.map(({ user_id }) => Number(user_id))).toEqual([bob.id])
        const carol = await addUser('carol')
        expect(await contents(carol.api, bot.id)).toEqual([])
        expect(await broadcast(admin, 'two')).toBe(2)
        expect((await call(broadcastBody('three', { from_user_id: bot.id }))).code).toBe(
          answerCode.user_deleted,
        )
        expect(await integrityFaults(server)).toEqual([])
      })

      it('nothing is left of those who read at that moment', async () => {
        await broadcast(admin, 'one')
        const users = await addUsers(admin, 10, 'reader')
        await broadcast(admin, 'two')
        await Promise.all(
          users.flatMap((user) => [
            user.api.call('GET', '/message/ack', { query: { conversation_id: system } }),
            user.api.call('DELETE', '/message/conversation', { body: { conversation_id: system } }),
            remove(user),
          ]),
        )
        expect(await integrityFaults(server)).toEqual([])
        const rows = await query(
          `select user_id from readers where low_id = -1 and app_id = '${appId}'`,
        )
        expect(rows).toEqual([])
      })

      it('a broadcast of theirs at that moment is stored or refused', async () => {
        const senders = await addUsers(admin, 8, 'sender')
        const answers = await Promise.all(
          senders.flatMap((user) => [
            call(broadcastBody('hello', { from_user_id: user.id })),
            remove(user).then(() => null),
          ]),
        )
        const codes = answers.flatMap((answer) => answer?.code ?? [])
        expect(codes).toHaveLength(8)
        const unread = await unreadCounts(alice.api)
        for (const [index, code] of codes.entries()) {
          expect([200, answerCode.user_deleted]).toContain(code)
          expect(unread[senders[index]?.id as number]).toBe(code === 200 ? 1 : undefined)
        }
        expect(await integrityFaults(server)).toEqual([])
      })
    })

    it('survive a restart', async () => {
      await broadcast(admin, 'one')
      await acknowledge(bob.api, { peer: system })
      await server.stop()
      await server.startAgain()
      await waitFor(async () => (await unreadCounts(alice.api))[system] === 1, {
        what: 'the server',
        timeoutMs: 5_000,
      })
      expect(await unreadCounts(bob.api)).toEqual({})
      expect(await contents(alice.api, system)).toEqual(['one'])
    })

    it('leave nothing behind that does not agree', async () => {
      expect(await integrityFaults(server)).toEqual([])
    })
  })
}
