import { errorCatalogue, type Message } from '@hermod/protocol'
import { type Api, anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import {
  acknowledge,
  aDeletedUser,
  contents,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  notify,
  peers,
  type SendExtras,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

/** Positive and never issued. */
const nobody = 1
const maxBytes = 65_536

for (const backend of anyBackend()) {
  describe(`messages on ${backend.name}`, () => {
    let watched: InProcessServer
    let server: InProcessServer

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      server = watched.server
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    const sessions = (count: number): Promise<Session[]> =>
      Promise.all(Array.from({ length: count }, () => server.api.newSession()))

    async function couple(): Promise<readonly [Session, Session]> {
      const [alice, bob] = await sessions(2)
      return [alice as Session, bob as Session]
    }

    async function trio(): Promise<readonly [Session, Session, Session]> {
      const [alice, bob, carol] = await sessions(3)
      return [alice as Session, bob as Session, carol as Session]
    }

    const send = (api: Api, body: SendExtras) => api.call('POST', '/message/send', { body })

    async function restart(): Promise<void> {
      await server.stop()
      await server.startAgain()
    }

    describe('sending', () => {
      it('to one user answers the msg_id, and both parties read the same message', async () => {
        const [alice, bob] = await couple()
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

      it('names the device of the sender when the token is tied to one', async () => {
        const [alice, bob] = await couple()
        const phone = await server.api.login(alice, 'phone of alice')
        await sendText(phone.api, bob.id, 'from the phone')
        const [message] = await history(bob.api, alice.id)
        expect(message?.from_xid).toEqual({ device_sn: 1, uid: alice.id })
      })

      it('is accepted with PUT as well, and with every kind of content', async () => {
        const [alice, bob] = await couple()
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
        const [alice, bob, carol] = await trio()
        const answer = await send(alice.api, textTo([bob.id, carol.id], 'to both'))
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect(await contents(bob.api, alice.id)).toEqual(['to both'])
        expect(await contents(carol.api, alice.id)).toEqual(['to both'])
        expect(await peers(alice.api)).toHaveLength(2)
        expect(await contents(bob.api, carol.id)).toEqual([])
      })

      it('counts a target that is named several times, in any form, once', async () => {
        const [alice, bob] = await couple()
        const answer = await send(alice.api, textTo([bob.id, bob.id, String(bob.id)], 'once'))
        expect(answer.code).toBe(200)
        expect(answer.envelope.msg_ids).toHaveLength(1)
        expect(await contents(bob.api, alice.id)).toEqual(['once'])
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      })

      it('to a user who does not exist is refused', async () => {
        const [alice] = await couple()
        for (const target of [nobody, 0, -1, 2n ** 63n - 1n, -(2n ** 63n)])
          expect((await send(alice.api, textTo([target], 'x'))).code).toBe(
            answerCode.user_not_found,
          )
        expect(await peers(alice.api)).toEqual([])
      })

      it('checks each target alone and succeeds when one takes the message', async () => {
        const [alice, bob] = await couple()
        const deleted = await aDeletedUser(watched)
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

      it('fails with the reason of the first target when none takes the message', async () => {
        const [alice] = await couple()
        const deleted = await aDeletedUser(watched)
        expect((await send(alice.api, textTo([deleted], 'x'))).code).toBe(answerCode.user_deleted)
        expect((await send(alice.api, textTo([deleted, nobody], 'x'))).code).toBe(
          answerCode.user_deleted,
        )
        expect((await send(alice.api, textTo([nobody, deleted], 'x'))).code).toBe(
          answerCode.user_not_found,
        )
      })

      it('to oneself is allowed and never unread', async () => {
        const [alice] = await couple()
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

      it('to groups that do not exist is refused', async () => {
        const [alice, bob] = await couple()
        for (const api of [alice.api, server.api.admin()])
          expect((await send(api, { ...textTo([bob.id, nobody], 'x'), type: 2 })).code).toBe(
            answerCode.group_not_found,
          )
        expect(await peers(alice.api)).toEqual([])
      })

      it('names every missing or faulty part of the message at once', async () => {
        const [alice] = await couple()
        const missing = await send(alice.api, {})
        expect(missing.code).toBe(answerCode.invalid_parameter)
        for (const name of ['content_type', 'targets', 'type'])
          expect(missing.envelope.message).toContain(name)
        const faulty = await send(alice.api, {
          content_type: 'x',
          targets: 'x',
          type: 3,
          content: 7,
          transaction_id: 1.5,
        })
        expect(faulty.code).toBe(answerCode.invalid_parameter)
        for (const name of ['content_type', 'targets', 'type', 'content ', 'transaction_id'])
          expect(faulty.envelope.message).toContain(name)
      })

      it('takes from 1 to 500 targets', async () => {
        const [alice, bob] = await couple()
        const unknown = Array.from({ length: 499 }, (_, index) => nobody + index)
        expect((await send(alice.api, textTo([], 'x'))).code).toBe(answerCode.invalid_parameter)
        expect((await send(alice.api, textTo([...unknown, bob.id], 'the last of 500'))).code).toBe(
          200,
        )
        expect((await send(alice.api, textTo([...unknown, 500, bob.id], 'too many'))).code).toBe(
          answerCode.invalid_parameter,
        )
        expect(await contents(bob.api, alice.id)).toEqual(['the last of 500'])
      })

      it('survives a restart', async () => {
        const [alice, bob] = await couple()
        const id = await sendText(alice.api, bob.id, 'still here')
        await acknowledge(bob.api)
        await restart()
        const [message] = await history(server.api.as(alice.token), bob.id)
        expect(message).toMatchObject({ msg_id: id, content: 'still here', status: 'READ' })
      })
    })

    describe('the sender', () => {
      it('of a user token is the user, whom from_user_id and the user_id header may name', async () => {
        const [alice, bob] = await couple()
        await sendText(alice.api, bob.id, 'plain')
        await sendText(alice.api, bob.id, 'named', { from_user_id: alice.id })
        await alice.api.succeed('POST', '/message/send', {
          body: textTo([bob.id], 'header'),
          userId: alice.id,
        })
        expect(await contents(bob.api, alice.id)).toEqual(['header', 'named', 'plain'])
      })

      it('of a user token is nobody else, not even the system', async () => {
        const [alice, bob, carol] = await trio()
        for (const from_user_id of [carol.id, bob.id, nobody, 0])
          expect((await send(alice.api, textTo([bob.id], 'forged', { from_user_id }))).code).toBe(
            answerCode.no_permission,
          )
        const onBehalf = await alice.api.call('POST', '/message/send', {
          body: textTo([bob.id], 'forged'),
          userId: carol.id,
        })
        expect(onBehalf.code).toBe(answerCode.no_permission)
        expect(await peers(bob.api)).toEqual([])
      })

      it('of an Admin token is from_user_id, else the user_id header, else the system', async () => {
        const [alice, bob, carol] = await trio()
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
        const [, bob] = await couple()
        const admin = server.api.admin()
        expect((await send(admin, textTo([bob.id], 'x', { from_user_id: nobody }))).code).toBe(
          answerCode.user_not_found,
        )
        expect(
          (await send(admin, textTo([bob.id], 'x', { from_user_id: await aDeletedUser(watched) })))
            .code,
        ).toBe(answerCode.user_deleted)
        expect((await send(server.api.admin({ userId: nobody }), textTo([bob.id], 'x'))).code).toBe(
          answerCode.user_not_found,
        )
        expect(await peers(bob.api)).toEqual([])
      })
    })

    describe('a system notification', () => {
      it('appears in conversation 0, unread until it is acknowledged', async () => {
        const [alice, bob] = await couple()
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
        expect((await history(alice.api, 0)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'READ',
        ])
        await acknowledge(alice.api, { peer: 0 })
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await contents(bob.api, 0)).toEqual([])
      })

      it('with a sender appears in the conversation with that sender', async () => {
        const [alice, bob] = await couple()
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
        const [alice, bob] = await couple()
        const answer = await server.api
          .admin()
          .call('PUT', '/message/notify', { body: textTo([alice.id, bob.id], 'all') })
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect(await unreadCounts(alice.api)).toEqual({ 0: 1 })
        expect(await unreadCounts(bob.api)).toEqual({ 0: 1 })
      })

      it('is not for user tokens', async () => {
        const [alice, bob] = await couple()
        expect(
          (await alice.api.call('POST', '/message/notify', { body: textTo([bob.id], 'x') })).code,
        ).toBe(answerCode.no_permission)
        expect(await peers(bob.api)).toEqual([])
      })
    })

    describe('what is stored nowhere', () => {
      const fleeting: readonly (readonly [string, SendExtras])[] = [
        ['a message for online users only', { content: 'now or never', online_only: true }],
        ['the signal that somebody types', { content: '', ext: '{"input_status":"typing"}' }],
        [
          'the signal that somebody stopped typing',
          { content: '', ext: '{ "input_status": "nothing" }' },
        ],
      ]
      for (const [name, extras] of fleeting) {
        it(`${name} leaves history, lists and counts as they are`, async () => {
          const [alice, bob] = await couple()
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
      }

      it('does not include texts that only look like signals', async () => {
        const [alice, bob] = await couple()
        await sendText(alice.api, bob.id, 'with a text', { ext: '{"input_status":"typing"}' })
        await sendText(alice.api, bob.id, '', { ext: '{"status":"input_status"}' })
        await sendText(alice.api, bob.id, '', { ext: '"input_status"' })
        await sendText(alice.api, bob.id, '', { ext: '{"input_status"' })
        await sendText(alice.api, bob.id, '', { content_type: 6, ext: '{"input_status":"typing"}' })
        await sendText(alice.api, bob.id, '', { ext: '{"input_status":"nothing","more":1}' })
        await sendText(alice.api, bob.id, '', { ext: '{"input_status":"Typing"}' })
        await sendText(alice.api, bob.id, '', { ext: '{"input_status":true}' })
        await sendText(alice.api, bob.id, '', { ext: '["input_status","typing"]' })
        expect(await history(bob.api, alice.id)).toHaveLength(9)
        const { envelope } = await server.api.admin().call('POST', '/message/notify', {
          body: { ...textTo([bob.id], ''), ext: '{"input_status":"typing"}' },
        })
        expect(envelope).toMatchObject({ code: 200 })
        expect(await history(bob.api, 0)).toHaveLength(1)
      })

      it('is refused all the same when the target does not exist', async () => {
        const [alice] = await couple()
        for (const [, extras] of fleeting)
          expect((await send(alice.api, { ...textTo([nobody], ''), ...extras })).code).toBe(
            answerCode.user_not_found,
          )
      })
    })

    describe('the content', () => {
      it('may be empty, and may be left out beside an attachment', async () => {
        const [alice, bob] = await couple()
        const body = { type: 1, targets: [bob.id] }
        expect((await send(alice.api, { ...body, content_type: 0, content: '' })).code).toBe(200)
        expect(
          (await send(alice.api, { ...body, content_type: 4, attachment: '{"url":"u"}' })).code,
        ).toBe(200)
        expect(
          (
            await send(alice.api, {
              ...body,
              content_type: 4,
              attachment: '{"url":"u"}',
              content: null,
            })
          ).code,
        ).toBe(200)
        expect(
          (await history(bob.api, alice.id)).map(({ content, attachment }) => [
            content,
            attachment,
          ]),
        ).toEqual([
          ['', '{"url":"u"}'],
          ['', '{"url":"u"}'],
          ['', ''],
        ])
      })

      it('may not be left out otherwise', async () => {
        const [alice, bob] = await couple()
        const body = { type: 1, targets: [bob.id] }
        for (const rest of [
          { content_type: 0 },
          { content_type: 1, content: null },
          { content_type: 6, ext: 'x' },
          { content_type: 7, attachment: '' },
        ]) {
          const answer = await send(alice.api, { ...body, ...rest })
          expect(answer.code).toBe(answerCode.invalid_parameter)
          expect(answer.envelope.message).toContain('content')
        }
        expect(await peers(bob.api)).toEqual([])
      })

      it('has no type 8, nor one below 0 or above 12', async () => {
        const [alice, bob] = await couple()
        for (const content_type of [8, -1, 13, 2 ** 31, 0.5]) {
          const answer = await send(alice.api, textTo([bob.id], 'x', { content_type }))
          expect(answer.code).toBe(answerCode.invalid_parameter)
          expect(answer.envelope.message).toContain('content_type')
        }
      })

      it('comes back byte for byte, however hostile', async () => {
        const [alice, bob] = await couple()
        const texts = [
          `'; drop table messages; --`,
          `"\\" \\u0000 \\n $1 ?1 :x @x %s \${x} {{x}} <script>alert(1)</script>`,
          '\u0001\b\t\n\v\f\r\u001b\u007f\u0085',
          '\ufeffBOM in front, \u200e\u202e\u2066 turned, \u2028 and \u2029 lines',
          'é e\u0301 \uac00 \u1100\u1161 ﬁ İ ı ß Σς',
          '\u{1F469}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466} \u{1F1E9}\u{1F1EA} \u{20000} \u{10FFFD}',
          '\ufffd\ufffe\uffff\u{1fffe}',
          '9007199254740993 -9223372036854775808 1e400 0.1000000000000000055511151231257827',
          '{"a":12345678901234567890,"__proto__":{"x":1},"constructor":[]}',
          ' leading and trailing \n',
          'null',
        ]
        for (const text of texts)
          await alice.api.succeed('POST', '/message/send', {
            body: textTo([bob.id], text, { attachment: text, config: text, ext: text }),
          })
        const messages = (await history(bob.api, alice.id)).toReversed()
        expect(messages).toHaveLength(texts.length)
        for (const [index, text] of texts.entries())
          for (const field of ['content', 'attachment', 'config', 'ext'] as const)
            expect(Buffer.from(messages[index]?.[field] ?? '').toString('hex')).toBe(
              Buffer.from(text).toString('hex'),
            )
      })

      it('must be Unicode text without U+0000', async () => {
        const [alice, bob] = await couple()
        for (const text of ['a\0b', 'half \ud83d', '\udc00 other half'])
          for (const field of ['content', 'attachment', 'config', 'ext']) {
            const answer = await send(alice.api, textTo([bob.id], 'x', { [field]: text }))
            expect(answer.code).toBe(answerCode.invalid_parameter)
            expect(answer.envelope.message).toContain(field)
          }
        expect(await peers(bob.api)).toEqual([])
      })
    })

    describe('the size', () => {
      it(`of content, attachment, config and ext together is at most ${maxBytes} bytes`, async () => {
        const [alice, bob] = await couple()
        const quarter = 'x'.repeat(maxBytes / 4)
        const texts = { attachment: quarter, config: quarter, ext: quarter }
        expect((await send(alice.api, textTo([bob.id], quarter, texts))).code).toBe(200)
        for (const field of ['content', 'attachment', 'config', 'ext'])
          expect(
            (await send(alice.api, { ...textTo([bob.id], quarter, texts), [field]: `${quarter}x` }))
              .code,
          ).toBe(answerCode.message_too_large)
        const [message, ...others] = await history(bob.api, alice.id)
        expect(others).toEqual([])
        expect(message).toMatchObject({ content: quarter, ...texts })
      })

      it('is counted in bytes of UTF-8, not in characters', async () => {
        const [alice, bob] = await couple()
        const threeBytes = '€'.repeat(Math.floor(maxBytes / 3))
        expect(Buffer.byteLength(threeBytes)).toBe(maxBytes - 1)
        expect((await send(alice.api, textTo([bob.id], `${threeBytes}x`))).code).toBe(200)
        expect((await send(alice.api, textTo([bob.id], `${threeBytes}é`))).code).toBe(
          answerCode.message_too_large,
        )
        expect(
          (await send(alice.api, textTo([bob.id], '\u{1F600}'.repeat(maxBytes / 4)))).code,
        ).toBe(200)
        expect(
          (await send(alice.api, textTo([bob.id], '\u{1F600}'.repeat(maxBytes / 4 + 1)))).code,
        ).toBe(answerCode.message_too_large)
        expect(await history(bob.api, alice.id)).toHaveLength(2)
      })

      it('of escaped text is that of the text', async () => {
        const [alice, bob] = await couple()
        const rawBody = JSON.stringify(textTo([bob.id], '')).replace(
          '"content":""',
          `"content":"${'\\u0061'.repeat(maxBytes)}"`,
        )
        expect((await alice.api.call('POST', '/message/send', { rawBody })).code).toBe(200)
        expect((await history(bob.api, alice.id))[0]?.content).toBe('a'.repeat(maxBytes))
      })

      it('binds notifications and messages for online users as well', async () => {
        const [alice] = await couple()
        const body = textTo([alice.id], 'x'.repeat(maxBytes + 1))
        expect((await server.api.admin().call('POST', '/message/notify', { body })).code).toBe(
          answerCode.message_too_large,
        )
        expect((await send(alice.api, { ...body, online_only: true })).code).toBe(
          answerCode.message_too_large,
        )
      })
    })

    describe('a transaction_id', () => {
      it('that comes again answers the first msg_ids and makes no second message', async () => {
        const [alice, bob] = await couple()
        const first = await sendText(alice.api, bob.id, 'first', { transaction_id: 7 })
        expect(await sendText(alice.api, bob.id, 'again', { transaction_id: 7 })).toBe(first)
        expect(await sendText(alice.api, bob.id, 'as text', { transaction_id: '7' })).toBe(first)
        expect(await contents(bob.api, alice.id)).toEqual(['first'])
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      })

      it('is exact over the whole int64 range', async () => {
        const [alice, bob] = await couple()
        const values = [
          2n ** 53n,
          2n ** 53n + 1n,
          2n ** 53n - 1n,
          2n ** 63n - 1n,
          2n ** 63n - 2n,
          -(2n ** 63n),
          -(2n ** 63n) + 1n,
          -1n,
          1n,
        ]
        const ids = new Map<bigint, number>()
        for (const value of values)
          ids.set(value, await sendText(alice.api, bob.id, `${value}`, { transaction_id: value }))
        expect(new Set(ids.values()).size).toBe(values.length)
        for (const [value, id] of ids) {
          expect(await sendText(alice.api, bob.id, 'again', { transaction_id: value })).toBe(id)
          expect(await sendText(alice.api, bob.id, 'again', { transaction_id: `${value}` })).toBe(
            id,
          )
        }
        expect(await contents(bob.api, alice.id)).toEqual(values.map(String).toReversed())
      })

      it('beyond int64 or not whole is refused', async () => {
        const [alice, bob] = await couple()
        const values = [
          2n ** 63n,
          -(2n ** 63n) - 1n,
          `${2n ** 63n}`,
          `${-(2n ** 63n) - 1n}`,
          10n ** 30n,
          1.5,
          '1.5',
          '1e3',
          'x',
          true,
          [1],
          {},
        ]
        for (const transaction_id of values) {
          const answer = await send(alice.api, textTo([bob.id], 'x', { transaction_id }))
          expect(answer.code).toBe(answerCode.invalid_parameter)
          expect(answer.envelope.message).toContain('transaction_id')
        }
        expect(await peers(bob.api)).toEqual([])
      })

      it('of 0, and one that is empty or null, counts as absent', async () => {
        const [alice, bob] = await couple()
        const values = [0, '0', '-0', '', null]
        for (const transaction_id of [...values, ...values])
          await sendText(alice.api, bob.id, 'x', { transaction_id })
        expect(await history(bob.api, alice.id)).toHaveLength(2 * values.length)
      })

      it('belongs to its sender, however the sender is named', async () => {
        const [alice, bob, carol] = await trio()
        const extras = { transaction_id: 2n ** 62n }
        const ofAlice = await sendText(alice.api, carol.id, 'alice', extras)
        const ofBob = await sendText(bob.api, carol.id, 'bob', extras)
        const ofSystem = await sendText(server.api.admin(), carol.id, 'system', extras)
        expect(new Set([ofAlice, ofBob, ofSystem]).size).toBe(3)
        expect(
          await sendText(server.api.admin(), carol.id, 'again', {
            ...extras,
            from_user_id: bob.id,
          }),
        ).toBe(ofBob)
        expect(await notify(server.api.admin(), carol.id, 'again', extras)).toBe(ofSystem)
        expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1, [bob.id]: 1, 0: 1 })
      })

      it('covers all targets of its send, and msg_ids stay a matter of exactly one recipient', async () => {
        const [alice, bob, carol] = await trio()
        const body = textTo([bob.id, carol.id], 'to both', { transaction_id: 1 })
        const success = { code: 200, data: true, message: null }
        expect((await send(alice.api, body)).envelope).toEqual(success)
        expect((await send(alice.api, body)).envelope).toEqual(success)
        // Somebody else's idea of a repeat: what was sent first counts, and that had no msg_ids.
        expect((await send(alice.api, { ...body, targets: [bob.id] })).envelope).toEqual(success)
        expect(await contents(bob.api, alice.id)).toEqual(['to both'])
        expect(await contents(carol.api, alice.id)).toEqual(['to both'])
      })

      it('of a refused send is free for the next one', async () => {
        const [alice, bob] = await couple()
        expect((await send(alice.api, textTo([nobody], 'x', { transaction_id: 5 }))).code).toBe(
          answerCode.user_not_found,
        )
        expect(
          (await send(alice.api, textTo([bob.id], 'x'.repeat(maxBytes + 1), { transaction_id: 5 })))
            .code,
        ).toBe(answerCode.message_too_large)
        await sendText(alice.api, bob.id, 'accepted', { transaction_id: 5 })
        expect(await contents(bob.api, alice.id)).toEqual(['accepted'])
      })

      it('is remembered over a restart', async () => {
        const [alice, bob] = await couple()
        const first = await sendText(alice.api, bob.id, 'before', {
          transaction_id: 2n ** 53n + 1n,
        })
        await restart()
        const api = server.api.as(alice.token)
        expect(await sendText(api, bob.id, 'after', { transaction_id: 2n ** 53n + 1n })).toBe(first)
        expect(await sendText(api, bob.id, 'other', { transaction_id: 2n ** 53n })).toBeGreaterThan(
          first,
        )
        expect(await contents(api, bob.id)).toEqual(['other', 'before'])
      })

      it('that arrives many times at once makes one message', async () => {
        const [alice, bob] = await couple()
        const rounds = 10
        for (let transaction_id = 1; transaction_id <= rounds; transaction_id++) {
          const ids = await Promise.all(
            Array.from({ length: 16 }, (_, copy) =>
              sendText(alice.api, bob.id, `copy ${copy}`, { transaction_id }),
            ),
          )
          expect(new Set(ids).size).toBe(1)
        }
        expect(await history(bob.api, alice.id)).toHaveLength(rounds)
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: rounds })
      })
    })

    describe('history', () => {
      async function aConversation(length: number) {
        const [alice, bob] = await couple()
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
        const [alice, bob] = await couple()
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
        for (const limit of [0, -1, 2 ** 31, 1.5, 'x', '']) {
          const answer = await bob.api.call('GET', '/message/conversation', {
            query: { opposite_id: alice.id, msg_id_start: 0, limit },
          })
          expect(answer.code).toBe(answerCode.invalid_parameter)
          expect(answer.envelope.message).toContain('limit')
        }
      })

      it('asks for all of its parameters', async () => {
        const [alice, bob] = await couple()
        const query = { opposite_id: bob.id, msg_id_start: 0, limit: 10 }
        for (const name of Object.keys(query)) {
          const answer = await alice.api.call('GET', '/message/conversation', {
            query: { ...query, [name]: undefined },
          })
          expect(answer.code).toBe(answerCode.invalid_parameter)
          expect(answer.envelope.message).toContain(name)
        }
        expect(
          (
            await alice.api.call('GET', '/message/conversation', {
              query: { ...query, msg_id_start: -1 },
            })
          ).code,
        ).toBe(answerCode.invalid_parameter)
      })

      it('is empty with somebody one never wrote with, and an error with nobody', async () => {
        const [alice, bob] = await couple()
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
        const [alice, bob, carol] = await trio()
        const id = await sendText(alice.api, bob.id, 'between us')
        expect(await history(carol.api, alice.id)).toEqual([])
        expect((await historyPage(carol.api, bob.id, { start: id })).messages).toEqual([])
        expect(await conversationList(carol.api)).toEqual([])
      })

      it('keeps the order of the answers under 64 concurrent senders, each message exactly once', async () => {
        const [alice, bob] = await couple()
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

    describe('read marks', () => {
      it('show the receiver what is read, and the sender what the peer has read', async () => {
        const [alice, bob] = await couple()
        const ids = [
          await sendText(alice.api, bob.id, '1'),
          await sendText(alice.api, bob.id, '2'),
          await sendText(alice.api, bob.id, '3'),
        ]
        const statuses = async (reader: Session, peer: Session) =>
          (await history(reader.api, peer.id)).map(({ status }) => status)
        expect(await statuses(alice, bob)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
        expect(await statuses(bob, alice)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
        await acknowledge(bob.api, { peer: alice.id, message: ids[1] as number })
        expect(await statuses(alice, bob)).toEqual(['UNREAD', 'READ', 'READ'])
        expect(await statuses(bob, alice)).toEqual(['UNREAD', 'READ', 'READ'])
        await acknowledge(bob.api, { peer: alice.id })
        expect(await statuses(alice, bob)).toEqual(['READ', 'READ', 'READ'])
      })

      it('of the sender move with sending, so that an answer reads what it answers', async () => {
        const [alice, bob] = await couple()
        await sendText(alice.api, bob.id, 'question')
        await sendText(alice.api, bob.id, 'another')
        await sendText(bob.api, alice.id, 'answer')
        await sendText(alice.api, bob.id, 'thanks')
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
        expect(await unreadCounts(alice.api)).toEqual({})
        expect((await history(alice.api, bob.id)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'READ',
          'READ',
          'READ',
        ])
      })

      it('count the unread messages of every conversation', async () => {
        const [alice, bob, carol] = await trio()
        await sendText(alice.api, carol.id, 'a1')
        await sendText(bob.api, carol.id, 'b1')
        await sendText(bob.api, carol.id, 'b2')
        await notify(server.api.admin(), carol.id, 's')
        expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1, [bob.id]: 2, 0: 1 })
        expect(await unreadCounts(alice.api)).toEqual({})
      })

      it('move up to a message of a named conversation, to its end, up to a message of any, and to the end of all', async () => {
        const [alice, bob, carol] = await trio()
        const fromAlice = [
          await sendText(alice.api, carol.id, 'a1'),
          await sendText(alice.api, carol.id, 'a2'),
          await sendText(alice.api, carol.id, 'a3'),
        ]
        const fromBob = [
          await sendText(bob.api, carol.id, 'b1'),
          await sendText(bob.api, carol.id, 'b2'),
        ]
        await notify(server.api.admin(), carol.id, 's')
        await acknowledge(carol.api, { peer: alice.id, message: fromAlice[0] as number })
        expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 2, [bob.id]: 2, 0: 1 })
        await acknowledge(carol.api, { message: fromBob[0] as number })
        expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 2, [bob.id]: 1, 0: 1 })
        await acknowledge(carol.api, { peer: alice.id })
        expect(await unreadCounts(carol.api)).toEqual({ [bob.id]: 1, 0: 1 })
        await acknowledge(carol.api)
        expect(await unreadCounts(carol.api)).toEqual({})
      })

      it('never move back', async () => {
        const [alice, bob] = await couple()
        const first = await sendText(alice.api, bob.id, '1')
        await sendText(alice.api, bob.id, '2')
        await acknowledge(bob.api)
        await acknowledge(bob.api, { message: first })
        expect(await unreadCounts(bob.api)).toEqual({})
        expect((await history(alice.api, bob.id)).map(({ status }) => status)).toEqual([
          'READ',
          'READ',
        ])
      })

      it('reach the end under many concurrent acks, pages and sends, and each step forward is told once', async () => {
        const couples = await Promise.all(Array.from({ length: 4 }, couple))
        const messagesEach = 24
        const sent = await Promise.all(
          couples.map(([alice, bob]) =>
            Promise.all(
              Array.from({ length: messagesEach }, async (_, number) => {
                const message = await sendText(alice.api, bob.id, `${number}`)
                const [page] = await Promise.all([
                  history(bob.api, alice.id),
                  acknowledge(bob.api, { peer: alice.id, message }),
                  number % 3 === 0 ? acknowledge(bob.api, { peer: alice.id }) : undefined,
                ])
                expect(page.map(({ msg_id }) => msg_id)).toContain(message)
                return message
              }),
            ),
          ),
        )
        const told = await recordedEvents(watched.sql, 'message.')
        for (const [index, [alice, bob]] of couples.entries()) {
          const newest = Math.max(...(sent[index] as number[]))
          expect(await unreadCounts(bob.api)).toEqual({})
          const page = await history(alice.api, bob.id, messagesEach)
          expect(page.map(({ status }) => status)).toEqual(Array(messagesEach).fill('READ'))
          const toldOf = (kind: string) =>
            told
              .filter((event) => event.kind === kind && event.actor === bob.id)
              .map(({ content }) => JSON.parse(content).msg_id as number)
          for (const kind of ['message.read', 'message.delivered']) {
            const messages = toldOf(kind)
            expect(messages).toEqual([...new Set(messages)].sort((a, b) => a - b))
          }
          expect(toldOf('message.read').at(-1)).toBe(newest)
        }
        expect(await integrityFaults(server)).toEqual([])
      })

      it('that are there already are told no second time', async () => {
        const [alice, bob] = await couple()
        const first = await sendText(alice.api, bob.id, '1')
        await sendText(alice.api, bob.id, '2')
        await acknowledge(bob.api, { peer: alice.id })
        await history(bob.api, alice.id)
        const told = async () =>
          (await recordedEvents(watched.sql, 'message.')).filter(({ actor }) => actor === bob.id)
        const before = await told()
        await acknowledge(bob.api, { peer: alice.id })
        await acknowledge(bob.api, { peer: alice.id, message: first })
        await acknowledge(bob.api, { message: first })
        await history(bob.api, alice.id)
        expect(await told()).toEqual(before)
      })

      it('may be moved from a device and up to a message of one’s own', async () => {
        const [alice, bob] = await couple()
        await sendText(bob.api, alice.id, 'theirs')
        const own = await sendText(server.api.admin({ userId: alice.id }), bob.id, 'own')
        await alice.api.succeed('GET', '/message/ack', {
          query: { conversation_id: bob.id, msg_id: own, device_sn: 1 },
        })
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
      })

      it('of one user move for nobody else', async () => {
        const [alice, bob, carol] = await trio()
        await alice.api.succeed('POST', '/message/send', {
          body: textTo([bob.id, carol.id], 'to both'),
        })
        await acknowledge(bob.api)
        expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1 })
        expect((await history(alice.api, bob.id))[0]?.status).toBe('READ')
        expect((await history(alice.api, carol.id))[0]?.status).toBe('UNREAD')
      })

      it('cannot be set to what is not there', async () => {
        const [alice, bob, carol] = await trio()
        const between = await sendText(alice.api, bob.id, 'between alice and bob')
        const withCarol = await sendText(carol.api, bob.id, 'between carol and bob')
        const ack = async (api: Api, query: Record<string, number | bigint>) =>
          (await api.call('GET', '/message/ack', { query })).code
        // Where nothing was written yet there is nothing to read, and that is no error.
        expect(await ack(carol.api, { conversation_id: alice.id })).toBe(200)
        expect(await ack(carol.api, { conversation_id: 0 })).toBe(200)
        expect(await ack(carol.api, { conversation_id: nobody })).toBe(
          answerCode.conversation_not_found,
        )
        expect(await ack(carol.api, { msg_id: between })).toBe(answerCode.message_not_found)
        expect(await ack(carol.api, { msg_id: nobody })).toBe(answerCode.message_not_found)
        expect(await ack(carol.api, { msg_id: 2n ** 63n - 1n })).toBe(answerCode.message_not_found)
        expect(await ack(carol.api, { conversation_id: bob.id, msg_id: between })).toBe(
          answerCode.message_not_found,
        )
        expect(await ack(carol.api, { conversation_id: bob.id, msg_id: withCarol + 1 })).toBe(
          answerCode.message_not_found,
        )
        expect(await ack(carol.api, { conversation_id: alice.id, msg_id: between })).toBe(
          answerCode.conversation_not_found,
        )
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1, [carol.id]: 1 })
      })

      it('move to the position of a message that was recalled in between', async () => {
        for (const isNamed of [true, false]) {
          const [alice, bob] = await couple()
          await sendText(alice.api, bob.id, 'first')
          const second = await sendText(alice.api, bob.id, 'second')
          await sendText(alice.api, bob.id, 'third')
          await server.api.admin({ userId: alice.id }).succeed('POST', '/message/recall', {
            body: { conversation_id: bob.id, msg_id: second },
          })
          expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 2 })
          await bob.api.succeed('GET', '/message/ack', {
            query: { msg_id: second, ...(isNamed && { conversation_id: alice.id }) },
          })
          expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
          expect((await history(alice.api, bob.id)).map(({ status }) => status)).toEqual([
            'UNREAD',
            'READ',
          ])
        }
      })

      it('stay where they are when somebody is notified in a user’s name', async () => {
        const [alice, bob] = await couple()
        const notify = async (sender: Session, target: Session) =>
          server.api.admin().succeed('POST', '/message/notify', {
            body: { ...textTo([target.id], 'hear, hear'), from_user_id: sender.id },
          })
        await sendText(bob.api, alice.id, 'unread 1')
        await notify(alice, bob)
        await sendText(bob.api, alice.id, 'unread 2')
        const { msg_ids: own } = await notify(alice, bob)
        expect(await unreadCounts(alice.api)).toEqual({ [bob.id]: 2 })
        // Sending has moved Bob's own mark past the first one.
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
        expect((await history(bob.api, alice.id)).map(({ status }) => status)).toEqual([
          'UNREAD',
          'UNREAD',
          'READ',
          'UNREAD',
        ])
        await server.api.admin({ userId: alice.id }).succeed('POST', '/message/recall', {
          body: { conversation_id: bob.id, msg_id: own?.[0] },
        })
        expect(await unreadCounts(alice.api)).toEqual({ [bob.id]: 2 })
        expect(await unreadCounts(bob.api)).toEqual({})
        await acknowledge(alice.api, { peer: bob.id })
        await notify(alice, bob)
        expect(await unreadCounts(alice.api)).toEqual({})
        expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
        await notify(alice, alice)
        expect(await unreadCounts(alice.api)).toEqual({})
      })

      it('of somebody who has no conversation yet are moved without an error', async () => {
        const [alice] = await couple()
        await acknowledge(alice.api)
        expect(await unreadCounts(alice.api)).toEqual({})
      })
    })

    describe('deleting a conversation', () => {
      it('hides it for the caller only, until the next message', async () => {
        const [alice, bob] = await couple()
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

      it('is remembered over a restart and ended by a message of one’s own', async () => {
        const [alice, bob] = await couple()
        await sendText(alice.api, bob.id, 'old')
        await deleteConversation(alice.api, bob.id)
        await restart()
        const api = server.api.as(alice.token)
        expect(await history(api, bob.id)).toEqual([])
        expect(await conversationList(api)).toEqual([])
        await sendText(api, bob.id, 'new')
        expect(await contents(api, bob.id)).toEqual(['new'])
        expect(await contents(server.api.as(bob.token), alice.id)).toEqual(['new', 'old'])
      })

      it('works for notes to oneself, for notifications, and again', async () => {
        const [alice] = await couple()
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
        const [alice, bob, carol] = await trio()
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
        expect((await carol.api.call('DELETE', '/message/conversation', { body: {} })).code).toBe(
          answerCode.invalid_parameter,
        )
      })

      it('does not tell the sender that an unread message was read', async () => {
        const [alice, bob] = await couple()
        await sendText(alice.api, bob.id, 'never seen')
        await deleteConversation(bob.api, alice.id)
        expect((await history(alice.api, bob.id))[0]?.status).toBe('UNREAD')
      })
    })

    describe('the list of conversations', () => {
      it('comes with the most recent activity first', async () => {
        const [alice, bob, carol] = await trio()
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
        const [alice, bob, carol] = await trio()
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

        it('refuses limits below 1 and cursors that it never gave', async () => {
          for (const query of [{ limit: 0 }, { limit: -1 }, { limit: 1.5 }, { limit: 'x' }]) {
            const answer = await reader.api.call('GET', '/message/conversation_list', { query })
            expect(answer.code).toBe(answerCode.invalid_parameter)
            expect(answer.envelope.message).toContain('limit')
          }
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
            expect(answer.code).toBe(answerCode.invalid_parameter)
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

    describe('an Admin token', () => {
      it('reads, acknowledges and deletes for the user of the header', async () => {
        const [alice, bob] = await couple()
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

      it('must say for whom, and that user must exist', async () => {
        const deleted = await aDeletedUser(watched)
        for (const [method, path, query] of calls) {
          const missing = await server.api.admin().call(method, path, { query })
          expect(missing.code).toBe(answerCode.invalid_parameter)
          expect(missing.envelope.message).toContain('user_id')
          expect(
            (await server.api.admin({ userId: nobody }).call(method, path, { query })).code,
          ).toBe(answerCode.user_not_found)
          expect(
            (await server.api.admin({ userId: deleted }).call(method, path, { query })).code,
          ).toBe(answerCode.user_deleted)
        }
      })

      it('is needed to act for another user', async () => {
        const [alice, bob] = await couple()
        for (const [method, path, query] of calls) {
          expect((await alice.api.call(method, path, { query, userId: bob.id })).code).toBe(
            answerCode.no_permission,
          )
          expect((await server.api.call(method, path, { query })).code).toBe(
            answerCode.token_missing,
          )
        }
      })
    })

    // The last one: from then on the IDs of this server are ahead of the clock, and so are the
    // timestamps that they hold.
    describe('a clock that was ahead of time', () => {
      it('leaves messages from the future behind, which the next ones follow in order', async () => {
        const [alice, bob] = await couple()
        const id = await sendText(alice.api, bob.id, 'from the future')
        const hour = 3_600_000 * 4096
        await server.stop()
        await watched.sql.run(`update messages set msg_id = msg_id + ${hour} where msg_id = ${id}`)
        await watched.sql.run(
          `update conversations set last_msg_id = last_msg_id + ${hour} where last_msg_id = ${id}`,
        )
        await server.startAgain()
        const api = server.api.as(bob.token)
        const next = await sendText(api, alice.id, 'from now')
        expect(next).toBeGreaterThan(id + hour)
        expect(await sendText(api, alice.id, 'and on')).toBeGreaterThan(next)
        expect(await contents(api, alice.id)).toEqual(['and on', 'from now', 'from the future'])
        expect(await integrityFaults(server)).toEqual([])
      })
    })
  })
}
