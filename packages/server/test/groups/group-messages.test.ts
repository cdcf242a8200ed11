/** Conversations of groups: sending, reading, receipts and recalls, on both databases. */
import { type Api, anyBackend } from '@hermod/testkit'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { registerPeople } from '../support/contacts.js'
import {
  operateInGroup,
  receipts,
  recordedReads,
  rowCounts,
  type Speaker,
  sendToGroup,
  sendToGroups,
  speakers,
} from '../support/groups/group-messaging.js'
import {
  aGroup,
  expectSuccess,
  type GroupOptions,
  groupCall,
  types,
} from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('conversations of groups on $name', (backend) => {
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
  const codeOfHistory = async (api: Api, group: number) =>
    (
      await api.call('GET', '/message/conversation', {
        query: { opposite_id: group, msg_id_start: 0, limit: 10 },
      })
    ).code
  const codeOfAck = async (api: Api, what: { conversation_id?: number; msg_id?: number }) =>
    (await api.call('GET', '/message/ack', { query: what })).code
  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0
  const statuses = async (user: Speaker, group: number) =>
    (await history(user.api, group)).map(({ status }) => status)
  const latest = async (user: Speaker, group: number) =>
    (await conversationList(user.api)).find(({ conversation_id }) => conversation_id.uid === group)
      ?.latest_msg_id

  describe('sending', () => {
    it('by a member answers the msg_id, and every member reads the same message', async () => {
      const group = await trio()
      const texts = { attachment: '{"url":"x"}', config: '{"mentionAll":true}', ext: '{"k":1}' }
      const answer = await sendToGroups(bob.api, [group], 'Hello', texts)
      expect(answer.envelope).toMatchObject({
        code: 200,
        data: true,
        message: null,
        msg_ids: [expect.any(Number)],
      })
      const expected = {
        ...texts,
        content: 'Hello',
        ctype: 'TEXT',
        edit_timestamp: 0,
        from_xid: { device_sn: 0, uid: bob.id },
        is_system: false,
        msg_id: answer.envelope.msg_ids[0],
        to_xid: { device_sn: 0, uid: group },
      }
      for (const { api } of [alice, bob, carol])
        expect(await history(api, group)).toEqual([expect.objectContaining(expected)])
    })

    it('to several groups at once stores one message in each, and has no msg_ids', async () => {
      const [first, second] = [await trio(), await trio()]
      const answer = await sendToGroups(alice.api, [first, second, first], 'both')
      expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
      for (const group of [first, second]) expect(await contents(bob.api, group)).toEqual(['both'])
    })

    it('is refused where there is no such group, and where a user is meant', async () => {
      const group = await trio()
      const gone = await trio()
      await destroy(gone)
      for (const id of [nobody, gone, bob.id, 0])
        expect((await sendToGroups(alice.api, [id], 'x')).code, `to ${id}`).toBe(
          answerCode.group_not_found,
        )
      for (const type of [1, undefined]) {
        const answer = await alice.api.call('POST', '/message/send', {
          body: textTo([group], 'x', { type }),
        })
        expect(answer.code).toBe(
          type === 1 ? answerCode.user_not_found : answerCode.invalid_parameter,
        )
      }
      expect(await contents(alice.api, group)).toEqual([])
    })

    it('is for members alone, also with an Admin token, but the system may send to every group', async () => {
      const group = await trio()
      await expectCode(sendToGroups(dave.api, [group], 'x'), 'not_group_member')
      await expectCode(sendToGroups(admin(dave.id), [group], 'x'), 'not_group_member')
      await expectCode(
        sendToGroups(admin(), [group], 'x', { from_user_id: dave.id }),
        'not_group_member',
      )
      await leave(carol, group)
      await expectCode(sendToGroups(carol.api, [group], 'x'), 'not_group_member')
      await sendToGroup(admin(bob.id), group, 'for bob')
      await sendToGroup(admin(), group, 'of the system')
      const { msg_ids } = await admin().succeed('POST', '/message/notify', {
        body: textTo([group], 'notice', { type: 2 }),
      })
      expect(msg_ids).toHaveLength(1)
      const senders = (await history(alice.api, group)).map(({ from_xid, is_system, content }) => [
        content,
        from_xid.uid,
        is_system,
      ])
      expect(senders).toEqual([
        ['notice', 0, true],
        ['of the system', 0, false],
        ['for bob', bob.id, false],
      ])
      await destroy(group)
      await expectCode(sendToGroups(admin(), [group], 'x'), 'group_not_found')
    })

    it('is refused to a member who is banned until the ban ends, whatever the role, but not to an Admin token', async () => {
      const group = await trio({ members: [bob], admins: [carol] })
      await change(alice.api, '/group/ban', group, { user_list: [bob.id, carol.id], duration: -1 })
      for (const banned of [bob, carol]) {
        await expectCode(sendToGroups(banned.api, [group], 'x'), 'member_banned')
        await expectCode(
          sendToGroups(banned.api, [group], 'x', { online_only: true }),
          'member_banned',
        )
        await sendToGroup(admin(banned.id), group, 'by the administrator')
        expect(await contents(banned.api, group)).not.toEqual([])
      }
      await sendToGroup(alice.api, group, 'free')
      await change(alice.api, '/group/unban', group, { user_list: [bob.id] })
      await sendToGroup(bob.api, group, 'free again')
      await expectCode(sendToGroups(carol.api, [group], 'x'), 'member_banned')
    })

    it('is refused to ordinary members while the whole group is banned', async () => {
      const group = await trio({ members: [bob], admins: [carol, dave] })
      await change(alice.api, '/group/ban', group, { user_list: [dave.id], duration: 60 })
      await change(alice.api, '/group/settings/ban_all', group, { duration: 60 })
      for (const [user, code] of [
        [alice, 200],
        [carol, 200],
        [bob, answerCode.member_banned],
        [dave, answerCode.member_banned],
      ] as const)
        expect((await sendToGroups(user.api, [group], 'x')).code).toBe(code)
      await sendToGroup(admin(bob.id), group, 'by the administrator')
      await change(alice.api, '/group/settings/unban_all', group)
      await sendToGroup(bob.api, group, 'free again')
      await expectCode(sendToGroups(dave.api, [group], 'x'), 'member_banned')
    })

    it('to several groups checks each alone, and fails with the first reason when none takes the message', async () => {
      const [open, closed, foreign] = [await trio(), await trio(), await aGroup(dave)]
      await change(alice.api, '/group/ban', closed, { user_list: [bob.id], duration: -1 })
      expect((await sendToGroups(bob.api, [foreign, nobody, closed, open], 'some')).code).toBe(200)
      expect(await contents(bob.api, open)).toEqual(['some'])
      expect(await contents(bob.api, closed)).toEqual([])
      expect(await contents(dave.api, foreign)).toEqual([])
      await expectCode(sendToGroups(bob.api, [nobody, foreign, closed], 'none'), 'group_not_found')
      await expectCode(sendToGroups(bob.api, [closed, foreign, nobody], 'none'), 'member_banned')
      await expectCode(sendToGroups(bob.api, [foreign, closed], 'none'), 'not_group_member')
    })

    it('that repeats a transaction_id answers the first result, also when the group would not take it any more', async () => {
      const group = await trio()
      const transaction_id = 77_000 + group
      const first = await sendToGroup(bob.api, group, 'once', { transaction_id })
      expect(await sendToGroup(bob.api, group, 'twice', { transaction_id })).toBe(first)
      const own = await sendToGroup(carol.api, group, 'of another sender', { transaction_id })
      await change(alice.api, '/group/kick', group, { user_list: [bob.id] })
      expect(await sendToGroup(bob.api, group, 'later', { transaction_id })).toBe(first)
      const together = await Promise.all(
        Array.from({ length: 8 }, () =>
          sendToGroup(carol.api, group, 'at once', { transaction_id: transaction_id + 1 }),
        ),
      )
      expect(new Set(together).size).toBe(1)
      expect((await history(alice.api, group)).map(({ msg_id }) => msg_id)).toEqual([
        together[0],
        own,
        first,
      ])
    })

    it('stores nothing of typing signals and of what is for connected devices alone', async () => {
      const group = await trio()
      await sendToGroup(bob.api, group, '', { ext: '{"input_status":"typing"}' })
      await sendToGroup(bob.api, group, 'now or never', { online_only: true })
      expect(await contents(alice.api, group)).toEqual([])
      expect(await unread(alice, group)).toBe(0)
      expect(await latest(alice, group)).toBeUndefined()
    })

    it('keeps mentions as they were given', async () => {
      const group = await trio()
      const config = `{ "mentionAll": false, "mentionList": [${bob.id}, 9007199254740993, 18446744073709551616],\n "mentionedMessage": "Hé 😀 \\u0041" }`
      await sendToGroup(alice.api, group, 'look', { config })
      const malformed = '{"mentionList": [1, '
      await sendToGroup(alice.api, group, 'look', { config: malformed })
      expect((await history(bob.api, group)).map((message) => message.config)).toEqual([
        malformed,
        config,
      ])
    })

    it.each([true, false])(
      'costs one message and no row for any member; receipts wanted: %s',
      async (wanted) => {
        const members = [...people.slice(1), ...(await registerPeople(server, 30))]
        const group = await aGroup(alice, { members })
        await setting(group, 'enable_read_ack', true)
        await sendToGroup(alice.api, group, 'the first one begins the conversation')
        const before = await rowCounts(server.sql, backend.name)
        const config = wanted
          ? JSON.stringify({ groupMemberList: members.map(({ id }) => id) })
          : ''
        await sendToGroup(bob.api, group, 'one copy', { config })
        const after = await rowCounts(server.sql, backend.name)
        const asked = { receipt_requests: (before.receipt_requests ?? 0) + 1 }
        expect(after).toEqual({
          ...before,
          messages: (before.messages ?? 0) + 1,
          // One for all that are stored together.
          outbox: (before.outbox ?? 0) + 1,
          ...(wanted ? asked : {}),
        })
      },
    )

    it('by many at once gives every message its place, and every member the exact number of unread ones', async () => {
      const group = await aGroup(alice, { members: people.slice(1) })
      const sent = await Promise.all(
        people.map(async ({ api, id }, index) => {
          const ids: number[] = []
          for (let message = 0; message < 1 + (index % 5); message++)
            ids.push(await sendToGroup(api, group, `${id}/${message}`))
          return ids
        }),
      )
      for (const ids of sent) expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      const newestFirst = sent.flat().toSorted((a, b) => b - a)
      expect(new Set(newestFirst).size).toBe(newestFirst.length)
      for (const [index, user] of people.entries()) {
        const shown = await history(user.api, group)
        expect(shown.map(({ msg_id }) => msg_id)).toEqual(newestFirst)
        const ownLast = sent[index]?.at(-1) as number
        expect(await unread(user, group)).toBe(newestFirst.filter((id) => id > ownLast).length)
        expect(shown.every(({ from_xid, content }) => content.startsWith(`${from_xid.uid}/`))).toBe(
          true,
        )
      }
      const rows = await server.sql.run(
        `select seq from messages where low_id = ${group} order by msg_id`,
      )
      expect(rows.map(({ seq }) => seq)).toEqual(newestFirst.map((_, index) => index + 1))
      expect(await integrityFaults(server)).toEqual([])
    })
  })

  describe('history', () => {
    it('is for members alone', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'inside')
      for (const api of [dave.api, admin(dave.id)])
        expect(await codeOfHistory(api, group)).toBe(answerCode.member_required)
      expect(await codeOfHistory(admin(bob.id), group)).toBe(200)
      expect(await codeOfHistory(admin(), group)).toBe(answerCode.invalid_parameter)
      expect(await codeOfHistory(bob.api, nobody)).toBe(answerCode.user_not_found)
      await change(alice.api, '/group/kick', group, { user_list: [bob.id] })
      expect(await codeOfHistory(bob.api, group)).toBe(answerCode.member_required)
      const empty = await trio()
      expect(await contents(carol.api, empty)).toEqual([])
      expect(await codeOfHistory(dave.api, empty)).toBe(answerCode.member_required)
    })

    it('is read page by page, newest first, from a message on', async () => {
      const group = await trio()
      const ids: number[] = []
      for (let number = 0; number < 5; number++)
        ids.unshift(await sendToGroup([alice, bob][number % 2]?.api as Api, group, `${number}`))
      const page = async (start: number, limit: number) => {
        const { messages, next_msg_id, is_last } = await historyPage(carol.api, group, {
          start,
          limit,
        })
        return [messages.map(({ msg_id }) => msg_id), next_msg_id, is_last]
      }
      expect(await page(0, 2)).toEqual([ids.slice(0, 2), ids[2], false])
      expect(await page(ids[2] as number, 2)).toEqual([ids.slice(2, 4), ids[4], false])
      expect(await page(ids[4] as number, 2)).toEqual([ids.slice(4), 0, true])
      expect(await page(0, 5)).toEqual([ids, 0, true])
      expect(await page((ids[4] as number) - 1, 2)).toEqual([[], 0, true])
      expect(await history(carol.api, group, 1)).toHaveLength(5)
    })

    it('shows newcomers what came after they joined, and everything while history_visible is on', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'before')
      await join(group, dave)
      expect(await contents(dave.api, group)).toEqual([])
      expect(await latest(dave, group)).toBeUndefined()
      await sendToGroup(alice.api, group, 'after')
      expect(await contents(dave.api, group)).toEqual(['after'])
      expect(await contents(bob.api, group)).toEqual(['after', 'before'])
      await setting(group, 'history_visible', true)
      expect(await contents(dave.api, group)).toEqual(['after', 'before'])
      await join(group, erin)
      expect(await contents(erin.api, group)).toEqual(['after', 'before'])
      expect(await unread(erin, group)).toBe(0)
      await setting(group, 'history_visible', false)
      expect(await contents(dave.api, group)).toEqual(['after'])
      expect(await contents(erin.api, group)).toEqual([])
      expect(await unread(dave, group)).toBe(1)
    })

    it('is that of a newcomer for a member who has left and come back', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'with carol')
      await leave(carol, group)
      await sendToGroup(alice.api, group, 'without carol')
      expect(await unreadCounts(carol.api)).not.toHaveProperty(String(group))
      expect(await latest(carol, group)).toBeUndefined()
      await join(group, carol)
      expect(await contents(carol.api, group)).toEqual([])
      expect(await unread(carol, group)).toBe(0)
      await sendToGroup(bob.api, group, 'with carol again')
      expect(await contents(carol.api, group)).toEqual(['with carol again'])
      expect(await unread(carol, group)).toBe(1)
    })

    it('of a dissolved group stays readable for those who were members', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'last words')
      await leave(carol, group)
      await destroy(group)
      for (const { api } of [alice, bob]) expect(await contents(api, group)).toEqual(['last words'])
      for (const { api } of [carol, dave])
        expect(await codeOfHistory(api, group)).toBe(answerCode.member_required)
      expect(await latest(bob, group)).toBeDefined()
    })
  })

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
      const [reader, ...others] = (await speakers(server, 3)) as [Speaker, Speaker, Speaker]
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
    const [reader, friend, other] = (await speakers(server, 3)) as [Speaker, Speaker, Speaker]
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

  describe('receipts', () => {
    const wanting = (...readers: readonly Speaker[]) => ({
      config: JSON.stringify({ groupMemberList: readers.map(({ id }) => id) }),
    })

    it('go to the sender of each message that names the reader, once', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const forCarol = await sendToGroup(alice.api, group, 'not for bob', wanting(carol))
      const first = await sendToGroup(alice.api, group, '1', wanting(bob))
      const second = await sendToGroup(carol.api, group, '2', wanting(alice, bob))
      await sendToGroup(alice.api, group, '3')
      const fourth = await sendToGroup(alice.api, group, '4', wanting(bob, carol))
      await acknowledge(bob.api, { peer: group, message: second })
      const got = [
        { reader: bob.id, users: [alice.id], message: first },
        { reader: bob.id, users: [carol.id], message: second },
      ]
      expect(await receipts(server.sql, group)).toEqual(got)
      await acknowledge(bob.api, { message: second })
      await acknowledge(bob.api, { peer: group, message: first })
      expect(await receipts(server.sql, group)).toEqual(got)
      await acknowledge(bob.api)
      got.push({ reader: bob.id, users: [alice.id], message: fourth })
      expect(await receipts(server.sql, group)).toEqual(got)
      // Both have sent meanwhile, which is reading, but only an acknowledgement tells the senders.
      await acknowledge(carol.api, { peer: group })
      got.push(
        { reader: carol.id, users: [alice.id], message: forCarol },
        { reader: carol.id, users: [alice.id], message: fourth },
      )
      await acknowledge(alice.api, { peer: group })
      got.push({ reader: alice.id, users: [carol.id], message: second })
      expect(await receipts(server.sql, group)).toEqual(got)
      const own = (await recordedReads(server.sql, group)).filter(({ reader, users }) =>
        users.includes(reader),
      )
      expect(own.map(({ reader, users }) => [reader, users])).toEqual(
        [bob, bob, carol, alice].map(({ id }) => [id, [id]]),
      )
    })

    it('are none while read_ack is off, when the message was sent or when it is read', async () => {
      const group = await trio()
      await sendToGroup(alice.api, group, 'sent too early', wanting(bob, carol))
      await setting(group, 'enable_read_ack', true)
      await acknowledge(bob.api, { peer: group })
      await sendToGroup(alice.api, group, 'read too late', wanting(bob, carol))
      await setting(group, 'enable_read_ack', false)
      await acknowledge(bob.api, { peer: group })
      await acknowledge(carol.api)
      expect(await receipts(server.sql, group)).toEqual([])
    })

    it('can be asked for with IDs as text, and a config of another form asks for nothing', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const asText = await sendToGroup(alice.api, group, 'x', {
        config: `{"groupMemberList":["${bob.id}", 9007199254740993]}`,
      })
      for (const config of [
        '{"groupMemberList":',
        `["groupMemberList",${bob.id}]`,
        `{"groupMemberList":${bob.id}}`,
        '"groupMemberList"',
        'null',
      ])
        await sendToGroup(alice.api, group, 'x', { config })
      await acknowledge(bob.api, { peer: group })
      expect(await receipts(server.sql, group)).toEqual([
        { reader: bob.id, users: [alice.id], message: asText },
      ])
    })

    it('are those of the latest 1,000 requests when somebody reads more at once', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const sent: number[] = []
      while (sent.length < 1_005) {
        const some = Array.from({ length: 67 }, (_, index) =>
          sendToGroup([alice, carol][index % 2]?.api as Api, group, 'x', wanting(bob)),
        )
        sent.push(...(await Promise.all(some)))
      }
      await acknowledge(bob.api, { peer: group })
      const told = await receipts(server.sql, group)
      expect(told.map(({ message }) => message)).toEqual(
        sent.toSorted((a, b) => a - b).slice(-1_000),
      )
      expect(new Set(told.map(({ reader }) => reader))).toEqual(new Set([bob.id]))
      expect(await unread(bob, group)).toBe(0)
    })

    it('cost no more where the messages are as large as they may be', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const strangers = Array.from({ length: 1_500 }, (_, index) => 2 ** 52 + index)
      const padding = '\u{10000}'.repeat(1_500)
      const config = JSON.stringify({
        padding,
        groupMemberList: [...strangers, bob.id, ...strangers.map((id) => -id)],
      })
      const sent: number[] = []
      while (sent.length < 300) {
        const some = Array.from({ length: 20 }, () =>
          sendToGroup(alice.api, group, 'x', { config }),
        )
        sent.push(...(await Promise.all(some)))
      }
      const others = Array.from({ length: 10 }, () => sendToGroup(carol.api, group, 'meanwhile'))
      await Promise.all([acknowledge(bob.api, { peer: group }), acknowledge(bob.api), ...others])
      const told = await receipts(server.sql, group)
      expect(told.map(({ message }) => message)).toEqual(sent.toSorted((a, b) => a - b))
      await acknowledge(bob.api)
      expect(await unread(bob, group)).toBe(0)
    })

    it('are none of recalled messages', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const message = await sendToGroup(alice.api, group, 'x', wanting(bob))
      await sendToGroup(alice.api, group, 'y')
      await recall(alice.api, group, message)
      await acknowledge(bob.api, { peer: group })
      expect(await receipts(server.sql, group)).toEqual([])
    })

    it('are recorded once when a member reads on several devices at once', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const expected: number[] = []
      for (let round = 0; round < 8; round++) {
        const message = await sendToGroup(alice.api, group, 'x', wanting(bob, carol))
        expected.push(message)
        // Where somebody has read as far, the reading of another one does not touch the conversation.
        if (round % 2 === 0) await sendToGroup(carol.api, group, 'y')
        await Promise.all([
          acknowledge(bob.api),
          acknowledge(bob.api, { peer: group }),
          acknowledge(bob.api),
          acknowledge(bob.api, { peer: group, message }),
          acknowledge(bob.api, { message }),
          acknowledge(bob.api),
        ])
      }
      const all = await recordedReads(server.sql, group)
      expect(
        all.filter(({ users }) => users.includes(alice.id)).map(({ message }) => message),
      ).toEqual(expected)
      const own = all.filter(({ users }) => users.includes(bob.id)).map(({ message }) => message)
      expect(new Set(own).size).toBe(own.length)
    })
  })

  for (const [way, call] of [
    ['/message/recall', (api: Api, group: number, message: number) => recall(api, group, message)],
    [
      'content_type 10',
      (api: Api, group: number, message: number) =>
        operateInGroup(api, 'recall', { group, message }),
    ],
  ] as const) {
    describe(`recalling with ${way}`, () => {
      it('takes the message out of history, list and unread counts of all', async () => {
        const group = await trio()
        const first = await sendToGroup(alice.api, group, 'first')
        const last = await sendToGroup(alice.api, group, 'last')
        expect((await call(alice.api, group, last)).envelope).toEqual({
          code: 200,
          data: true,
          message: null,
        })
        for (const user of [alice, bob, carol]) {
          expect(await contents(user.api, group)).toEqual(['first'])
          expect(await latest(user, group)).toBe(first)
        }
        expect(await unread(bob, group)).toBe(1)
        await expectCode(call(alice.api, group, last), 'message_not_found')
        expect((await call(alice.api, group, first)).code).toBe(200)
        expect(await unread(bob, group)).toBe(0)
        expect(await latest(bob, group)).toBeUndefined()
        // Its position marks all the same.
        expect(await codeOfAck(bob.api, { msg_id: first })).toBe(200)
      })

      it('is for the sender, and for owner and admins where the sender is below them', async () => {
        const group = await aGroup(alice, { members: [bob, carol], admins: [dave, erin] })
        const actors = [alice, dave, erin, bob, carol] as const
        const rank = (user: Speaker) =>
          user === alice ? 2 : user === dave || user === erin ? 1 : 0
        for (const sender of actors)
          for (const actor of actors) {
            const message = await sendToGroup(sender.api, group, 'x')
            const isAllowed = sender === actor || rank(actor) > rank(sender)
            expect(
              (await call(actor.api, group, message)).code,
              `${rank(actor)} recalls of ${rank(sender)}`,
            ).toBe(isAllowed ? 200 : answerCode.no_permission)
          }
      })

      it('of what the system or a former member has sent', async () => {
        const group = await aGroup(alice, { members: [bob, carol], admins: [dave] })
        const notice = await sendToGroup(admin(), group, 'notice')
        for (const { api } of [alice, dave, bob])
          await expectCode(call(api, group, notice), 'no_permission')
        const left = [
          await sendToGroup(bob.api, group, 'x'),
          await sendToGroup(dave.api, group, 'x'),
        ] as const
        await change(alice.api, '/group/kick', group, { user_list: [bob.id, dave.id] })
        await expectCode(call(carol.api, group, left[0]), 'no_permission')
        await expectCode(call(bob.api, group, left[0]), 'member_required')
        await change(alice.api, '/group/admin/add', group, { user_list: [carol.id] })
        for (const message of left) expect((await call(carol.api, group, message)).code).toBe(200)
        expect((await call(admin(alice.id), group, notice)).code).toBe(200)
      })

      it('reaches neither other groups nor those that are dissolved', async () => {
        const [group, foreign] = [await trio(), await aGroup(dave, { admins: [alice] })]
        const message = await sendToGroup(bob.api, group, 'x')
        await expectCode(call(dave.api, group, message), 'member_required')
        await expectCode(call(alice.api, foreign, message), 'conversation_not_found')
        await sendToGroup(dave.api, foreign, 'y')
        await expectCode(call(alice.api, foreign, message), 'message_not_found')
        expect((await call(admin(dave.id), group, message)).code).toBe(200)
        const last = await sendToGroup(bob.api, group, 'z')
        await destroy(group)
        for (const api of [bob.api, alice.api, admin(bob.id)])
          await expectCode(call(api, group, last), 'group_not_found')
      })

      it('is too late for the sender after the window, whose role does not matter, but not for those above and an Admin token', async () => {
        const group = await trio()
        const [first, second, own] = [
          await sendToGroup(bob.api, group, '1'),
          await sendToGroup(bob.api, group, '2'),
          await sendToGroup(alice.api, group, '3'),
        ]
        const older = 301 * 1_000 * 4_096
        await server.sql.run(
          `update messages set msg_id = msg_id - ${older}, sent_at = sent_at - ${301 * 1_000} where low_id = ${group}`,
        )
        await server.sql.run(
          `update conversations set last_msg_id = last_msg_id - ${older} where low_id = ${group}`,
        )
        for (const [user, message] of [
          [bob, first],
          [alice, own],
        ] as const)
          await expectCode(call(user.api, group, message - older), 'recall_too_late')
        expect((await call(alice.api, group, first - older)).code).toBe(200)
        expect((await call(admin(bob.id), group, second - older)).code).toBe(200)
        expect((await call(admin(carol.id), group, own - older)).code).toBe(200)
        expect(await contents(bob.api, group)).toEqual([])
      })
    })
  }

  describe('acting on messages', () => {
    it('edits are for the sender, while the sender may send', async () => {
      const group = await trio()
      const message = await sendToGroup(bob.api, group, 'a')
      const edit = async (user: Speaker, kind: 'append' | 'replace', more: object = {}) =>
        (await operateInGroup(user.api, kind, { group, message, content: 'b', ...more })).code
      expect(await edit(bob, 'append')).toBe(200)
      expect(await contents(carol.api, group)).toEqual(['ab'])
      for (const kind of ['append', 'replace'] as const) {
        expect(await edit(alice, kind)).toBe(answerCode.no_permission)
        expect(await edit(dave, kind)).toBe(answerCode.not_group_member)
      }
      await change(alice.api, '/group/ban', group, { user_list: [bob.id], duration: -1 })
      expect(await edit(bob, 'replace')).toBe(answerCode.member_banned)
      expect(await edit(bob, 'replace', { type: 1 })).toBe(answerCode.user_not_found)
      expect(
        (await operateInGroup(admin(bob.id), 'replace', { group, message, content: 'c' })).code,
      ).toBe(200)
      expect(await contents(carol.api, group)).toEqual(['c'])
      expect((await history(carol.api, group))[0]?.edit_timestamp).toBeGreaterThan(0)
      await change(alice.api, '/group/kick', group, { user_list: [bob.id] })
      expect(await edit(bob, 'append')).toBe(answerCode.not_group_member)
    })

    it('a target is what it is called', async () => {
      const group = await trio()
      const message = await sendToGroup(bob.api, group, 'x')
      const direct = await sendText(bob.api, carol.id, 'x')
      for (const kind of ['append', 'replace', 'recall'] as const) {
        await expectCode(
          operate(bob.api, kind, { peer: group, message, content: 'y' }),
          'user_not_found',
        )
        await expectCode(
          operateInGroup(bob.api, kind, { group: carol.id, message: direct, content: 'y' }),
          'group_not_found',
        )
      }
      expect(await contents(alice.api, group)).toEqual(['x'])
    })

    it('content_type 9 acknowledges a message of a group, to the group or to the sender', async () => {
      const group = await trio()
      const first = await sendToGroup(alice.api, group, '1')
      const second = await sendToGroup(alice.api, group, '2')
      const answer = await operateInGroup(bob.api, 'readAck', { group, message: first })
      expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
      expect(await unread(bob, group)).toBe(1)
      expect((await operate(carol.api, 'readAck', { peer: alice.id, message: second })).code).toBe(
        200,
      )
      expect(await unread(carol, group)).toBe(0)
      await expectCode(
        operateInGroup(dave.api, 'readAck', { group, message: second }),
        'conversation_not_found',
      )
      await expectCode(
        operateInGroup(bob.api, 'readAck', { group, message: second + 1 }),
        'message_not_found',
      )
      expect(await unread(bob, group)).toBe(1)
    })

    it('content_type 9 to a group acknowledges that group alone', async () => {
      const [group, other] = [await trio(), await trio()]
      await sendToGroup(alice.api, group, '1')
      const elsewhere = await sendToGroup(alice.api, other, '2')
      const direct = await sendText(alice.api, bob.id, '3')
      for (const message of [elsewhere, direct])
        await expectCode(
          operateInGroup(bob.api, 'readAck', { group, message }),
          'message_not_found',
        )
      expect(await unreadCounts(bob.api)).toMatchObject({ [group]: 1, [other]: 1, [alice.id]: 1 })
    })

    it('content_type 9 to the sender acknowledges in the conversation that holds the message', async () => {
      const group = await trio()
      await setting(group, 'enable_read_ack', true)
      const asking = { config: JSON.stringify({ groupMemberList: [bob.id] }) }
      const inGroup = await sendToGroup(alice.api, group, '1', asking)
      await sendToGroup(alice.api, group, '2', asking)
      const direct = await sendText(alice.api, bob.id, '3')
      expect((await operate(bob.api, 'readAck', { peer: alice.id, message: inGroup })).code).toBe(
        200,
      )
      expect(await unreadCounts(bob.api)).toMatchObject({
        [group]: 1,
        [alice.id]: expect.any(Number),
      })
      expect(await receipts(server.sql, group)).toEqual([
        { reader: bob.id, users: [alice.id], message: inGroup },
      ])
      expect((await operate(bob.api, 'readAck', { peer: alice.id, message: direct })).code).toBe(
        200,
      )
      expect(await unread(bob, alice.id)).toBe(0)
      expect(await unread(bob, group)).toBe(1)
      const foreign = await sendToGroup(dave.api, await aGroup(dave), 'x')
      await sendText(dave.api, bob.id, 'y')
      await expectCode(
        operate(bob.api, 'readAck', { peer: dave.id, message: foreign }),
        'message_not_found',
      )
    })
  })

  it('nothing is left that does not agree', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
