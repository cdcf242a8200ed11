import type { Message } from '@hermod/protocol'
import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import {
  acknowledge,
  aDeletedUser,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  peers,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('history on $name', (backend) => {
  const server = ownServer(backend)

  describe('history', () => {
    async function aConversation(length: number) {
      const [alice, bob] = await sessions(server, 2)
      const ids: number[] = []
      for (let number = 1; number <= length; number++)
        ids.unshift(
          await sendText(
            number % 2 === 0 ? alice.api : bob.api,
            number % 2 === 0 ? bob.id : alice.id,
            `${number}`,
          ),
        )
      return { alice, bob, ids }
    }

    const idsOf = (messages: readonly Message[]) => messages.map(({ msg_id }) => msg_id)

    it('comes newest first, page by page from the message that the page before names', async () => {
      const { alice, bob, ids } = await aConversation(7)
      const first = await historyPage(alice.api, bob.id, { limit: 3 })
      expect(idsOf(first.messages)).toEqual(ids.slice(0, 3))
      expect(first).toMatchObject({ is_last: false, next_msg_id: ids[3] })
      const second = await historyPage(alice.api, bob.id, { limit: 3, start: first.next_msg_id })
      expect(idsOf(second.messages)).toEqual(ids.slice(3, 6))
      expect(second).toMatchObject({ is_last: false, next_msg_id: ids[6] })
      const third = await historyPage(alice.api, bob.id, { limit: 3, start: second.next_msg_id })
      expect(idsOf(third.messages)).toEqual(ids.slice(6))
      expect(third).toMatchObject({ is_last: true, next_msg_id: 0 })
    })

    it('says that a page is the last one also when it is full', async () => {
      const { alice, bob, ids } = await aConversation(4)
      expect(await historyPage(alice.api, bob.id, { limit: 4 })).toMatchObject({
        is_last: true,
        next_msg_id: 0,
      })
      expect(
        await historyPage(alice.api, bob.id, { limit: 2, start: ids[2] as number }),
      ).toMatchObject({ is_last: true, next_msg_id: 0 })
    })

    it('starts at the named message, itself included, or at the next older one', async () => {
      const { alice, bob, ids } = await aConversation(3)
      const [newest, middle, oldest] = ids as [number, number, number]
      const from = async (start: number | bigint) =>
        idsOf((await historyPage(alice.api, bob.id, { start })).messages)
      expect(await from(middle)).toEqual([middle, oldest])
      expect(await from(middle - 1)).toEqual([oldest])
      expect(await from(newest + 1)).toEqual(ids)
      expect(await from(2n ** 63n - 1n)).toEqual(ids)
      expect(await from(0)).toEqual(ids)
      expect(await from(oldest - 1)).toEqual([])
      expect(await from(1)).toEqual([])
    })

    it('takes pages of 1 to 100 and cuts longer ones', async () => {
      const [alice, bob] = await sessions(server, 2)
      await Promise.all(
        Array.from({ length: 102 }, (_, number) => sendText(alice.api, bob.id, `${number}`)),
      )
      for (const [limit, length] of [
        [1, 1],
        [100, 100],
        [101, 100],
        [2 ** 31 - 1, 100],
      ] as const) {
        const page = await historyPage(bob.api, alice.id, { limit })
        expect(page.messages).toHaveLength(length)
        expect(page.is_last).toBe(false)
      }
      expect(await history(bob.api, alice.id, 1)).toHaveLength(102)
    })

    it('is empty with somebody one never wrote with, and an error with nobody', async () => {
      const [alice, bob] = await sessions(server, 2)
      expect(await historyPage(alice.api, bob.id)).toEqual({
        is_last: true,
        messages: [],
        next_msg_id: 0,
      })
      expect(await historyPage(alice.api, 0)).toEqual({
        is_last: true,
        messages: [],
        next_msg_id: 0,
      })
      for (const opposite_id of [nobody, 2n ** 63n - 1n, -1])
        expect(
          (
            await alice.api.call('GET', '/message/conversation', {
              query: { opposite_id, msg_id_start: 0, limit: 1 },
            })
          ).code,
        ).toBe(answerCode.user_not_found)
    })

    it('shows nobody the messages of others', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const id = await sendText(alice.api, bob.id, 'between us')
      expect(await history(carol.api, alice.id)).toEqual([])
      expect((await historyPage(carol.api, bob.id, { start: id })).messages).toEqual([])
      expect(await conversationList(carol.api)).toEqual([])
    })

    it('keeps the order of the answers under 64 concurrent senders, each message exactly once', async () => {
      const [alice, bob] = await sessions(server, 2)
      const senders = 64
      const messagesEach = 6
      const answered = await Promise.all(
        Array.from({ length: senders }, async (_, sender) => {
          const [api, peer] = sender % 2 === 0 ? [alice.api, bob.id] : [bob.api, alice.id]
          const sent: { id: number; content: string }[] = []
          for (let number = 0; number < messagesEach; number++) {
            const content = `${sender}/${number}`
            sent.push({ id: await sendText(api, peer, content), content })
          }
          return sent
        }),
      )
      for (const sent of answered)
        for (const [index, { id }] of sent.entries())
          expect(id).toBeGreaterThan(sent[index - 1]?.id ?? 0)
      const shown = await history(alice.api, bob.id, 37)
      const expected = answered.flat().sort((a, b) => b.id - a.id)
      expect(new Set(expected.map(({ id }) => id)).size).toBe(senders * messagesEach)
      expect(shown.map(({ msg_id, content }) => ({ id: msg_id, content }))).toEqual(expected)
      // The user who wrote the newest has read all; what follows the last message of the other is
      // unread to the other.
      const [writer, waiter] = shown[0]?.from_xid.uid === alice.id ? [alice, bob] : [bob, alice]
      expect(await unreadCounts(writer.api)).toEqual({})
      expect(await unreadCounts(waiter.api)).toEqual({
        [writer.id]: shown.findIndex(({ from_xid }) => from_xid.uid === waiter.id),
      })
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  describe('an Admin token', () => {
    it('reads, acknowledges and deletes for the user of the header', async () => {
      const [alice, bob] = await sessions(server, 2)
      const forBob = server.api.admin({ userId: bob.id })
      await sendText(alice.api, bob.id, '1')
      expect(await contents(forBob, alice.id)).toEqual(['1'])
      expect((await history(forBob, alice.id))[0]).toMatchObject({
        status: 'UNREAD',
        to_xid: { uid: bob.id },
      })
      expect(await unreadCounts(forBob)).toEqual({ [alice.id]: 1 })
      await acknowledge(forBob, { peer: alice.id })
      expect(await unreadCounts(bob.api)).toEqual({})
      await deleteConversation(forBob, alice.id)
      expect(await peers(bob.api)).toEqual([])
      expect(await peers(alice.api)).toEqual([bob.id])
    })

    const calls = [
      ['GET', '/message/conversation', { opposite_id: 0, msg_id_start: 0, limit: 1 }],
      ['GET', '/message/conversation_list', {}],
      ['GET', '/message/unread', {}],
      ['GET', '/message/ack', {}],
      ['DELETE', '/message/conversation', { conversation_id: 0 }],
    ] as const

    it('names a user who exists', async () => {
      const deleted = await aDeletedUser(server)
      for (const [method, path, query] of calls) {
        await expectCode(
          server.api.admin({ userId: nobody }).call(method, path, { query }),
          'user_not_found',
        )
        await expectCode(
          server.api.admin({ userId: deleted }).call(method, path, { query }),
          'user_deleted',
        )
      }
    })
  })
})
