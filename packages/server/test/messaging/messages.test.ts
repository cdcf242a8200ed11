import { type ErrorName, errorCatalogue } from '@hermod/protocol'
import { anyBackend, type Session } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import {
  acknowledge,
  aDeletedUser,
  contents,
  conversationList,
  history,
  historyPage,
  notify,
  peers,
  send,
  type SendExtras,
  sendText,
  sessions,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'

/** Positive and never issued. */
const nobody = 1
const maxBytes = 65_536
const fleeting: readonly (readonly [string, SendExtras])[] = [
  ['a message for online users only', { content: 'now or never', online_only: true }],
  ['the signal that somebody types', { content: '', ext: '{"input_status":"typing"}' }],
  [
    'the signal that somebody stopped typing',
    { content: '', ext: '{ "input_status": "nothing" }' },
  ],
]

describe.each(anyBackend())('messages on $name', (backend) => {
  const server = sharedServer(backend)

  describe('sending', () => {
    it('to one user answers the msg_id, and both parties read the same message', async () => {
      const [alice, bob] = await sessions(server, 2)
      const before = Date.now()
      const texts = {
        content: 'Hello',
        attachment: '{"url":"x"}',
        config: '{"mentionAll":false}',
        ext: '{"k":1}',
      }
      const answer = await send(alice.api, {
        ...texts,
        content_type: 1,
        targets: [bob.id],
        type: 1,
      })
      const after = Date.now()
      expect(answer.envelope).toMatchObject({ code: 200, data: true, message: null })
      const msg_ids = answer.envelope.msg_ids as number[]
      expect(msg_ids).toHaveLength(1)
      for (const [reader, peer] of [
        [alice, bob],
        [bob, alice],
      ] as const) {
        const page = await historyPage(reader.api, peer.id)
        expect(page).toMatchObject({ is_last: true, next_msg_id: 0 })
        expect(page.messages).toEqual([
          {
            ...texts,
            ctype: 'IMAGE',
            edit_timestamp: 0,
            from_xid: { device_sn: 0, uid: alice.id },
            is_system: false,
            msg_id: msg_ids[0],
            seq: 1,
            status: 'UNREAD',
            timestamp: expect.any(Number),
            to_xid: { device_sn: 0, uid: bob.id },
          },
        ])
        expect(page.messages[0]?.timestamp).toBeGreaterThanOrEqual(before)
        // An ID may run ahead of the clock by as many ticks as IDs were needed at once.
        expect(page.messages[0]?.timestamp).toBeLessThanOrEqual(after + 1_000)
      }
    })

    it('to 500 users reaches the last of them', async () => {
      const [alice, bob] = await sessions(server, 2)
      const unknown = Array.from({ length: 499 }, (_, index) => nobody + index)
      await expectCode(send(alice.api, textTo([...unknown, bob.id], 'the last of 500')), 'ok')
      expect(await contents(bob.api, alice.id)).toEqual(['the last of 500'])
    })

    it('names the device of the sender when the token is tied to one', async () => {
      const [alice, bob] = await sessions(server, 2)
      const phone = await server.api.login(alice, 'phone of alice')
      await sendText(phone.api, bob.id, 'from the phone')
      const [message] = await history(bob.api, alice.id)
      expect(message?.from_xid).toEqual({ device_sn: 1, uid: alice.id })
    })

    it('is accepted with PUT as well, and with every kind of content', async () => {
      const [alice, bob] = await sessions(server, 2)
      const kinds = ['TEXT', 'IMAGE', 'AUDIO', 'VIDEO', 'FILE', 'LOCATION', 'COMMAND', 'FORWARD']
      for (const content_type of kinds.keys())
        await alice.api.succeed('PUT', '/message/send', {
          body: textTo([bob.id], 'x', { content_type: String(content_type) }),
        })
      expect((await history(bob.api, alice.id)).map(({ ctype }) => ctype)).toEqual(
        kinds.toReversed(),
      )
    })

    it('to several users answers no msg_ids and reaches each of them', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const answer = await send(alice.api, textTo([bob.id, carol.id], 'to both'))
      expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
      expect(await contents(bob.api, alice.id)).toEqual(['to both'])
      expect(await contents(carol.api, alice.id)).toEqual(['to both'])
      expect(await peers(alice.api)).toHaveLength(2)
      expect(await contents(bob.api, carol.id)).toEqual([])
    })

    it('counts a target that is named several times, in any form, once', async () => {
      const [alice, bob] = await sessions(server, 2)
      const answer = await send(alice.api, textTo([bob.id, bob.id, String(bob.id)], 'once'))
      expect(answer.code).toBe(200)
      expect(answer.envelope.msg_ids).toHaveLength(1)
      expect(await contents(bob.api, alice.id)).toEqual(['once'])
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
    })

    it('checks each target alone and succeeds when one takes the message', async () => {
      const [alice, bob] = await sessions(server, 2)
      const deleted = await aDeletedUser(server)
      const answer = await send(
        alice.api,
        textTo([nobody, bob.id, deleted], 'for whom it may concern'),
      )
      const { user_not_found: unknown, user_deleted: gone } = errorCatalogue
      expect(answer.envelope).toEqual({
        code: 200,
        data: true,
        message: null,
        fails: [
          { target: nobody, code: unknown.code, reason: unknown.text },
          { target: deleted, code: gone.code, reason: gone.text },
        ],
      })
      expect(await contents(bob.api, alice.id)).toEqual(['for whom it may concern'])
      expect(await peers(alice.api)).toEqual([bob.id])
    })

    it('to oneself is allowed and never unread', async () => {
      const [alice] = await sessions(server, 1)
      const id = await sendText(alice.api, alice.id, 'note to self')
      expect(await unreadCounts(alice.api)).toEqual({})
      expect(await peers(alice.api)).toEqual([alice.id])
      const [message] = await history(alice.api, alice.id)
      expect(message).toMatchObject({
        content: 'note to self',
        msg_id: id,
        status: 'READ',
        from_xid: { uid: alice.id },
        to_xid: { uid: alice.id },
      })
    })
  })

  describe('the sender', () => {
    it('of a user token is the user, whom from_user_id and the user_id header may name', async () => {
      const [alice, bob] = await sessions(server, 2)
      await sendText(alice.api, bob.id, 'plain')
      await sendText(alice.api, bob.id, 'named', { from_user_id: alice.id })
      await alice.api.succeed('POST', '/message/send', {
        body: textTo([bob.id], 'header'),
        userId: alice.id,
      })
      expect(await contents(bob.api, alice.id)).toEqual(['header', 'named', 'plain'])
    })

    it('of an Admin token is from_user_id, else the user_id header, else the system', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      await sendText(server.api.admin({ userId: alice.id }), carol.id, 'by from_user_id', {
        from_user_id: bob.id,
      })
      await sendText(server.api.admin({ userId: alice.id }), carol.id, 'by header')
      await sendText(server.api.admin(), carol.id, 'by nobody')
      await sendText(server.api.admin({ userId: alice.id }), carol.id, 'by the system', {
        from_user_id: 0,
      })
      expect(await contents(carol.api, bob.id)).toEqual(['by from_user_id'])
      expect(await contents(carol.api, alice.id)).toEqual(['by header'])
      expect(await contents(carol.api, 0)).toEqual(['by the system', 'by nobody'])
      expect(
        (await history(carol.api, 0)).map(({ is_system, from_xid }) => ({
          is_system,
          uid: from_xid.uid,
        })),
      ).toEqual([
        { is_system: false, uid: 0 },
        { is_system: false, uid: 0 },
      ])
    })

    it('of an Admin token must exist', async () => {
      const [, bob] = await sessions(server, 2)
      const admin = server.api.admin()
      await expectCode(
        send(admin, textTo([bob.id], 'x', { from_user_id: nobody })),
        'user_not_found',
      )
      await expectCode(
        send(admin, textTo([bob.id], 'x', { from_user_id: await aDeletedUser(server) })),
        'user_deleted',
      )
      await expectCode(
        send(server.api.admin({ userId: nobody }), textTo([bob.id], 'x')),
        'user_not_found',
      )
      expect(await peers(bob.api)).toEqual([])
    })
  })

  describe('a system notification', () => {
    it('appears in conversation 0, unread until it is acknowledged', async () => {
      const [alice, bob] = await sessions(server, 2)
      const first = await notify(server.api.admin(), alice.id, 'Welcome')
      const second = await notify(server.api.admin(), alice.id, 'Maintenance tonight')
      expect(await unreadCounts(alice.api)).toEqual({ 0: 2 })
      expect(await peers(alice.api)).toEqual([0])
      expect(await history(alice.api, 0)).toMatchObject([
        {
          msg_id: second,
          content: 'Maintenance tonight',
          is_system: true,
          status: 'UNREAD',
          from_xid: { uid: 0 },
          to_xid: { uid: alice.id },
        },
        { msg_id: first, content: 'Welcome', is_system: true, status: 'UNREAD' },
      ])
      await acknowledge(alice.api, { peer: 0, message: first })
      expect(await unreadCounts(alice.api)).toEqual({ 0: 1 })
      expect((await history(alice.api, 0)).map(({ status }) => status)).toEqual(['UNREAD', 'READ'])
      await acknowledge(alice.api, { peer: 0 })
      expect(await unreadCounts(alice.api)).toEqual({})
      expect(await contents(bob.api, 0)).toEqual([])
    })

    it('with a sender appears in the conversation with that sender', async () => {
      const [alice, bob] = await sessions(server, 2)
      await notify(server.api.admin(), bob.id, 'alice changed her number', {
        from_user_id: alice.id,
      })
      await notify(server.api.admin({ userId: alice.id }), bob.id, 'and her address')
      for (const [reader, peer] of [
        [alice, bob],
        [bob, alice],
      ] as const)
        expect(await history(reader.api, peer.id)).toMatchObject([
          { content: 'and her address', is_system: true, from_xid: { uid: alice.id } },
          { content: 'alice changed her number', is_system: true, from_xid: { uid: alice.id } },
        ])
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 2 })
    })

    it('to several users answers no msg_ids', async () => {
      const [alice, bob] = await sessions(server, 2)
      const answer = await server.api
        .admin()
        .call('PUT', '/message/notify', { body: textTo([alice.id, bob.id], 'all') })
      expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
      expect(await unreadCounts(alice.api)).toEqual({ 0: 1 })
      expect(await unreadCounts(bob.api)).toEqual({ 0: 1 })
    })
  })

  describe('what is stored nowhere', () => {
    it.each(fleeting)('%s leaves history, lists and counts as they are', async (_, extras) => {
      const [alice, bob] = await sessions(server, 2)
      expect(
        (await send(alice.api, { ...textTo([bob.id], ''), ...extras })).envelope,
      ).toMatchObject({ code: 200, data: true })
      for (const [reader, peer] of [
        [alice, bob],
        [bob, alice],
      ] as const) {
        expect(await history(reader.api, peer.id)).toEqual([])
        expect(await conversationList(reader.api)).toEqual([])
        expect(await unreadCounts(reader.api)).toEqual({})
      }
      const last = await sendText(alice.api, bob.id, 'kept')
      await send(alice.api, { ...textTo([bob.id], ''), ...extras })
      expect(await contents(bob.api, alice.id)).toEqual(['kept'])
      expect((await conversationList(bob.api))[0]?.latest_msg_id).toBe(last)
      expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
    })

    it('does not include texts that only look like signals', async () => {
      const [alice, bob] = await sessions(server, 2)
      const typing = { ext: '{"input_status":"typing"}' }
      await sendText(alice.api, bob.id, 'with a text', typing)
      await sendText(alice.api, bob.id, '', { content_type: 6, ...typing })
      const others = [
        '{"status":"input_status"}',
        '"input_status"',
        '{"input_status"',
        '{"input_status":"nothing","more":1}',
        '{"input_status":"Typing"}',
        '{"input_status":true}',
        '["input_status","typing"]',
      ]
      for (const ext of others) await sendText(alice.api, bob.id, '', { ext })
      expect(await history(bob.api, alice.id)).toHaveLength(2 + others.length)
      const { envelope } = await server.api.admin().call('POST', '/message/notify', {
        body: { ...textTo([bob.id], ''), ext: '{"input_status":"typing"}' },
      })
      expect(envelope).toMatchObject({ code: 200 })
      expect(await history(bob.api, 0)).toHaveLength(1)
    })
  })

  describe('refusals', () => {
    type Refusal = [name: string, change: () => SendExtras, code: ErrorName, field?: string]
    const tooLong = 'x'.repeat(maxBytes + 1)
    const without = (others: object) => ({ content: undefined, ...others })
    const unknown = Array.from({ length: 500 }, (_, index) => nobody + index)
    let alice: Session
    let bob: Session
    let deleted: number

    beforeAll(async () => {
      ;[alice, bob] = await sessions(server, 2)
      deleted = await aDeletedUser(server)
    })

    it.each<Refusal>([
      ['an unknown target', () => ({ targets: [nobody] }), 'user_not_found'],
      ['target 0', () => ({ targets: [0] }), 'user_not_found'],
      ['a negative target', () => ({ targets: [-1] }), 'user_not_found'],
      ['the greatest target', () => ({ targets: [2n ** 63n - 1n] }), 'user_not_found'],
      ['the least target', () => ({ targets: [-(2n ** 63n)] }), 'user_not_found'],
      ['a deleted target', () => ({ targets: [deleted] }), 'user_deleted'],
      ['first deleted, then unknown', () => ({ targets: [deleted, nobody] }), 'user_deleted'],
      ['first unknown, then deleted', () => ({ targets: [nobody, deleted] }), 'user_not_found'],
      ['unknown groups', () => ({ type: 2, targets: [bob.id, nobody] }), 'group_not_found'],
      ['no target', () => ({ targets: [] }), 'invalid_parameter', 'targets'],
      ['501 targets', () => ({ targets: [...unknown, bob.id] }), 'invalid_parameter', 'targets'],
      ['a text without content', () => without({}), 'invalid_parameter', 'content'],
      ['null as content', () => ({ content: null }), 'invalid_parameter', 'content'],
      ['ext alone', () => without({ content_type: 6, ext: 'x' }), 'invalid_parameter', 'content'],
      ['no attachment', () => without({ attachment: '' }), 'invalid_parameter', 'content'],
      ['content_type 8', () => ({ content_type: 8 }), 'invalid_parameter', 'content_type'],
      ['content_type -1', () => ({ content_type: -1 }), 'invalid_parameter', 'content_type'],
      ['a long text', () => ({ content: tooLong }), 'message_too_large'],
      ['a long signal', () => ({ content: tooLong, online_only: true }), 'message_too_large'],
      ...fleeting.map(([name, extras]): Refusal => {
        const change = () => ({ targets: [nobody], ...extras })
        return [`${name} to an unknown user`, change, 'user_not_found']
      }),
    ])('%s: is refused and not stored', async (_, change, code, field = '') => {
      const answer = await send(alice.api, textTo([bob.id], 'x', change()))
      await expectCode(answer, code)
      expect(answer.envelope.message).toContain(field)
      expect(await peers(alice.api)).toEqual([])
      expect(await peers(bob.api)).toEqual([])
    })

    it('the Admin: unknown groups and long notifications are refused', async () => {
      const admin = server.api.admin()
      await expectCode(send(admin, textTo([nobody], 'x', { type: 2 })), 'group_not_found')
      const body = textTo([bob.id], tooLong)
      await expectCode(admin.call('POST', '/message/notify', { body }), 'message_too_large')
    })
  })
})
