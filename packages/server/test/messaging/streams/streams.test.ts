/** Messages that are written piece by piece (rule E19). */
import { type Api, GatewayClient, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import { aGroup, groupCall } from '../../support/groups/groups.js'
import { ownServer } from '../../support/in-process-server.js'
import { operate, recall } from '../../support/messaging/message-operations.js'
import { historyPage, integrityFaults, sessions } from '../../support/messaging/messaging.js'
import { append, begin, shown } from '../../support/messaging/streams.js'

for (const backend of testBackends())
  describe(`streams on ${backend.name}`, () => {
    const server = ownServer(backend)

    it('streams: pieces are stored, readers see the text so far, and the end is an edit', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      expect(await append(alice, bob, { msg_id, index: 1, text: 'Hel' })).toEqual({
        next_index: 2,
        length: 3,
        cancel: false,
      })
      await append(alice, bob, { msg_id, index: 2, text: 'lo 🙂' })
      const open = { kind: 'markdown', state: 'open', next_index: 3, text: 'Hello 🙂' }
      expect(await shown(bob, alice.id, msg_id)).toMatchObject({ content: '…', stream: open })
      const page = await historyPage(bob.api, alice.id, { limit: 1 })
      expect(page.messages[0]).toMatchObject({ content: '…', stream: open })
      const ended = { state: 'done', reason: 'stop' }
      expect(await append(alice, bob, { msg_id, index: 3, text: '!', end: ended })).toMatchObject({
        next_index: 4,
        length: 9,
      })
      const message = await shown(bob, alice.id, msg_id)
      expect(message).toMatchObject({
        content: 'Hello 🙂!',
        stream: { kind: 'markdown', ...ended },
      })
      expect(message.edit_timestamp).toBeGreaterThan(0)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('streams: the last piece again is a success and stored once, any other index is refused', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      const first = { msg_id, index: 1, text: 'a' }
      await append(alice, bob, first)
      expect(await append(alice, bob, first)).toMatchObject({ next_index: 2, length: 1 })
      for (const [index, text] of [
        [1, 'b'],
        [3, 'c'],
      ] as const)
        expect(await append(alice, bob, { msg_id, index, text })).toBe(answerCode.stream_refused)
      const last = { msg_id, index: 2, text: 'z', end: { state: 'done' } }
      await append(alice, bob, last)
      expect(await append(alice, bob, last)).toMatchObject({ next_index: 3, length: 2 })
      expect(await append(alice, bob, { msg_id, index: 3, text: 'more' })).toBe(
        answerCode.stream_refused,
      )
      expect(await shown(bob, alice.id, msg_id)).toMatchObject({ content: 'az' })
    })

    it('streams: a refusal says which index is next and how the message stands, on both transports', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      using client = await GatewayClient.connect(server.url)
      await client.open({ appId: server.appId, accessToken: alice.token })
      const refused = async (index: number, position: object, more: object = {}) => {
        const body = { conversation_id: bob.id, type: 1, msg_id, index, text: 'b', ...more }
        const failure = { code: answerCode.stream_refused, data: null, ...position }
        const { envelope } = await alice.api.call('POST', '/message/stream/append', { body })
        expect(envelope).toMatchObject(failure)
        expect(await client.call('message.stream.append', body)).toMatchObject(failure)
      }
      await refused(2, { next_index: 1, state: 'open' })
      await append(alice, bob, { msg_id, index: 1, text: 'a', end: { state: 'failed' } })
      await refused(1, { next_index: 2, state: 'failed' })
      await recall(alice.api, bob.id, msg_id)
      await refused(2, { next_index: 2, state: 'recalled' })
      await refused(2, { next_index: 2, state: 'recalled' }, { end: { state: 'done' } })
    })

    it('streams: an end that names a piece that is stored already ends the message', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      await append(alice, bob, { msg_id, index: 1, text: 'all' })
      const end = { state: 'failed', reason: 'quota', content: 'none', ext: '{"a":1}' }
      expect(await append(alice, bob, { msg_id, index: 1, text: 'all', end })).toMatchObject({
        next_index: 2,
      })
      expect(await shown(bob, alice.id, msg_id)).toMatchObject({
        ...{ content: 'none', ext: '{"a":1}' },
        stream: { state: 'failed', reason: 'quota' },
      })
    })

    it('streams: only the sender appends, and who may not send may not append', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const msg_id = await begin(alice, bob)
      const piece = { msg_id, index: 1, text: 'x' }
      expect(await append(bob, alice, piece)).toBe(answerCode.message_not_found)
      expect(await append(carol, bob, piece)).toBe(answerCode.message_not_found)
      const admin = { api: server.api.admin() }
      expect(await append(admin, bob, { ...piece, from_user_id: alice.id })).toMatchObject({
        next_index: 2,
      })
      await bob.api.succeed('POST', '/roster/block', { body: { user_id: alice.id } })
      expect(await append(alice, bob, { msg_id, index: 2, text: 'y' })).toBe(
        answerCode.blocked_by_recipient,
      )
    })

    it('streams: pieces are bounded, and so are their pace, their sum and the open ones', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      const refuse = (text: string) => append(alice, bob, { msg_id, index: 1, text })
      expect(await refuse('x'.repeat(8_193))).toBe(answerCode.invalid_parameter)
      expect(await refuse('\ud83d')).toBe(answerCode.invalid_parameter)
      server.clock.stop()
      try {
        for (let index = 1; index <= 7; index++)
          await append(alice, bob, { msg_id, index, text: 'x'.repeat(8_192) })
        expect(
          await append(alice, bob, { msg_id, index: 8, text: 'x'.repeat(8_192) }),
        ).toMatchObject({
          next_index: 9,
        })
        expect(await append(alice, bob, { msg_id, index: 9, text: 'x' })).toBe(
          answerCode.message_too_large,
        )
        for (let index = 9; index <= 20; index++)
          await append(alice, bob, { msg_id, index, text: '' })
        expect(await append(alice, bob, { msg_id, index: 21, text: '' })).toBe(
          answerCode.too_many_requests,
        )
      } finally {
        server.clock.go()
      }
      for (let count = 1; count < 10; count++) await begin(alice, bob)
      const many = await alice.api.call('POST', '/message/send', {
        body: {
          targets: [bob.id],
          type: 1,
          content_type: 0,
          content: '',
          stream: { kind: 'text' },
        },
      })
      expect(many.code).toBe(answerCode.too_many_requests)
    })

    it('streams: a page reads a bounded number of pieces, also of empty ones', async () => {
      const [alice, bob] = await sessions(server, 2)
      const [older, newer] = [await begin(alice, bob), await begin(alice, bob)]
      for (const msg_id of [older, newer]) await append(alice, bob, { msg_id, index: 1, text: 'x' })
      const count = 2_100
      await server.sql.run(
        `with recursive piece(i) as (select 2 union all select i + 1 from piece where i < ${count})
        insert into stream_chunks (app_id, low_id, high_id, msg_id, chunk_index, sender_id, content)
        select c.app_id, c.low_id, c.high_id, c.msg_id, i, c.sender_id, '' from piece, stream_chunks c
        where c.msg_id in (${older}, ${newer}) and c.chunk_index = 1`,
      )
      await server.sql.run(
        `update message_streams set next_index = ${count + 1} where msg_id in (${older}, ${newer})`,
      )
      const page = await historyPage(bob.api, alice.id)
      const filled = { state: 'open', next_index: count + 1, text: 'x' }
      expect(page.messages[0]).toMatchObject({ msg_id: newer, stream: filled })
      expect(page.messages[1]).not.toHaveProperty('stream.text')
      for (const msg_id of [older, newer]) {
        const body = { conversation_id: alice.id, type: 1, msg_id, key: '👍', on: true }
        await bob.api.succeed('POST', '/message/reaction', { body })
      }
      const [low_id, high_id] = [Math.min(alice.id, bob.id), Math.max(alice.id, bob.id)]
      const log = { low_id, high_id, is_group: false }
      const { data } = await bob.api.succeed('POST', '/message/changes', {
        body: { log, after_change: 2 },
      })
      expect(data.changes[1].data).toMatchObject({ msg_id: newer, stream: filled })
      expect(data.changes[0].data).not.toHaveProperty('stream.text')
      expect(await shown(bob, alice.id, older)).toMatchObject({ stream: filled })
    })

    it('streams: a send with more targets, another type or online_only begins none', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const body = { type: 1, content_type: 0, content: 'x', stream: { kind: 'text' } }
      for (const more of [
        { targets: [bob.id, carol.id] },
        { targets: [bob.id], content_type: 5 },
        { targets: [bob.id], online_only: true },
      ]) {
        const { code } = await alice.api.call('POST', '/message/send', {
          body: { ...body, ...more },
        })
        expect(code).toBe(answerCode.invalid_parameter)
      }
    })

    it('streams: the system writes none', async () => {
      const [bob] = await sessions(server, 1)
      const body = { targets: [bob.id], type: 1, content_type: 0, content: 'x' }
      const { code } = await server.api
        .admin()
        .call('POST', '/message/send', { body: { ...body, stream: { kind: 'text' } } })
      expect(code).toBe(answerCode.message_type_refused)
    })

    it('streams: an open message is not edited, a recall ends it', async () => {
      const [alice, bob] = await sessions(server, 2)
      const msg_id = await begin(alice, bob)
      const edit = await operate(alice.api, 'append', {
        peer: bob.id,
        message: msg_id,
        content: '!',
      })
      expect(edit.code).toBe(answerCode.message_type_refused)
      await append(alice, bob, { msg_id, index: 1, text: 'x' })
      await recall(alice.api, bob.id, msg_id)
      expect(await append(alice, bob, { msg_id, index: 2, text: 'y' })).toBe(
        answerCode.stream_refused,
      )
      expect(await integrityFaults(server)).toEqual([])
    })

    it('streams: a reader asks to end it, and each later append says so', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const msg_id = await begin(alice, bob)
      const cancel = (api: Api, conversation_id: number) =>
        api.call('POST', '/message/stream/cancel', { body: { conversation_id, msg_id } })
      expect((await cancel(carol.api, bob.id)).code).toBe(answerCode.message_not_found)
      expect((await cancel(bob.api, alice.id)).code).toBe(answerCode.ok)
      expect(await append(alice, bob, { msg_id, index: 1, text: 'x' })).toMatchObject({
        cancel: true,
      })
    })

    it('streams: in a group owner and admins ask to end it, members do not', async () => {
      const [owner, sender, other] = await sessions(server, 3)
      const group = await aGroup(owner, { members: [sender, other] })
      const msg_id = await begin(sender, { id: group, type: 2 })
      const cancel = async (api: Api) =>
        (
          await api.call('POST', '/message/stream/cancel', {
            body: { conversation_id: group, msg_id },
          })
        ).code
      expect(await cancel(other.api)).toBe(answerCode.no_permission)
      expect(await cancel(owner.api)).toBe(answerCode.ok)
      expect(
        await append(sender, { id: group, type: 2 }, { msg_id, index: 1, text: 'x' }),
      ).toMatchObject({ cancel: true })
      await groupCall(owner.api, '/group/destroy', group)
      expect(await append(sender, { id: group, type: 2 }, { msg_id, index: 2, text: 'y' })).toBe(
        answerCode.group_not_found,
      )
    })
  })
