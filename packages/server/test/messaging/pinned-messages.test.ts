/** Pinned messages. */
import { type Api, type Json, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { broadcast } from '../support/messaging/broadcasts.js'
import { recall } from '../support/messaging/message-operations.js'
import {
  deleteConversation,
  history,
  integrityFaults,
  sendText,
  sessions,
} from '../support/messaging/messaging.js'

const pin = (api: Api, conversation_id: number, msg_id: number) =>
  api.call('POST', '/message/pin', { body: { conversation_id, msg_id } })
const unpin = (api: Api, conversation_id: number, msg_id: number) =>
  api.call('POST', '/message/unpin', { body: { conversation_id, msg_id } })
const codeOf = async (answer: ReturnType<typeof pin>) => (await answer).envelope.code

async function pinnedTo(api: Api, conversation_id: number): Promise<number[]> {
  const { data } = await api.succeed('GET', '/message/pinned', { query: { conversation_id } })
  return data.messages.map(({ msg_id }: { msg_id: number }) => msg_id)
}

for (const backend of testBackends())
  describe(`pinned messages on ${backend.name}`, () => {
    const server = ownServer(backend)

    it('pin: both parties pin and unpin; the list has the newest pin first', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const first = await sendText(alice.api, bob.id, 'first')
      const second = await sendText(bob.api, alice.id, 'second')
      expectSuccess(await pin(alice.api, bob.id, second))
      expectSuccess(await pin(bob.api, alice.id, first))
      expectSuccess(await pin(bob.api, alice.id, second))
      expect(await pinnedTo(alice.api, bob.id)).toEqual([first, second])
      const [newest] = await history(bob.api, alice.id)
      expect(newest).toMatchObject({ msg_id: second, pinned: { by: alice.id } })
      expect(await codeOf(pin(carol.api, alice.id, first))).toBe(answerCode.message_not_found)
      expectSuccess(await unpin(bob.api, alice.id, second))
      expectSuccess(await unpin(bob.api, alice.id, second))
      expect(await pinnedTo(bob.api, alice.id)).toEqual([first])
      const { data } = await server.api.admin().succeed('GET', '/events', {
        query: { after: '', kinds: 'message.pinned,message.unpinned' },
      })
      const told = data.events.map((each: Json) => [
        each.type,
        each.data.actor_id,
        each.data.msg_id,
      ])
      expect(told.slice(-3)).toEqual([
        ['message.pinned', alice.id, second],
        ['message.pinned', bob.id, first],
        ['message.unpinned', bob.id, second],
      ])
      await recall(alice.api, bob.id, first)
      expect(await pinnedTo(bob.api, alice.id)).toEqual([])
      const { data: after } = await server.api.admin().succeed('GET', '/events', {
        query: { after: '', kinds: 'message.unpinned' },
      })
      expect(after.events.filter((each: Json) => each.data.msg_id === first)).toEqual([])
      expect(await codeOf(pin(alice.api, bob.id, first))).toBe(answerCode.message_not_found)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('pin: hidden messages are left out, and a block keeps a party from pinning and unpinning', async () => {
      const [alice, bob] = await sessions(server, 2)
      const message = await sendText(alice.api, bob.id, 'text')
      expectSuccess(await pin(alice.api, bob.id, message))
      await alice.api.succeed('PUT', '/roster/block', { query: { user_id: bob.id } })
      const other = await sendText(alice.api, bob.id, 'other')
      expect(await codeOf(pin(bob.api, alice.id, other))).toBe(answerCode.blocked_by_recipient)
      expect(await codeOf(unpin(bob.api, alice.id, message))).toBe(answerCode.blocked_by_recipient)
      await deleteConversation(bob.api, alice.id)
      expect(await pinnedTo(bob.api, alice.id)).toEqual([])
      expect(await pinnedTo(alice.api, bob.id)).toEqual([message])
    })

    it('pin: in a group owner and admins, with member_modify all members', async () => {
      const [owner, member, stranger] = await sessions(server, 3)
      const group = await aGroup(owner, { members: [member] })
      const message = await sendToGroup(member.api, group, 'text')
      expect(await codeOf(pin(member.api, group, message))).toBe(answerCode.group_admin_required)
      expect(await codeOf(pin(stranger.api, group, message))).toBe(answerCode.member_required)
      expectSuccess(await pin(owner.api, group, message))
      expect(await codeOf(unpin(member.api, group, message))).toBe(answerCode.group_admin_required)
      expect(await pinnedTo(member.api, group)).toEqual([message])
      expectSuccess(await unpin(server.api.admin({ groupId: group }), group, message))
      const value = true
      expectSuccess(
        await groupCall(owner.api, '/group/settings/allow_member_modify', group, { value }),
      )
      expectSuccess(await pin(member.api, group, message))
      const admin = server.api.admin({ groupId: group })
      expect(await pinnedTo(admin, group)).toEqual([message])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('pin: a conversation has at most 50, and broadcasts and chatrooms none', async () => {
      const [owner, reader] = await sessions(server, 2)
      const group = await aGroup(owner)
      const ids: number[] = []
      for (let index = 0; index < 51; index++)
        ids.push(await sendToGroup(owner.api, group, `text ${index}`))
      for (const id of ids.slice(0, 50)) expectSuccess(await pin(owner.api, group, id))
      expect(await codeOf(pin(owner.api, group, ids[50] ?? 0))).toBe(
        answerCode.reaction_or_pin_limit_reached,
      )
      expect(await pinnedTo(owner.api, group)).toEqual(ids.slice(0, 50).reverse())
      const room = await aGroup(owner, { more: { type: 2 } })
      const said = await sendToGroup(owner.api, room, 'text')
      expect(await codeOf(pin(owner.api, room, said))).toBe(answerCode.message_type_refused)
      await broadcast(server.api.admin(), 'to all', { from_user_id: owner.id })
      const [news] = await history(reader.api, owner.id)
      expect(await codeOf(pin(reader.api, owner.id, Number(news?.msg_id)))).toBe(
        answerCode.message_type_refused,
      )
    })
  })
