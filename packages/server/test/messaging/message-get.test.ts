/** Single messages by the rights of the history. */
import { type Api, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { broadcast } from '../support/messaging/broadcasts.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { deleteConversation, sendText, sessions } from '../support/messaging/messaging.js'
import { direct } from '../support/messaging/sync-client.js'

for (const backend of testBackends())
  describe(`message.get on ${backend.name}`, () => {
    const server = ownServer(backend)

    const get = async (api: Api, conversation_id: number, msg_id: number) => {
      const query = { conversation_id, msg_id }
      const { code, data } = (await api.call('GET', '/message/get', { query })).envelope
      return code === answerCode.ok ? data : code
    }

    it('message.get: both parties read a message as it is now, its transaction ID is for the sender', async () => {
      const [alice, bob] = await sessions(server, 2)
      const message = await sendText(alice.api, bob.id, 'text', { transaction_id: 77 })
      await sendText(bob.api, alice.id, 'later')
      await operate(alice.api, 'append', { peer: bob.id, message, content: '!' })
      const shown = {
        msg_id: message,
        seq: 1,
        content: 'text!',
        conversation: direct(alice.id, bob.id),
      }
      const [own, received] = [
        await get(alice.api, bob.id, message),
        await get(bob.api, alice.id, message),
      ]
      expect(own).toMatchObject({ message: { ...shown, transaction_id: '77' } })
      expect(received).toMatchObject({ message: shown })
      expect(received.message).not.toHaveProperty('transaction_id')
      expect(await get(bob.api, alice.id, message + 1)).toBe(answerCode.message_not_found)
      expect(await get(bob.api, 1, message)).toBe(answerCode.user_not_found)
    })

    it('message.get: a user finds no message of a conversation of others', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const message = await sendText(alice.api, bob.id, 'text')
      await recall(alice.api, bob.id, await sendText(alice.api, bob.id, 'recalled'))
      for (const peer of [alice.id, bob.id, carol.id])
        expect(await get(carol.api, peer, message)).toBe(answerCode.message_not_found)
    })

    it('message.get: a recalled message has its tombstone, and hidden messages are not found', async () => {
      const [alice, bob] = await sessions(server, 2)
      const first = await sendText(alice.api, bob.id, 'first')
      const second = await sendText(alice.api, bob.id, 'second')
      await recall(alice.api, bob.id, second)
      const recalled = { msg_id: second, seq: 2, sender_id: alice.id, actor_id: alice.id }
      expect(await get(bob.api, alice.id, second)).toEqual({
        recalled: expect.objectContaining(recalled),
      })
      await sendText(alice.api, bob.id, 'third')
      await deleteConversation(bob.api, alice.id)
      for (const message of [first, second])
        expect(await get(bob.api, alice.id, message)).toBe(answerCode.message_not_found)
      expect(await get(alice.api, bob.id, first)).toMatchObject({ message: { content: 'first' } })
    })

    it('message.get: members of a group find what the history shows them, and an Admin token all', async () => {
      const [owner, member, stranger] = await sessions(server, 3)
      const group = await aGroup(owner)
      const old = await sendToGroup(owner.api, group, 'old')
      const gone = await sendToGroup(owner.api, group, 'gone')
      await recall(owner.api, group, gone)
      expectSuccess(
        await groupCall(owner.api, '/group/admin/member_join', group, { user_list: [member.id] }),
      )
      const since = await sendToGroup(owner.api, group, 'since')
      const found = async (api: Api) => [
        await get(api, group, old),
        await get(api, group, gone),
        await get(api, group, since),
      ]
      const all = [{ message: { content: 'old' } }, { recalled: { seq: 2 } }, { message: {} }]
      const hidden = answerCode.message_not_found
      expect(await found(member.api)).toMatchObject([hidden, hidden, { message: { seq: 3 } }])
      expect(await found(owner.api)).toMatchObject(all)
      expect(await found(server.api.admin({ groupId: group }))).toMatchObject(all)
      expect(await found(stranger.api)).toEqual(Array(3).fill(answerCode.member_required))
      const visible = { value: true }
      expectSuccess(await groupCall(owner.api, '/group/settings/history_visible', group, visible))
      expect(await found(member.api)).toMatchObject(all)
    })

    it('message.get: broadcasts are messages of the conversation with their sender', async () => {
      const [sender, reader] = await sessions(server, 2)
      const admin = server.api.admin()
      await broadcast(admin, 'to all', { from_user_id: sender.id })
      const query = { opposite_id: sender.id, msg_id_start: 0, limit: 1 }
      const { data } = await reader.api.succeed('GET', '/message/conversation', { query })
      const id = data.messages[0].msg_id
      expect(await get(reader.api, sender.id, id)).toMatchObject({ message: { content: 'to all' } })
      const [later] = await sessions(server, 1)
      expect(await get(later.api, sender.id, id)).toBe(answerCode.message_not_found)
    })
  })
