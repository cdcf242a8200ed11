/** Acknowledgements of many at once, of everything and by messages of content_type 9, on both databases. */
import { type Answer, type Api, anyBackend, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { registerPeople } from '../support/contacts.js'
import {
  operateInGroup,
  type RecordedReceipt,
  receipts,
  recordedReads,
  type Speaker,
  sendToGroup,
  speakers,
} from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { messageEvents, operate } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  history,
  historyPage,
  integrityFaults,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const timeoutMs = 120_000

/** A receipt as text, for lists that are compared in any order. */
const receiptText = ({ reader, users, message }: RecordedReceipt) =>
  `${reader} has read ${message} of ${users.join()}`

/** As clients do, repeats a call that was not confirmed: it may wait for locks longer than the service lets it. */
function confirmed(call: () => Promise<Answer>): Promise<Answer> {
  const patience = { what: 'a confirmed call', timeoutMs, everyMs: 100 }
  return waitFor(async () => {
    const answer = await call()
    return answer.code !== answerCode.storage_failed && answer
  }, patience)
}

for (const backend of anyBackend()) {
  describe(`acknowledgements on ${backend.name}`, { timeout: timeoutMs }, () => {
    let watched: InProcessServer

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function aGroupWithReceipts(owner: Speaker, members: readonly Speaker[]) {
      const group = await aGroup(owner, { members })
      expectSuccess(
        await groupCall(owner.api, '/group/settings/enable_read_ack', group, { value: true }),
      )
      return group
    }

    const wanting = (readers: readonly Pick<Speaker, 'id'>[]) => ({
      config: JSON.stringify({ groupMemberList: readers.map(({ id }) => id) }),
    })

    /** The messages that events of one kind told the user's own devices of in a group, oldest event first. */
    async function toldOwn(kind: string, group: number, userId: number): Promise<number[]> {
      return (await recordedEvents(watched.sql, kind))
        .filter((event) => event.kind === kind && event.group === group)
        .filter(({ actor, users }) => actor === userId && users.includes(userId))
        .map(({ content }) => JSON.parse(content).msg_id)
    }

    /** Whether everything was read, and how many events said so. */
    async function readAllEvents(userId: number): Promise<number> {
      const events = await recordedEvents(watched.sql, 'message.read_all')
      return events.filter(({ actor }) => actor === userId).length
    }

    it('of many members of a group at once, beside sends, move marks forward only and tell each sender once', async () => {
      const members = await speakers(watched.server, 12)
      const [owner, ...others] = members as [Speaker, ...Speaker[]]
      const group = await aGroupWithReceipts(owner, others)
      const phones = await Promise.all(
        members.map(async ({ id }) => {
          const user = { id, username: '', password: 'correct horse' }
          return (await watched.server.api.login(user, `phone of ${id}`)).api
        }),
      )
      const sent: { readonly id: number; readonly by: Speaker }[] = []
      const send = async (by: Speaker) => {
        sent.push({ by, id: await sendToGroup(by.api, group, 'x', wanting(members)) })
      }
      /** Reads on, of what was known before; an older message, or one twice, changes nothing. */
      const readOn = async (reader: Speaker, round: number) => {
        const target = (age: number) => sent.at(-1 - age)?.id ?? (sent[0]?.id as number)
        const newest = target(0)
        await Promise.all([
          acknowledge(reader.api, { peer: group, message: target(3) }),
          acknowledge(reader.api, { message: newest }),
          acknowledge(reader.api, { peer: group, message: newest }),
          round % 3 === 0 ? acknowledge(reader.api, { peer: group }) : undefined,
          round % 4 === 1 ? acknowledge(reader.api) : undefined,
        ])
        const shown = await history(reader.api, group)
        expect(
          shown.filter(
            ({ msg_id, from_xid, status }) =>
              msg_id <= newest && from_xid.uid !== reader.id && status !== 'READ',
          ),
        ).toEqual([])
      }
      await send(owner)
      const senders = members.slice(0, 3)
      for (let round = 0; round < 8; round++)
        await Promise.all([
          ...senders.map(send),
          ...members.map((reader) => readOn(reader, round)),
          ...phones.map((phone) => historyPage(phone, group, { limit: 5 })),
        ])
      await Promise.all(members.map(({ api }) => acknowledge(api, { peer: group })))

      const expected = sent.flatMap(({ id, by }) =>
        members
          .filter((reader) => reader !== by)
          .map((reader) => receiptText({ reader: reader.id, users: [by.id], message: id })),
      )
      const told = (await receipts(watched.sql, group)).map(receiptText)
      expect(told.toSorted()).toEqual(expected.toSorted())
      for (const { id } of members)
        for (const kind of ['message.read', 'message.delivered']) {
          const messages = await toldOwn(kind, group, id)
          // Of its own, not one after another: each is further than all before it.
          expect(messages, `${kind} of ${id}`).toEqual(
            [...new Set(messages)].toSorted((a, b) => a - b),
          )
        }
      for (const { api } of members) {
        expect((await unreadCounts(api))[group] ?? 0).toBe(0)
        expect(new Set((await history(api, group)).map(({ status }) => status))).toEqual(
          new Set(['READ']),
        )
      }
      expect(await integrityFaults(watched.server)).toEqual([])
    })

    describe('of everything', () => {
      const directCount = 120
      const groupCount = 115
      /** Of the groups, how many ask for receipts. */
      const askingCount = 20
      let reader: Speaker
      let author: Speaker
      let peers: readonly { readonly id: number; readonly api: Api }[]
      let groups: readonly number[]
      /** The message that everybody has sent last, by who has sent it, or by its group. */
      const latest = new Map<number, number>()

      async function sendEverywhere() {
        await Promise.all([
          ...peers.map(async ({ id, api }) => {
            latest.set(id, await sendText(api, reader.id, 'x'))
          }),
          ...groups.map(async (group) => {
            latest.set(group, await sendToGroup(author.api, group, 'x', wanting([reader])))
          }),
        ])
      }

      /** What was told in the direct conversations of the reader since some events were there. */
      const directReads = async (after: number) =>
        (await recordedEvents(watched.sql, 'message.read'))
          .filter(({ kind, actor }) => kind === 'message.read' && actor === reader.id)
          .filter(({ group }) => group === undefined)
          .map(({ users, content }) => ({ users, messageId: Number(JSON.parse(content).msg_id) }))
          .slice(after)

      beforeAll(async () => {
        ;[reader, author] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
        peers = await registerPeople(watched.server, directCount)
        groups = await Promise.all(
          Array.from({ length: groupCount }, (_, index) =>
            index < askingCount
              ? aGroupWithReceipts(author, [reader])
              : aGroup(author, { members: [reader] }),
          ),
        )
        await sendEverywhere()
      }, timeoutMs)

      async function askedReceipts(): Promise<RecordedReceipt[]> {
        const all: RecordedReceipt[] = []
        for (const group of groups.slice(0, askingCount))
          all.push(...(await receipts(watched.sql, group)))
        return all
      }

      it('reads hundreds of conversations: one announcement, then an event for each mark and receipt', async () => {
        expect(Object.keys(await unreadCounts(reader.api))).toHaveLength(directCount + groupCount)
        await acknowledge(reader.api)
        expect(await unreadCounts(reader.api)).toEqual({})
        const own = (await recordedEvents(watched.sql, 'message.read')).filter(
          ({ actor }) => actor === reader.id,
        )
        expect(own.map(({ kind }) => kind)).toEqual([
          'message.read_all',
          ...Array(directCount + groupCount + askingCount).fill('message.read'),
        ])
        expect((await directReads(0)).map(({ users, messageId }) => [users, messageId])).toEqual(
          expect.arrayContaining(
            peers.map(({ id }) => [expect.arrayContaining([id, reader.id]), latest.get(id)]),
          ),
        )
        expect((await askedReceipts()).map(receiptText)).toEqual(
          groups.slice(0, askingCount).map((group) =>
            receiptText({
              reader: reader.id,
              users: [author.id],
              message: latest.get(group) as number,
            }),
          ),
        )
        for (const group of groups)
          expect(await toldOwn('message.read', group, reader.id)).toEqual([latest.get(group)])
        await acknowledge(reader.api)
        expect(await readAllEvents(reader.id)).toBe(1)
      })

      it('on several devices at once tells each sender once', async () => {
        await sendEverywhere()
        const before = { all: await readAllEvents(reader.id), receipts: await askedReceipts() }
        const first = groups[0] as number
        await Promise.all([
          ...Array.from({ length: 4 }, () => acknowledge(reader.api)),
          acknowledge(reader.api, { peer: first }),
          acknowledge(reader.api, { peer: peers[0]?.id as number }),
        ])
        expect(await unreadCounts(reader.api)).toEqual({})
        const direct = (await directReads(directCount)).map(({ messageId }) => messageId)
        expect(direct.toSorted()).toEqual(
          peers.map(({ id }) => latest.get(id) as number).toSorted(),
        )
        const told = (await askedReceipts()).map(receiptText)
        const added = groups.slice(0, askingCount).map((group) =>
          receiptText({
            reader: reader.id,
            users: [author.id],
            message: latest.get(group) as number,
          }),
        )
        expect(told.toSorted()).toEqual([...before.receipts.map(receiptText), ...added].toSorted())
        expect(await readAllEvents(reader.id)).toBeGreaterThan(before.all)
        expect(await readAllEvents(reader.id)).toBeLessThanOrEqual(before.all + 4)
        expect(await integrityFaults(watched.server)).toEqual([])
      })
    })

    describe('by a message of content_type 9', () => {
      it('in a group are made once by a transaction_id, also when it comes many times at once', async () => {
        const [alice, bob] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
        const group = await aGroupWithReceipts(alice, [bob])
        const message = await sendToGroup(alice.api, group, '1', wanting([bob]))
        const receipt = { group, message, transaction_id: 31 }
        const answers = await Promise.all(
          Array.from({ length: 10 }, () =>
            confirmed(() => operateInGroup(bob.api, 'readAck', receipt)),
          ),
        )
        for (const { envelope } of answers)
          expect(envelope).toEqual({ code: 200, data: true, message: null })
        expect(await recordedReads(watched.sql, group)).toEqual([
          { reader: bob.id, users: [bob.id], message },
          { reader: bob.id, users: [alice.id], message },
        ])
        const later = await sendToGroup(alice.api, group, '2', wanting([bob]))
        const repeat = await operateInGroup(bob.api, 'readAck', { ...receipt, message: later })
        expect(repeat.code).toBe(200)
        expect((await unreadCounts(bob.api))[group]).toBe(1)
        expect(
          (await operateInGroup(bob.api, 'readAck', { group, message: later, transaction_id: 32 }))
            .code,
        ).toBe(200)
        expect((await unreadCounts(bob.api))[group]).toBeUndefined()
      })

      it('between two users are made once by a transaction_id, which they share with sends', async () => {
        const [alice, bob] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
        const message = await sendText(alice.api, bob.id, '1')
        const receipt = { peer: alice.id, message, transaction_id: 41 }
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => confirmed(() => operate(bob.api, 'readAck', receipt))),
        )
        expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 200))
        expect(await messageEvents(watched.sql, alice.id)).toMatchObject([
          { kind: 'message.read', actor: bob.id, messageId: message },
        ])
        const later = await sendText(alice.api, bob.id, '2')
        await sendText(bob.api, alice.id, 'taken', { transaction_id: 42 })
        const last = await sendText(alice.api, bob.id, '3')
        for (const transaction_id of [41, 42])
          expect(
            (await operate(bob.api, 'readAck', { peer: alice.id, message: last, transaction_id }))
              .code,
          ).toBe(200)
        expect(last).toBeGreaterThan(later)
        expect((await unreadCounts(bob.api))[alice.id]).toBe(1)
      })

      it('that are refused are not remembered', async () => {
        const [alice, bob] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
        const group = await aGroupWithReceipts(alice, [bob])
        const message = await sendToGroup(alice.api, group, '1')
        const receipt = (related: number) =>
          operateInGroup(bob.api, 'readAck', { group, message: related, transaction_id: 51 })
        expect((await receipt(message + 1)).code).toBe(answerCode.message_not_found)
        expect((await unreadCounts(bob.api))[group]).toBe(1)
        expect((await receipt(message)).code).toBe(200)
        expect((await unreadCounts(bob.api))[group]).toBeUndefined()
      })
    })

    it('show in the metrics how they were committed', async () => {
      const [alice, bob] = (await speakers(watched.server, 2)) as [Speaker, Speaker]
      const figure = async (name: string) => {
        const { text } = await watched.server.api.call('GET', '/metrics')
        return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
      }
      const before = {
        batches: await figure('hermod_position_commit_duration_seconds_count'),
        moves: await figure('hermod_position_batch_moves_sum'),
      }
      await sendText(alice.api, bob.id, 'x')
      await acknowledge(bob.api, { peer: alice.id })
      await acknowledge(bob.api, { peer: alice.id })
      expect(await figure('hermod_position_commit_duration_seconds_count')).toBe(before.batches + 1)
      expect(await figure('hermod_position_batch_moves_sum')).toBe(before.moves + 1)
      expect(await figure('hermod_position_queue_moves')).toBe(0)
      expect(await figure('hermod_position_commit_failures_total')).toBe(0)
    })
  })
}
