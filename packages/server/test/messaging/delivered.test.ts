/** Delivery receipts of direct conversations (rules E6, E14a). */
import { type Answer, type Api, anyBackend } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { type Speaker, sendToGroup, speakers } from '../support/groups/group-messaging.js'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { recall } from '../support/messaging/message-operations.js'
import { acknowledge, history, integrityFaults, sendText } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

type Mark = readonly [conversationId: number | bigint, seq: number]

for (const backend of anyBackend()) {
  describe(`delivery receipts on ${backend.name}`, () => {
    let watched: InProcessServer

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
    })

    afterAll(async () => {
      expect(await integrityFaults(watched.server)).toEqual([])
      await watched?.[Symbol.asyncDispose]()
    })

    const people = (count: number) => speakers(watched.server, count)

    function confirm(api: Api, ...marks: readonly Mark[]): Promise<Answer> {
      const conversations = marks.map(([conversation_id, seq]) => ({ conversation_id, seq }))
      return api.call('POST', '/message/delivered', { body: { conversations } })
    }

    /** The statuses of messages as their sender sees them, oldest first. */
    async function statuses(sender: Speaker, receiver: Speaker): Promise<string[]> {
      const messages = await history(sender.api, receiver.id)
      return messages.map(({ status }) => status).reverse()
    }

    /** The messages up to which the senders were told that a user has got theirs, by conversation. */
    async function told(userId: number): Promise<string[]> {
      const events = await recordedEvents(watched.sql, 'message.delivered')
      return events.filter(({ actor }) => actor === userId).map(({ content }) => content)
    }

    async function threeMessages(from: Speaker, to: Speaker): Promise<number[]> {
      const ids: number[] = []
      for (const text of ['one', 'two', 'three']) ids.push(await sendText(from.api, to.id, text))
      return ids
    }

    it('move the status of all messages up to the position, and tell the sender once', async () => {
      const [alice, bob] = (await people(2)) as [Speaker, Speaker]
      const [, second] = await threeMessages(alice, bob)
      expect(await confirm(bob.api, [alice.id, 2])).toMatchObject({ code: 200, data: true })
      expect(await statuses(alice, bob)).toEqual(['DELIVERED', 'DELIVERED', 'UNREAD'])
      for (const seq of [2, 1, 0]) await confirm(bob.api, [alice.id, seq])
      expect((await told(bob.id)).map((text) => JSON.parse(text).msg_id)).toEqual([second])
      expect(await statuses(bob, alice)).toEqual(['DELIVERED', 'DELIVERED', 'UNREAD'])
    })

    it('take a position beyond the end as the end, and hold no message that comes later', async () => {
      const [alice, bob] = (await people(2)) as [Speaker, Speaker]
      await threeMessages(alice, bob)
      expect((await confirm(bob.api, [alice.id, 1_000_000])).code).toBe(200)
      await sendText(alice.api, bob.id, 'four')
      expect(await statuses(alice, bob)).toEqual(['DELIVERED', 'DELIVERED', 'DELIVERED', 'UNREAD'])
    })

    it('count the position of a recalled message', async () => {
      const [alice, bob] = (await people(2)) as [Speaker, Speaker]
      const [first, second = 0] = await threeMessages(alice, bob)
      await recall(alice.api, bob.id, second)
      expect((await confirm(bob.api, [alice.id, 2])).code).toBe(200)
      expect(await statuses(alice, bob)).toEqual(['DELIVERED', 'UNREAD'])
      expect((await told(bob.id)).map((text) => JSON.parse(text).msg_id)).toEqual([first])
    })

    it('leave messages that were read before as read', async () => {
      const [alice, bob] = (await people(2)) as [Speaker, Speaker]
      const [first = 0] = await threeMessages(alice, bob)
      await acknowledge(bob.api, { peer: alice.id, message: first })
      await confirm(bob.api, [alice.id, 2])
      expect(await statuses(alice, bob)).toEqual(['READ', 'DELIVERED', 'UNREAD'])
    })

    it('of many conversations are taken together; a group and an unknown ID are refused by name', async () => {
      const [bob, ...others] = (await people(4)) as [Speaker, ...Speaker[]]
      const [carol, dave, stranger] = others as [Speaker, Speaker, Speaker]
      const group = await aGroup(carol, { members: [bob] })
      await sendToGroup(carol.api, group, 'to all')
      await sendText(carol.api, bob.id, 'one')
      await sendText(dave.api, bob.id, 'two')
      const answer = await confirm(
        bob.api,
        [carol.id, 1],
        [group, 1],
        [dave.id, 1],
        [77, 1],
        [stranger.id, 1],
      )
      expect(answer).toMatchObject({ code: 200, data: true })
      expect(answer.envelope.fails).toMatchObject([
        { target: group, code: answerCode.invalid_parameter },
        { target: 77, code: answerCode.conversation_not_found },
      ])
      expect(answer.envelope.fails[0].reason).toContain('groups have no delivery receipts')
      expect(await statuses(carol, bob)).toEqual(['DELIVERED'])
      expect(await statuses(dave, bob)).toEqual(['DELIVERED'])
      expect(await told(bob.id)).toHaveLength(2)
    })

    it('refuse bad lists with the name of the field, and change nothing', async () => {
      const [alice, bob] = (await people(2)) as [Speaker, Speaker]
      await sendText(alice.api, bob.id, 'one')
      const many = Array.from({ length: 101 }, (): Mark => [alice.id, 1])
      const bad: readonly [unknown, string][] = [
        [undefined, 'conversations'],
        [[], 'conversations'],
        [many.map(([conversation_id, seq]) => ({ conversation_id, seq })), 'conversations'],
        [[{ conversation_id: alice.id }], 'seq'],
        [[{ seq: 1 }], 'conversation_id'],
        [[{ conversation_id: alice.id, seq: -1 }], 'seq'],
        [[{ conversation_id: alice.id, seq: 1.5 }], 'seq'],
      ]
      for (const [conversations, field] of bad) {
        const answer = await bob.api.call('POST', '/message/delivered', { body: { conversations } })
        expect(answer.code, field).toBe(answerCode.invalid_parameter)
        expect(answer.envelope.message, field).toContain(field)
      }
      expect(await statuses(alice, bob)).toEqual(['UNREAD'])
      expect((await confirm(bob.api, [alice.id, 2 ** 53 - 1])).code).toBe(200)
    })
  })
}
