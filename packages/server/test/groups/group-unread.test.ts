/** What members have not read in groups, and what becomes of the status of messages (rules of read positions). */
import { type Api, anyBackend } from '@hermod/testkit'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { receipts, type Speaker, sendToGroup, speakers } from '../support/groups/group-messaging.js'
import {
  aGroup,
  expectSuccess,
  type GroupOptions,
  groupCall,
  types,
} from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  integrityFaults,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('unread messages of groups on $name', (backend) => {
  const server = ownServer(backend)
  let people: readonly Speaker[]
  let alice: Speaker
  let bob: Speaker
  let carol: Speaker
  let dave: Speaker
  let erin: Speaker

  beforeAll(async () => {
    people = await speakers(server, 20)
    ;[alice, bob, carol, dave, erin] = people as [Speaker, Speaker, Speaker, Speaker, Speaker]
  })

  const admin = (userId?: number): Api => server.api.admin(userId === undefined ? {} : { userId })

  /** Of alice, with bob and carol; dave and erin are not in it. */
  const trio = (options: GroupOptions = {}) => aGroup(alice, { members: [bob, carol], ...options })

  const change = async (api: Api, path: string, group: number, params: object = {}) => {
    expectSuccess(await groupCall(api, path, group, params))
  }

  const setting = (group: number, name: string, value: unknown) =>
    change(alice.api, `/group/settings/${name}`, group, { value })

  const join = (group: number, ...users: readonly Speaker[]) =>
    change(alice.api, '/group/admin/member_join', group, { user_list: users.map(({ id }) => id) })

  const leave = async (user: Speaker, group: number) => {
    expect((await user.api.call('POST', '/group/leave', { query: { group_id: group } })).code).toBe(
      200,
    )
  }

  const destroy = async (group: number) => {
    expect(
      (await alice.api.call('POST', '/group/destroy', { query: { group_id: group } })).code,
    ).toBe(200)
  }

  const codeOfAck = async (api: Api, what: { conversation_id?: number; msg_id?: number }) =>
    (await api.call('GET', '/message/ack', { query: what })).code

  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0

  const statuses = async (user: Speaker, group: number) =>
    (await history(user.api, group)).map(({ status }) => status)

  const latest = async (user: Speaker, group: number) =>
    (await conversationList(user.api)).find(({ conversation_id }) => conversation_id.uid === group)
      ?.latest_msg_id

  describe('unread messages', () => {
    it('are those of others after the own cursor, and sending moves it', async () => {
      const group = await trio()
      const first = await sendToGroup(alice.api, group, '1')
      await sendToGroup(bob.api, group, '2')
      const third = await sendToGroup(alice.api, group, '3')
      await sendToGroup(admin(), group, '4')
      const counts = () => Promise.all([alice, bob, carol].map((user) => unread(user, group)))
      expect(await counts()).toEqual([1, 2, 4])
      await acknowledge(carol.api, { peer: group, message: first })
      expect(await counts()).toEqual([1, 2, 3])
      await acknowledge(carol.api, { message: third })
      expect(await counts()).toEqual([1, 2, 1])
      await acknowledge(carol.api, { peer: group, message: first })
      expect(await counts()).toEqual([1, 2, 1])
      await acknowledge(bob.api, { peer: group })
      expect(await counts()).toEqual([1, 0, 1])
      await sendToGroup(alice.api, group, '5')
      expect(await counts()).toEqual([0, 1, 2])
    })

    it('are all read by an ack without parameters, in groups and with users', async () => {
      const [reader, ...others] = await speakers(server, 3)
      const [first, second] = [
        await aGroup(reader, { members: others }),
        await aGroup(others[0], { members: [reader] }),
      ]
      await sendToGroup(others[0].api, first, 'x')
      await sendToGroup(others[0].api, second, 'x')
      await sendText(others[1].api, reader.id, 'x')
      expect(await unreadCounts(reader.api)).toEqual({ [first]: 1, [second]: 1, [others[1].id]: 1 })
      await acknowledge(reader.api)
      expect(await unreadCounts(reader.api)).toEqual({})
      expect(await unreadCounts(others[1].api)).toEqual({ [first]: 1 })
    })

    it('cannot be acknowledged where there is no such conversation or message', async () => {
      const [group, other, foreign, empty] = [
        await trio(),
        await trio(),
        await aGroup(dave),
        await trio(),
      ]
      const message = await sendToGroup(alice.api, group, 'x')
      await sendToGroup(alice.api, other, 'x')
      const unseen = await sendToGroup(dave.api, foreign, 'x')
      expect(await codeOfAck(bob.api, { conversation_id: nobody })).toBe(
        answerCode.conversation_not_found,
      )
      expect(await codeOfAck(bob.api, { conversation_id: empty })).toBe(200)
      expect(await codeOfAck(bob.api, { conversation_id: foreign })).toBe(
        answerCode.conversation_not_found,
      )
      expect(await codeOfAck(bob.api, { conversation_id: foreign, msg_id: unseen })).toBe(
        answerCode.conversation_not_found,
      )
      expect(await codeOfAck(bob.api, { conversation_id: other, msg_id: message })).toBe(
        answerCode.message_not_found,
      )
      expect(await codeOfAck(bob.api, { conversation_id: group, msg_id: nobody })).toBe(
        answerCode.message_not_found,
      )
      expect(await codeOfAck(bob.api, { msg_id: unseen })).toBe(answerCode.message_not_found)
      expect(await codeOfAck(admin(), { conversation_id: group })).toBe(
        answerCode.invalid_parameter,
      )
      expect(await unread(bob, group)).toBe(1)
      expect(await codeOfAck(admin(bob.id), { conversation_id: group })).toBe(200)
      expect(await unread(bob, group)).toBe(0)
      await sendToGroup(alice.api, group, 'x')
      await leave(bob, group)
      expect(await codeOfAck(bob.api, { conversation_id: group })).toBe(
        answerCode.conversation_not_found,
      )
    })

    it('are none in chatrooms and in dissolved groups', async () => {
      const chatroom = await trio({ more: { type: types.chatroom } })
      const group = await trio()
      for (const each of [chatroom, group]) await sendToGroup(alice.api, each, 'x')
      expect(await unread(bob, chatroom)).toBe(0)
      expect(await contents(bob.api, chatroom)).toEqual(['x'])
      expect(await unread(bob, group)).toBe(1)
      await destroy(group)
      expect(await unread(bob, group)).toBe(0)
    })

    it('are 0 for a user who deletes the conversation, until the next message brings it back with that message only', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'old')
      await deleteConversation(bob.api, group)
      expect(await contents(bob.api, group)).toEqual([])
      expect(await unread(bob, group)).toBe(0)
      expect(await latest(bob, group)).toBeUndefined()
      expect(await contents(carol.api, group)).toEqual(['old'])
      expect(await unread(carol, group)).toBe(1)
      await setting(group, 'history_visible', true)
      expect(await contents(bob.api, group)).toEqual([])
      const next = await sendToGroup(alice.api, group, 'new')
      expect(await contents(bob.api, group)).toEqual(['new'])
      expect(await unread(bob, group)).toBe(1)
      expect(await latest(bob, group)).toBe(next)
      const code = async (api: Api, id: number) =>
        (await api.call('DELETE', '/message/conversation', { body: { conversation_id: id } })).code
      expect(await code(dave.api, group)).toBe(answerCode.conversation_not_found)
      expect(await code(bob.api, await trio())).toBe(200)
    })

    it('stay exact when a member deletes the conversation and sends at once', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'x')
      for (let round = 0; round < 40; round++) {
        const twice = () => [deleteConversation(bob.api, group), sendToGroup(bob.api, group, 'own')]
        await Promise.all([...twice(), ...twice(), ...twice()])
        expect(await unread(bob, group)).toBe(0)
      }
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  it('the list of conversations mixes groups and users, most recent activity first, page by page', async () => {
    const [reader, friend, other] = await speakers(server, 3)
    const [first, second, third] = [
      await aGroup(reader, { members: [friend] }),
      await aGroup(friend, { members: [reader] }),
      await aGroup(reader, { members: [friend] }),
    ]
    const ids = new Map<number, number>()
    ids.set(second, await sendToGroup(friend.api, second, 'x'))
    ids.set(friend.id, await sendText(friend.api, reader.id, 'x'))
    ids.set(first, await sendToGroup(reader.api, first, 'x'))
    ids.set(other.id, await sendText(reader.api, other.id, 'x'))
    ids.set(second, await sendToGroup(friend.api, second, 'again'))
    const expected = [...ids].toSorted(([, a], [, b]) => b - a)
    for (const limit of [1, 2, 20]) {
      const list = await conversationList(reader.api, limit)
      expect(
        list.map(({ conversation_id, latest_msg_id }) => [conversation_id.uid, latest_msg_id]),
      ).toEqual(expected)
      expect(list.map(({ conversation_id }) => conversation_id.uid)).not.toContain(third)
    }
    await recall(friend.api, second, ids.get(second) as number)
    expect(
      (await conversationList(reader.api)).map(({ conversation_id }) => conversation_id.uid),
    ).toEqual([other.id, first, friend.id, second])
  })

  describe('status', () => {
    it('of received messages follows the own marks: on a device, and read', async () => {
      const group = await trio()
      const first = await sendToGroup(alice.api, group, '1')
      await sendToGroup(alice.api, group, '2')
      expect(await statuses(bob, group)).toEqual(['UNREAD', 'UNREAD'])
      const user = { id: bob.id, username: '', password: 'correct horse' }
      const phone = await server.api.login(user, 'phone')
      await history(phone.api, group)
      expect(await statuses(bob, group)).toEqual(['DELIVERED', 'DELIVERED'])
      await acknowledge(bob.api, { peer: group, message: first })
      expect(await statuses(bob, group)).toEqual(['DELIVERED', 'READ'])
      expect(await statuses(carol, group)).toEqual(['UNREAD', 'UNREAD'])
      await sendToGroup(bob.api, group, '3')
      expect((await statuses(bob, group)).slice(1)).toEqual(['READ', 'READ'])
      expect(await statuses(alice, group)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
    })

    it('of a sent message is READ once any other member has read it, by an ack or by sending, while read_ack is on', async () => {
      const group = await trio()
      const first = await sendToGroup(alice.api, group, '1')
      await sendToGroup(alice.api, group, '2')
      await acknowledge(alice.api)
      await acknowledge(bob.api, { peer: group, message: first })
      expect(await statuses(alice, group)).toEqual(['UNREAD', 'UNREAD'])
      await setting(group, 'enable_read_ack', true)
      expect(await statuses(alice, group)).toEqual(['UNREAD', 'READ'])
      await sendToGroup(carol.api, group, '3')
      expect(await statuses(alice, group)).toEqual(['UNREAD', 'READ', 'READ'])
      expect((await statuses(carol, group))[0]).toBe('UNREAD')
      await sendToGroup(admin(), group, 'the system reads nothing')
      expect((await statuses(carol, group))[1]).toBe('UNREAD')
      await change(alice.api, '/group/kick', group, { user_list: [bob.id, carol.id] })
      expect((await statuses(alice, group)).slice(2)).toEqual(['READ', 'READ'])
      await setting(group, 'enable_read_ack', false)
      expect((await statuses(alice, group)).slice(2)).toEqual(['UNREAD', 'UNREAD'])
    })

    it('of a sent message is READ once a newcomer to whom the history is shown has read it, and makes an event', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const before = await sendToGroup(alice.api, group, 'before', {
        config: JSON.stringify({ groupMemberList: [dave.id, erin.id] }),
      })
      await join(group, dave)
      await acknowledge(dave.api, { peer: group })
      expect(await statuses(alice, group)).toEqual(['UNREAD'])
      expect(await receipts(server.sql, group)).toEqual([])
      await setting(group, 'history_visible', true)
      await join(group, erin)
      expect(await unread(erin, group)).toBe(0)
      expect(await statuses(alice, group)).toEqual(['UNREAD'])
      await acknowledge(erin.api, { peer: group })
      expect(await statuses(alice, group)).toEqual(['READ'])
      expect(await receipts(server.sql, group)).toEqual([
        { reader: erin.id, users: [alice.id], message: before },
      ])
    })

    it('of sent messages is exact when members send and read at once', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const readers = people.slice(0, 4)
      type Deed = {
        readonly who: number
        readonly does: 'send' | 'ack' | 'ackAll'
        readonly age: number
      }
      const deed = fc.record({
        who: fc.nat(3),
        does: fc.constantFrom('send' as const, 'send' as const, 'ack' as const, 'ackAll' as const),
        age: fc.nat(5),
      })
      const rounds = fc.array(fc.array(deed, { minLength: 1, maxLength: 6 }), {
        minLength: 1,
        maxLength: 6,
      })
      const property = fc.asyncProperty(rounds, async (all) => {
        const group = await aGroup(alice, { members: readers.slice(1) })
        await setting(group, 'enable_read_ack', true)
        const sent: { id: number; by: number }[] = []
        /** How far each has read, by what was answered. */
        const marks = readers.map(() => 0)
        for (const deeds of all) {
          const known = sent.toSorted((a, b) => b.id - a.id)
          await Promise.all(
            deeds.map(async ({ who, does, age }: Deed) => {
              const { api } = readers[who] as Speaker
              const target = known[age % known.length]?.id
              if (does === 'send') {
                const id = await sendToGroup(api, group, 'x')
                sent.push({ id, by: who })
                marks[who] = Math.max(marks[who] as number, id)
              } else if (does === 'ack' && target !== undefined) {
                await acknowledge(api, { peer: group, message: target })
                marks[who] = Math.max(marks[who] as number, target)
              }
            }),
          )
          // Alone, because what they read beside a send is up to the order of the two.
          for (const { who } of deeds.filter(({ does }) => does === 'ackAll')) {
            if (sent.length === 0) continue
            await acknowledge((readers[who] as Speaker).api)
            marks[who] = Math.max(...sent.map(({ id }) => id))
          }
          for (const [reader, user] of readers.entries()) {
            const others = Math.max(...marks.filter((_, other) => other !== reader))
            const expected = sent
              .toSorted((a, b) => b.id - a.id)
              .map(({ id, by }) => [
                id,
                id <= (by === reader ? others : (marks[reader] as number)) ? 'READ' : 'UNREAD',
              ])
            expect(
              (await history(user.api, group)).map(({ msg_id, status }) => [msg_id, status]),
            ).toEqual(expected)
          }
        }
      })
      await checkProperty(backend, property)
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
