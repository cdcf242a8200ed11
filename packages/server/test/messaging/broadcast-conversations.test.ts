/** Broadcasts among direct messages: history, lists, read marks and deletions. */
import { type Api, anyBackend, sharedPassword } from '@hermod/testkit'
import { beforeEach, describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import type { Person } from '../support/contacts.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  addUsers,
  anApplication,
  broadcast,
  newestId,
  unreadOf,
} from '../support/messaging/broadcasts.js'
import { operate } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  peers,
  sendText,
  statuses,
  unreadCounts,
} from '../support/messaging/messaging.js'

const system = 0

describe.each(anyBackend())(
  'the conversation with the sender of broadcasts on $name',
  (backend) => {
    const server = sharedServer(backend)
    /** Of an application of the test's own. */
    let admin: Api
    let appId: string
    let alice: Person
    let bob: Person
    let bot: Person

    beforeEach(async () => {
      admin = await anApplication(server)
      appId = admin.options.appId
      ;[alice, bob, bot] = await addUsers(admin, 3)
    })

    const query = (text: string) => server.sql.run(text)
    const addUser = async (name: string) => (await addUsers(admin, 1, name))[0]

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
      expect(await statuses(alice.api, bot.id)).toEqual(['UNREAD', 'UNREAD', 'READ', 'READ'])
      // By a broadcast, which alone names the conversation.
      await acknowledge(alice.api, { message: three })
      expect(await unreadOf(alice.api, bot.id)).toBe(1)
      // Never back.
      await acknowledge(alice.api, { peer: bot.id, message: two })
      expect(await unreadOf(alice.api, bot.id)).toBe(1)
      expect(await statuses(bot.api, alice.id)).toEqual(['UNREAD', 'READ'])
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
      expect(await statuses(alice.api, system)).toEqual(['READ'])
    })

    it('is read by a receipt message too', async () => {
      await broadcast(admin, 'one', { from_user_id: bot.id })
      const message = await newestId(alice.api, bot.id)
      await expectCode(operate(alice.api, 'readAck', { peer: bot.id, message }), 'ok')
      expect(await unreadCounts(alice.api)).toEqual({})
    })

    it('is read by an answer', async () => {
      await broadcast(admin, 'one', { from_user_id: bot.id })
      await broadcast(admin, 'two')
      await sendText(alice.api, bot.id, 'thanks')
      expect(await unreadCounts(alice.api)).toEqual({ [system]: 1 })
      expect(await statuses(alice.api, bot.id)).toEqual(['UNREAD', 'READ'])
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
      await expectCode(ack({ msg_id: message }), 'message_not_found')
      await expectCode(ack({ conversation_id: bot.id, msg_id: message }), 'conversation_not_found')
      await expectCode(ack({ conversation_id: bot.id }), 'ok')
      expect((await operate(late.api, 'readAck', { peer: bot.id, message })).code).not.toBe(200)
      await broadcast(admin, 'two', { from_user_id: bot.id })
      await expectCode(ack({ conversation_id: bot.id, msg_id: message }), 'message_not_found')
      expect(await unreadOf(late.api, bot.id)).toBe(1)
    })

    it('tells what reached a device', async () => {
      await broadcast(admin, 'one')
      const { api: phone } = await admin.login({ ...alice, password: sharedPassword }, 'phone')
      expect(await statuses(phone, system)).toEqual(['UNREAD'])
      expect(await statuses(alice.api, system)).toEqual(['DELIVERED'])
      expect(await unreadOf(alice.api, system)).toBe(1)
      await broadcast(admin, 'two')
      expect(await statuses(alice.api, system)).toEqual(['UNREAD', 'DELIVERED'])
      expect(await statuses(bob.api, system)).toEqual(['UNREAD', 'UNREAD'])
      await acknowledge(alice.api, { peer: system })
      expect(await statuses(alice.api, system)).toEqual(['READ', 'READ'])
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
      for (let round = 0; round < 50; round++)
        await Promise.all(
          Array.from({ length: 20 }, (_, index) => broadcast(admin, `${round}/${index}`)),
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
  },
)
