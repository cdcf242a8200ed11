import { anyBackend, type Session } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  notify,
  peers,
  sendText,
  sessions,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('the list of conversations on $name', (backend) => {
  const server = sharedServer(backend)

  describe('the list of conversations', () => {
    it('comes with the most recent activity first', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const before = Date.now()
      await sendText(alice.api, bob.id, '1')
      const withCarol = await sendText(carol.api, alice.id, '2')
      const notification = await notify(server.api.admin(), alice.id, '3')
      const withBob = await sendText(bob.api, alice.id, '4')
      const after = Date.now() + 1_000
      const list = await conversationList(alice.api)
      expect(
        list.map(({ conversation_id, latest_msg_id }) => [conversation_id.uid, latest_msg_id]),
      ).toEqual([
        [bob.id, withBob],
        [0, notification],
        [carol.id, withCarol],
      ])
      for (const { create_timestamp, update_timestamp } of list) {
        expect(create_timestamp).toBeGreaterThanOrEqual(before)
        expect(update_timestamp).toBeGreaterThanOrEqual(create_timestamp)
        expect(update_timestamp).toBeLessThanOrEqual(after)
      }
    })

    it('is not moved by reading', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      await sendText(bob.api, alice.id, '1')
      await sendText(carol.api, alice.id, '2')
      const before = await conversationList(alice.api)
      await acknowledge(alice.api, { peer: bob.id })
      expect(await conversationList(alice.api)).toEqual(before)
    })

    describe('of many', () => {
      let reader: Session
      /** Newest first. */
      let senders: number[]

      beforeAll(async () => {
        reader = await server.api.newSession()
        const stamp = `crowd_${reader.id}`
        const users = Array.from({ length: 23 }, (_, index) => ({
          username: `${stamp}_${index}`,
          password: 'correct horse',
        }))
        const { data } = await server.api
          .admin()
          .succeed('POST', '/user/register/batch', { body: { list: users } })
        senders = data.map(({ user_id }: { user_id: number }) => user_id).toReversed()
        for (const sender of senders.toReversed())
          await sendText(server.api.admin({ userId: sender }), reader.id, 'hello')
      })

      const page = async (query: { cursor?: string; limit?: number | string }) => {
        const { data } = await reader.api.succeed('GET', '/message/conversation_list', { query })
        return {
          ...data,
          uids: data.conversations.map(
            (entry: { conversation_id: { uid: number } }) => entry.conversation_id.uid,
          ),
        }
      }

      it('comes in pages of at most 20', async () => {
        for (const limit of [undefined, 20, 21, 2 ** 31 - 1, '']) {
          const first = await page(limit === undefined ? {} : { limit })
          expect(first.uids).toEqual(senders.slice(0, 20))
          expect(first.has_more).toBe(true)
          const second = await page({ cursor: first.next_cursor })
          expect(second).toMatchObject({
            uids: senders.slice(20),
            has_more: false,
            next_cursor: '',
          })
        }
        for (const limit of [1, 7, 23]) expect(await peersOf(limit)).toEqual(senders)
      })

      const peersOf = async (limit: number) =>
        (await conversationList(reader.api, limit)).map(
          ({ conversation_id }) => conversation_id.uid,
        )

      it('starts over with an empty cursor', async () => {
        expect(await page({ cursor: '', limit: 5 })).toEqual(await page({ limit: 5 }))
      })

      it('refuses cursors that it never gave', async () => {
        for (const cursor of [
          'garbage',
          '-1',
          '0',
          '1.5',
          ' ',
          '%',
          `1' or '1'='1`,
          '1e300',
          '9'.repeat(40),
          'x'.repeat(600),
        ]) {
          const answer = await reader.api.call('GET', '/message/conversation_list', {
            query: { cursor },
          })
          await expectCode(answer, 'invalid_parameter')
          expect(answer.envelope.message).toContain('cursor')
        }
      })

      it('shows each conversation once, whatever is sent between two pages', async () => {
        const newcomer = await server.api.newSession()
        const [later, shown, deleted] = [senders[15], senders[3], senders[18]] as number[]
        const send = (sender: number, text: string) =>
          sendText(server.api.admin({ userId: sender }), reader.id, text)
        const first = await page({ limit: 10 })
        const newest = await send(later as number, 'me first')
        await send(shown as number, 'me too')
        await send(newcomer.id, 'I am new')
        await deleteConversation(reader.api, deleted as number)
        const second = await page({ cursor: first.next_cursor, limit: 7 })
        expect(second.conversations).toContainEqual(
          expect.objectContaining({ conversation_id: { uid: later }, latest_msg_id: newest }),
        )
        await send(later as number, 'again')
        await send(deleted as number, 'back again')
        const third = await page({ cursor: second.next_cursor })
        const pages = [first, second, third].flatMap(({ uids }) => uids)
        expect(pages).toEqual(senders.filter((sender) => sender !== deleted))
        const moved = [deleted, later, newcomer.id, shown] as number[]
        senders = [...moved, ...senders.filter((sender) => !moved.includes(sender))]
        expect(await peersOf(20)).toEqual(senders)
      })
    })
  })

  describe('deleting a conversation', () => {
    it('hides it for the caller only, until the next message', async () => {
      const [alice, bob] = await sessions(server, 2)
      await sendText(alice.api, bob.id, 'old 1')
      await sendText(bob.api, alice.id, 'old 2')
      const old = await sendText(alice.api, bob.id, 'old 3')
      await deleteConversation(bob.api, alice.id)
      expect(await history(bob.api, alice.id)).toEqual([])
      expect((await historyPage(bob.api, alice.id, { start: old })).messages).toEqual([])
      expect(await conversationList(bob.api)).toEqual([])
      expect(await unreadCounts(bob.api)).toEqual({})
      expect(await contents(alice.api, bob.id)).toEqual(['old 3', 'old 2', 'old 1'])
      expect(await peers(alice.api)).toEqual([bob.id])
      const id = await sendText(alice.api, bob.id, 'new')
      expect(await contents(bob.api, alice.id)).toEqual(['new'])
      expect(await historyPage(bob.api, alice.id, { limit: 1 })).toMatchObject({
        is_last: true,
        next_msg_id: 0,
      })
      expect(await conversationList(bob.api)).toMatchObject([
        { conversation_id: { uid: alice.id }, latest_msg_id: id },
      ])
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      expect(await history(alice.api, bob.id)).toHaveLength(4)
    })

    it('works for notes to oneself, for notifications, and again', async () => {
      const [alice] = await sessions(server, 1)
      await sendText(alice.api, alice.id, 'note')
      await notify(server.api.admin(), alice.id, 'notification')
      await deleteConversation(alice.api, alice.id)
      expect(await peers(alice.api)).toEqual([0])
      await deleteConversation(alice.api, 0)
      await deleteConversation(alice.api, 0)
      expect(await peers(alice.api)).toEqual([])
      expect(await unreadCounts(alice.api)).toEqual({})
    })

    it('takes the conversation in the query as well, and refuses one with nobody', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      await sendText(alice.api, bob.id, 'x')
      await alice.api.succeed('DELETE', '/message/conversation', {
        query: { conversation_id: bob.id },
      })
      expect(await peers(alice.api)).toEqual([])
      const remove = async (conversation_id: number) =>
        (await carol.api.call('DELETE', '/message/conversation', { body: { conversation_id } }))
          .code
      // Nothing was written there yet, and that is no error.
      expect(await remove(alice.id)).toBe(200)
      expect(await remove(0)).toBe(200)
      expect(await remove(nobody)).toBe(answerCode.conversation_not_found)
      await expectCode(
        carol.api.call('DELETE', '/message/conversation', { body: {} }),
        'invalid_parameter',
      )
    })

    it('does not tell the sender that an unread message was read', async () => {
      const [alice, bob] = await sessions(server, 2)
      await sendText(alice.api, bob.id, 'never seen')
      await deleteConversation(bob.api, alice.id)
      expect((await history(alice.api, bob.id))[0]?.status).toBe('UNREAD')
    })
  })
})
