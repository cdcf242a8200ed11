/** Read receipts in groups. */
import { type Api, anyBackend } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  receipts,
  recordedReads,
  type Speaker,
  sendToGroup,
  speakers,
} from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, type GroupOptions, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { recall } from '../support/messaging/message-operations.js'
import { acknowledge, integrityFaults, unreadCounts } from '../support/messaging/messaging.js'

describe.each(anyBackend())('receipts in groups on $name', (backend) => {
  const server = ownServer(backend)
  let people: readonly Speaker[]
  let alice: Speaker
  let bob: Speaker
  let carol: Speaker

  beforeAll(async () => {
    people = await speakers(server, 20)
    ;[alice, bob, carol] = people as [Speaker, Speaker, Speaker]
  })

  /** Of alice, with bob and carol. */
  const trio = (options: GroupOptions = {}) => aGroup(alice, { members: [bob, carol], ...options })

  const change = async (api: Api, path: string, group: number, params: object = {}) => {
    expectSuccess(await groupCall(api, path, group, params))
  }

  const setting = (group: number, name: string, value: unknown) =>
    change(alice.api, `/group/settings/${name}`, group, { value })

  const unread = async (user: Speaker, group: number) => (await unreadCounts(user.api))[group] ?? 0

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

  it('nothing is left that does not agree', async () => {
    expect(await integrityFaults(server)).toEqual([])
  })
})
