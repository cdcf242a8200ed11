/** Messages of groups that are recalled, edited and acknowledged by other messages. */
import { type Api, anyBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  operateInGroup,
  receipts,
  type Speaker,
  sendToGroup,
  speakers,
} from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, type GroupOptions, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  contents,
  conversationList,
  history,
  integrityFaults,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'

describe.each(anyBackend())('operations on messages of groups on $name', (backend) => {
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

  const destroy = async (group: number) => {
    expect(
      (await alice.api.call('POST', '/group/destroy', { query: { group_id: group } })).code,
    ).toBe(200)
  }

  const codeOfAck = async (api: Api, what: { conversation_id?: number; msg_id?: number }) =>
    (await api.call('GET', '/message/ack', { query: what })).code

  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0

  const latest = async (user: Speaker, group: number) =>
    (await conversationList(user.api)).find(({ conversation_id }) => conversation_id.uid === group)
      ?.latest_msg_id

  describe.each([
    ['/message/recall', (api: Api, group: number, message: number) => recall(api, group, message)],
    [
      'content_type 10',
      (api: Api, group: number, message: number) =>
        operateInGroup(api, 'recall', { group, message }),
    ],
  ] as const)('recalling with %s', (_way, call) => {
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
      const rank = (user: Speaker) => (user === alice ? 2 : user === dave || user === erin ? 1 : 0)
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

  it('the integrity check finds no fault after all tests', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
