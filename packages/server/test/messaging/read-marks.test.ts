import { type Api, anyBackend, type Session } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import {
  acknowledge,
  history,
  integrityFaults,
  notify,
  sendText,
  sessions,
  statuses,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

/** Positive and never issued. */
const nobody = 1

describe.each(anyBackend())('read marks on $name', (backend) => {
  const server = ownServer(backend)

  it('show the receiver what is read, and the sender what the peer has read', async () => {
    const [alice, bob] = await sessions(server, 2)
    const ids = [
      await sendText(alice.api, bob.id, '1'),
      await sendText(alice.api, bob.id, '2'),
      await sendText(alice.api, bob.id, '3'),
    ]
    expect(await statuses(alice.api, bob.id)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
    expect(await statuses(bob.api, alice.id)).toEqual(['UNREAD', 'UNREAD', 'UNREAD'])
    await acknowledge(bob.api, { peer: alice.id, message: ids[1] as number })
    expect(await statuses(alice.api, bob.id)).toEqual(['UNREAD', 'READ', 'READ'])
    expect(await statuses(bob.api, alice.id)).toEqual(['UNREAD', 'READ', 'READ'])
    await acknowledge(bob.api, { peer: alice.id })
    expect(await statuses(alice.api, bob.id)).toEqual(['READ', 'READ', 'READ'])
  })

  it('of the sender move with sending, so that an answer reads what it answers', async () => {
    const [alice, bob] = await sessions(server, 2)
    await sendText(alice.api, bob.id, 'question')
    await sendText(alice.api, bob.id, 'another')
    await sendText(bob.api, alice.id, 'answer')
    await sendText(alice.api, bob.id, 'thanks')
    expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
    expect(await unreadCounts(alice.api)).toEqual({})
    expect(await statuses(alice.api, bob.id)).toEqual(['UNREAD', 'READ', 'READ', 'READ'])
  })

  it('count the unread messages of every conversation', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
    await sendText(alice.api, carol.id, 'a1')
    await sendText(bob.api, carol.id, 'b1')
    await sendText(bob.api, carol.id, 'b2')
    await notify(server.api.admin(), carol.id, 's')
    expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1, [bob.id]: 2, 0: 1 })
    expect(await unreadCounts(alice.api)).toEqual({})
  })

  it('move up to a message of a named conversation, to its end, up to a message of any, and to the end of all', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
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
    const [alice, bob] = await sessions(server, 2)
    const first = await sendText(alice.api, bob.id, '1')
    await sendText(alice.api, bob.id, '2')
    await acknowledge(bob.api)
    await acknowledge(bob.api, { message: first })
    expect(await unreadCounts(bob.api)).toEqual({})
    expect(await statuses(alice.api, bob.id)).toEqual(['READ', 'READ'])
  })

  it('reach the end under many concurrent acks, pages and sends, and each step forward is told once', async () => {
    const couples = await Promise.all(Array.from({ length: 4 }, () => sessions(server, 2)))
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
    const told = await recordedEvents(server.sql, 'message.')
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
    const [alice, bob] = await sessions(server, 2)
    const first = await sendText(alice.api, bob.id, '1')
    await sendText(alice.api, bob.id, '2')
    await acknowledge(bob.api, { peer: alice.id })
    await history(bob.api, alice.id)
    const told = async () =>
      (await recordedEvents(server.sql, 'message.')).filter(({ actor }) => actor === bob.id)
    const before = await told()
    await acknowledge(bob.api, { peer: alice.id })
    await acknowledge(bob.api, { peer: alice.id, message: first })
    await acknowledge(bob.api, { message: first })
    await history(bob.api, alice.id)
    expect(await told()).toEqual(before)
  })

  it('may be moved from a device and up to a message of one’s own', async () => {
    const [alice, bob] = await sessions(server, 2)
    await sendText(bob.api, alice.id, 'theirs')
    const own = await sendText(server.api.admin({ userId: alice.id }), bob.id, 'own')
    await alice.api.succeed('GET', '/message/ack', {
      query: { conversation_id: bob.id, msg_id: own, device_sn: 1 },
    })
    expect(await unreadCounts(alice.api)).toEqual({})
    expect(await unreadCounts(bob.api)).toEqual({ [alice.id]: 1 })
  })

  it('of one user move for nobody else', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
    await alice.api.succeed('POST', '/message/send', {
      body: textTo([bob.id, carol.id], 'to both'),
    })
    await acknowledge(bob.api)
    expect(await unreadCounts(carol.api)).toEqual({ [alice.id]: 1 })
    expect((await history(alice.api, bob.id))[0]?.status).toBe('READ')
    expect((await history(alice.api, carol.id))[0]?.status).toBe('UNREAD')
  })

  it('cannot be set to what is not there', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
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
      const [alice, bob] = await sessions(server, 2)
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
      expect(await statuses(alice.api, bob.id)).toEqual(['UNREAD', 'READ'])
    }
  })

  it('stay where they are when somebody is notified in a user’s name', async () => {
    const [alice, bob] = await sessions(server, 2)
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
    expect(await statuses(bob.api, alice.id)).toEqual(['UNREAD', 'UNREAD', 'READ', 'UNREAD'])
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
    const [alice] = await sessions(server, 1)
    await acknowledge(alice.api)
    expect(await unreadCounts(alice.api)).toEqual({})
  })
})
