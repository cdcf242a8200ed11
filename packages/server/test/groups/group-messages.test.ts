/** Sending to groups, and their history. */
import { type Api, anyBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { registerPeople } from '../support/contacts.js'
import {
  rowCounts,
  type Speaker,
  sendToGroup,
  sendToGroups,
  speakers,
} from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, type GroupOptions, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import {
  contents,
  conversationList,
  history,
  historyPage,
  integrityFaults,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('messages of groups on $name', (backend) => {
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

  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0

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
      const before = await sendToGroup(alice.api, group, 'before')
      await join(group, dave)
      const acknowledge = () =>
        dave.api.call('GET', '/message/ack', { query: { conversation_id: group, msg_id: before } })
      expect(await contents(dave.api, group)).toEqual([])
      await expectCode(acknowledge(), 'message_not_found')
      expect(await latest(dave, group)).toBeUndefined()
      await sendToGroup(alice.api, group, 'after')
      expect(await contents(dave.api, group)).toEqual(['after'])
      expect(await contents(bob.api, group)).toEqual(['after', 'before'])
      await setting(group, 'history_visible', true)
      expect(await contents(dave.api, group)).toEqual(['after', 'before'])
      await expectCode(acknowledge(), 'ok')
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

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
