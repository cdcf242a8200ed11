/** Following the changes of a conversation (decision page 027). */
import { type Api, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveredEvent } from '../../dist/outbox/consumer.js'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import type { Sql } from '../support/database/sql.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { broadcast } from '../support/messaging/broadcasts.js'
import {
  type ChangesOfLog,
  ChangeReader,
  type KnownMessage,
  Replica,
} from '../support/messaging/change-reader.js'
import { FieldChanges } from '../support/messaging/field-changes.js'
import { aMoment, keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  deleteConversation,
  history,
  integrityFaults,
  sendText,
} from '../support/messaging/messaging.js'
import { Random } from '../support/random.js'

/** HERMOD_TEST_SEED repeats a run as far as the choices of the test go. */
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_101)

/** What is in the log of changes, in their order. */
interface Logged {
  readonly kind: 'stored' | 'edited' | 'updated' | 'recalled'
  readonly id: number
}

const step = fc.record({
  what: fc.oneof(
    { weight: 3, arbitrary: fc.constant('stored' as const) },
    { weight: 3, arbitrary: fc.constant('edited' as const) },
    { weight: 3, arbitrary: fc.constant('updated' as const) },
    { weight: 1, arbitrary: fc.constant('recalled' as const) },
  ),
  /** Which of the messages that are there; sent by the one or by the other. */
  which: fc.nat(30),
  isByFirst: fc.boolean(),
})

/** The numbers of a page, without those of messages that are gone and of edits before the latest one. */
function due(log: readonly Logged[], after: number, next: number) {
  const seqs = new Map<number, number>()
  for (const { kind, id } of log) if (kind === 'stored') seqs.set(id, seqs.size + 1)
  return log
    .map(({ kind, id }, index) => {
      const change = index + 1
      const isLatest = log.findLastIndex((other) => other.id === id) === index
      const isGone = log.some((other) => other.id === id && other.kind === 'recalled')
      if (kind === 'stored') return isGone ? { change, seq: seqs.get(id) } : { change, kind, id }
      if (!isLatest) return { change, seq: null }
      // A page has the whole message after any alteration.
      return { change, kind: kind === 'updated' ? 'edited' : kind, id }
    })
    .slice(after, next)
}

function allOf({ changes }: ChangesOfLog) {
  return changes?.map((each) => {
    const { change, kind } = each
    if (each.kind === 'skipped') return { change, seq: each.recalled?.seq ?? null }
    const id = each.kind === 'recalled' ? each.tombstone.messageId : each.message.messageId
    return { change, kind, id }
  })
}

/** The numbers of a page one by one. */
function expanded(page: ChangesOfLog): ChangesOfLog {
  const changes = (page.changes ?? []).flatMap((each) => {
    const count = each.kind === 'skipped' ? (each.count ?? 1) : 1
    return Array.from({ length: count }, (_, index) =>
      count === 1 ? each : ({ kind: 'skipped', change: each.change - count + 1 + index } as const),
    )
  })
  return { ...page, changes }
}

/** Without the numbers that are skipped. */
function shown(page: ChangesOfLog) {
  return allOf(page)?.filter(({ kind }) => kind !== undefined)
}

const eventKinds = {
  stored: 'message.stored',
  edited: 'message.appended',
  updated: 'message.updated',
  recalled: 'message.recalled',
} as const

/**
 * One event for each number, with the present text. A recalled message is skipped, and its position
 * is still named.
 */
function eventsDue(log: readonly Logged[], contents: ReadonlyMap<number, string>) {
  const stored = log.filter(({ kind }) => kind === 'stored').map(({ id }) => id)
  return log.map(({ kind, id }, index) => {
    const isGone = kind !== 'recalled' && !contents.has(id)
    return {
      change: index + 1,
      kind: isGone ? 'change.skipped' : eventKinds[kind],
      seq: stored.indexOf(id) + 1,
      ...(!isGone && { id }),
      ...(!isGone && ['stored', 'edited'].includes(kind) && { content: contents.get(id) }),
    }
  })
}

function eventShown({ change, kind, payload }: DeliveredEvent) {
  return {
    change,
    kind,
    ...('seq' in payload && { seq: payload.seq }),
    ...('msg_id' in payload && { id: payload.msg_id }),
    ...('content' in payload && { content: payload.content }),
  }
}

async function known(api: Api, peer: number): Promise<KnownMessage[]> {
  return (await history(api, peer)).map(({ msg_id, content, edit_timestamp }) => ({
    id: Number(msg_id),
    content,
    editedAt: Number(edit_timestamp),
  }))
}

for (const backend of testBackends()) {
  describe(`changes of a conversation on ${backend.name}`, () => {
    let watched: InProcessServer
    let server: InProcessServer
    let sql: Sql
    let reader: ChangeReader
    let retention: Retention
    let fieldChanges: FieldChanges
    let people: PeoplePool

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      server = watched.server
      sql = watched.sql
      people = new PeoplePool(server, 60)
      reader = new ChangeReader(watched.place)
      retention = new Retention(watched.place)
      fieldChanges = new FieldChanges(watched.place)
      await keepHistory(server.api.as(server.operatorToken), 'test', 1)
    })

    afterAll(async () => {
      await fieldChanges?.[Symbol.asyncDispose]()
      await retention?.[Symbol.asyncDispose]()
      await reader?.[Symbol.asyncDispose]()
      await watched?.[Symbol.asyncDispose]()
    })

    const pair = async () => (await people.take(2)) as [Person, Person]

    const conversationOf = (a: number, b: number) =>
      `low_id = ${Math.min(a, b)} and high_id = ${Math.max(a, b)}`

    it('changes: from any position each number has an entry', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        fc.array(step, { maxLength: 20, size: 'max' }),
        fc.integer({ min: 1, max: 12 }),
        async (steps, limit) => {
          const [alice, bob] = await pair()
          await reader.skipEvents()
          const log: Logged[] = []
          const senders = new Map<number, Person>()
          for (const { what, which, isByFirst } of steps) {
            const there = [...senders.keys()]
            const id = there[which % Math.max(there.length, 1)]
            if (what === 'stored' || id === undefined) {
              const sender = isByFirst ? alice : bob
              const sent = await sendText(sender.api, sender === alice ? bob.id : alice.id, 'text')
              senders.set(sent, sender)
              log.push({ kind: 'stored', id: sent })
              continue
            }
            const sender = senders.get(id) as Person
            const peer = sender === alice ? bob.id : alice.id
            if (what === 'updated') {
              const set = { pinned: { by: sender.id, at: log.length } }
              const change = { messageId: id, actorId: sender.id, set }
              await fieldChanges.direct('test', [alice.id, bob.id], change)
              log.push({ kind: what, id })
              continue
            }
            const answer =
              what === 'edited'
                ? await operate(sender.api, 'append', { peer, message: id, content: '+' })
                : await recall(sender.api, peer, id)
            expect(answer.code).toBe(200)
            if (what === 'recalled') senders.delete(id)
            log.push({ kind: what, id })
          }
          for (let after = 0; after <= log.length; after++) {
            const page = await reader.changesAfter(alice.id, bob.id, after, limit)
            const next = Math.min(after + limit, log.length)
            expect(page).toMatchObject({ next, end: log.length, hiddenMessageId: 0 })
            expect(allOf(page)).toEqual(due(log, after, next))
            const joined = await reader.joinedAfter(alice.id, bob.id, after, limit)
            expect(allOf(expanded(joined))).toEqual(due(log, after, joined.next))
            expect(joined.next).toBeGreaterThanOrEqual(next)
            expect(joined.changes?.length).toBeLessThanOrEqual(limit)
          }
          for (const beyond of [-1, log.length + 1])
            expect(await reader.changesAfter(alice.id, bob.id, beyond)).toMatchObject({
              changes: null,
              end: log.length,
              next: log.length,
            })
          const replica = new Replica(reader, bob.id, alice.id)
          await replica.followToEnd(limit)
          expect(replica.messages).toEqual(await known(bob.api, alice.id))
          const contents = new Map(replica.messages.map((message) => [message.id, message.content]))
          const events = await reader.numberedEvents(alice.id)
          expect(events.map(eventShown)).toEqual(eventsDue(log, contents))
        },
      )
      await checkProperty(backend, property)
    })

    it('changes: every replica equals the history after simultaneous calls', {
      timeout: 300_000,
    }, async () => {
      const [alice, bob, carol] = (await people.take(3)) as [Person, Person, Person]
      const group = await aGroup(alice, { members: [bob, carol] })
      const random = new Random(seed)
      const done = { direct: 0, group: 0 }
      let areWriting = true

      /** Sends, edits and recalls what it has sent. */
      async function write(sender: Person, peer: number, type: 1 | 2): Promise<void> {
        const own: number[] = []
        for (let number = 0; number < 25; number++) {
          const at = random.integer(0, own.length - 1)
          const message = own[at]
          const isNew = message === undefined || random.chance(0.4)
          if (isNew) own.push(await sendText(sender.api, peer, `${sender.id} ${number}`, { type }))
          else if (random.chance(0.7))
            expect(
              (await operate(sender.api, 'append', { peer, message, content: '+', type })).code,
            ).toBe(200)
          else {
            expect((await recall(sender.api, peer, message)).code).toBe(200)
            own.splice(at, 1)
          }
          done[type === 1 ? 'direct' : 'group']++
        }
      }

      /** Follows at moments and in steps of its own, and keeps what it knew. */
      async function follow(replica: Replica): Promise<readonly Replica[]> {
        const copies = [replica.copy()]
        while (areWriting) {
          // Reads of the embedded database never wait, so the writers get their turn here.
          await new Promise((resolve) => setImmediate(resolve))
          await replica.follow(random.integer(1, 20))
          if (random.chance(0.1)) copies.push(replica.copy())
        }
        return [replica, ...copies]
      }

      const readers: readonly (readonly [Person, number])[] = [
        [alice, bob.id],
        [bob, alice.id],
        [alice, group],
        [carol, group],
      ]
      const following = readers.map(([user, peer]) => follow(new Replica(reader, user.id, peer)))
      await Promise.all([
        ...[alice, alice, bob, bob].map((sender) =>
          write(sender, sender === alice ? bob.id : alice.id, 1),
        ),
        ...[alice, bob, carol, carol].map((sender) => write(sender, group, 2)),
      ])
      areWriting = false
      for (const [index, replicas] of (await Promise.all(following)).entries()) {
        const [user, peer] = readers[index] as (typeof readers)[number]
        const expected = await known(user.api, peer)
        for (const replica of replicas) {
          await replica.followToEnd(random.integer(1, 100))
          expect(replica.messages, `seed ${random.seed}`).toEqual(expected)
        }
        const { end } = await reader.changesAfter(user.id, peer, 0)
        expect(end).toBe(peer === group ? done.group : done.direct)
      }
      expect(await integrityFaults(server)).toEqual([])
    })

    it('changes: hidden messages are left out and their position is reported', async () => {
      const [alice, bob] = await pair()
      const first = await sendText(alice.api, bob.id, 'first')
      const second = await sendText(alice.api, bob.id, 'second')
      const replica = new Replica(reader, bob.id, alice.id)
      await replica.followToEnd(100)
      await deleteConversation(bob.api, alice.id)
      await operate(alice.api, 'append', { peer: bob.id, message: first, content: '!' })
      const third = await sendText(alice.api, bob.id, 'third')
      for (const after of [0, 1, 2, 3]) {
        const page = await reader.changesAfter(bob.id, alice.id, after)
        expect(page.hiddenMessageId).toBe(second)
        expect(shown(page)).toEqual([{ change: 4, kind: 'stored', id: third }])
      }
      await replica.followToEnd(1)
      expect(replica.messages).toEqual(await known(bob.api, alice.id))
      expect(shown(await reader.changesAfter(alice.id, bob.id, 0))).toEqual([
        { change: 1, kind: 'stored', id: first },
        { change: 2, kind: 'stored', id: second },
        { change: 3, kind: 'edited', id: first },
        { change: 4, kind: 'stored', id: third },
      ])
    })

    it('changes: a group member sees the same as in the history', async () => {
      const [alice, bob] = await pair()
      const group = await aGroup(alice)
      const before = await sendText(alice.api, group, 'before', { type: 2 })
      const pages = async () => shown(await reader.changesAfter(bob.id, group, 0))
      await expect(pages()).rejects.toMatchObject({ errorName: 'member_required' })
      await expectSuccess(
        await groupCall(alice.api, '/group/admin/member_join', group, { user_list: [bob.id] }),
      )
      const recalled = await sendText(bob.api, group, 'recalled', { type: 2 })
      const after = await sendText(alice.api, group, 'after', { type: 2 })
      await operate(alice.api, 'append', { peer: group, message: before, content: '!', type: 2 })
      await recall(bob.api, group, recalled)
      const since = [
        { change: 3, kind: 'stored', id: after },
        { change: 5, kind: 'recalled', id: recalled },
      ]
      expect(await pages()).toEqual(since)
      expectSuccess(
        await groupCall(alice.api, '/group/settings/history_visible', group, { value: true }),
      )
      expect(await pages()).toEqual([
        { change: 1, kind: 'stored', id: before },
        since[0],
        { change: 4, kind: 'edited', id: before },
        since[1],
      ])
      expectSuccess(await groupCall(alice.api, '/group/kick', group, { user_list: [bob.id] }))
      await expect(pages()).rejects.toMatchObject({ errorName: 'member_required' })
    })

    it('begin with nothing where nothing was said, and with an error where nobody is', async () => {
      const [alice, bob] = await pair()
      const nothing = { changes: [], next: 0, end: 0, hiddenMessageId: 0 }
      expect(await reader.changesAfter(alice.id, bob.id, 0)).toEqual(nothing)
      expect(await reader.changesAfter(alice.id, bob.id, 1)).toEqual({ ...nothing, changes: null })
      await expect(reader.changesAfter(alice.id, 5, 0)).rejects.toMatchObject({
        errorName: 'conversation_not_found',
      })
    })

    it('take a number for what was done, and none for what was refused', async () => {
      const [alice, bob] = await pair()
      const message = await sendText(alice.api, bob.id, 'text')
      const codes = await Promise.all([
        recall(alice.api, bob.id, message),
        recall(alice.api, bob.id, message),
        operate(bob.api, 'append', { peer: alice.id, message, content: 'x' }),
      ])
      const done = codes.map(({ code }) => code === answerCode.ok)
      // An Admin token may append to what another user has sent, as long as it is there.
      expect(done.slice(0, 2).filter(Boolean)).toHaveLength(1)
      expect(codes.some(({ code }) => code === answerCode.message_not_found)).toBe(true)
      const end = 1 + done.filter(Boolean).length
      expect(await reader.changesAfter(alice.id, bob.id, 0)).toMatchObject({ end })
    })

    it('stay for those who are left when the other party is deleted', async () => {
      const [alice, bob] = await pair()
      const message = await sendText(alice.api, bob.id, 'text')
      await operate(alice.api, 'replace', { peer: bob.id, message, content: 'new' })
      const before = await reader.changesAfter(bob.id, alice.id, 0)
      await server.api.admin({ userId: alice.id }).succeed('POST', '/user/delete')
      expect(await reader.changesAfter(bob.id, alice.id, 0)).toEqual(before)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('have to be read again below what is kept, once old messages are gone', async () => {
      const [alice, bob] = await pair()
      const ids: number[] = []
      for (let number = 1; number <= 8; number++) {
        ids.push(await sendText(alice.api, bob.id, `${number}`))
        await aMoment()
      }
      const [first, second, , fourth, fifth] = ids as [number, number, number, number, number]
      const edit = (message: number) =>
        operate(alice.api, 'append', { peer: bob.id, message, content: '!' })
      await edit(first)
      await recall(alice.api, bob.id, second)
      await edit(fifth)
      const replica = new Replica(reader, bob.id, alice.id)
      await replica.followToEnd(4)
      await edit(fifth)
      await sendText(alice.api, bob.id, 'last')
      const forget = async (upTo: number) => {
        // A message may be written later than its ID was made.
        const [row] = await sql.run(`select sent_at from messages where msg_id = ${upTo}`)
        await retention.run('test', Number(row?.sent_at) + 1)
        expect(await integrityFaults(server)).toEqual([])
      }
      await forget(fourth)
      expect(await reader.changesAfter(bob.id, alice.id, 3)).toMatchObject({
        changes: null,
        end: 13,
      })
      expect(await reader.changesAfter(bob.id, alice.id, 4)).toMatchObject({ next: 13 })
      // What was done to the first four later is skipped, and forces no reader to read again.
      expect(allOf(await reader.changesAfter(bob.id, alice.id, 8))).toEqual([
        ...[9, 10, 11].map((change) => ({ change, seq: null })),
        { change: 12, kind: 'edited', id: fifth },
        { change: 13, kind: 'stored', id: expect.any(Number) },
      ])
      const now = await known(bob.api, alice.id)
      await replica.followToEnd(100)
      expect(replica.messages).toEqual(now)
      const last = now[0]?.id ?? 0
      await forget(last)
      expect(await reader.changesAfter(bob.id, alice.id, 12)).toMatchObject({ changes: null })
      expect(await reader.changesAfter(bob.id, alice.id, 13)).toMatchObject({ changes: [] })
      const next = await sendText(bob.api, alice.id, 'next')
      expect(shown(await reader.changesAfter(bob.id, alice.id, 13))).toEqual([
        { change: 14, kind: 'stored', id: next },
      ])
      expect(await integrityFaults(server)).toEqual([])
    })

    it('changes: overtaken alterations in a row are one entry, and a page has at most 500 numbers', async () => {
      const [alice, bob] = await pair()
      const message = await sendText(alice.api, bob.id, 'text')
      const conversation = conversationOf(alice.id, bob.id)
      const count = 1_200
      await sql.run(
        `insert into message_changes (app_id, low_id, high_id, change, alteration, msg_id, kind)
          with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
          select app_id, low_id, high_id, 1 + i, i, msg_id, 2 from n, messages where ${conversation}`,
      )
      await sql.run(`update conversations set alterations = ${count} where ${conversation}`)
      await sql.run(
        `update messages set fields = '{"pinned":{"by":1,"at":1}}' where ${conversation}`,
      )
      await sql.run(
        `insert into pinned_messages select app_id, low_id, high_id, msg_id, 1, 1 from messages where ${conversation}`,
      )
      const next = await sendText(bob.api, alice.id, 'next')
      const pageAfter = async (after: number) => {
        const page = await reader.joinedAfter(alice.id, bob.id, after)
        return page.changes?.map((each) =>
          'message' in each ? [each.change, each.message.messageId] : [each.change, each],
        )
      }
      const run = (change: number, length: number) => [
        change,
        { kind: 'skipped', change, count: length },
      ]
      expect(await pageAfter(0)).toEqual([[1, message], run(500, 499)])
      expect(await pageAfter(500)).toEqual([run(1_000, 500)])
      const rest = [run(count, 200), [count + 1, message], [count + 2, next]]
      expect(await pageAfter(1_000)).toEqual(rest)
      expect((await reader.changesAfter(alice.id, bob.id, 0)).next).toBe(100)
      expect(await integrityFaults(server)).toEqual([])
    })

    it('cost what has changed, not what the conversation holds', async () => {
      const [alice, bob] = await pair()
      const message = await sendText(alice.api, bob.id, 'text')
      const conversation = conversationOf(alice.id, bob.id)
      const count = 20_000
      const keys = `app_id, low_id, high_id`
      const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
      await sql.run(
        `insert into messages (${keys}, msg_id, seq, sender_id, sender_device_sn, content_type, content, attachment, config, ext, is_system, sent_at)
          ${numbers} select ${keys}, msg_id + i * 4096, seq + i, sender_id, 0, 0, 'text', '', '', '', 0, sent_at from n, messages where ${conversation} and msg_id = ${message}`,
      )
      await sql.run(
        `insert into message_changes (${keys}, change, alteration, msg_id, kind)
          ${numbers} select ${keys}, ${count + 1} + i, i, msg_id + (i - 1) * 4096, 0 from n, messages where ${conversation} and msg_id = ${message}`,
      )
      await sql.run(
        `update conversations set seq = ${count + 1}, alterations = ${count}, last_msg_id = ${message + count * 4096},
          furthest_seq = ${count + 1} where ${conversation}`,
      )
      await sql.run(`update messages set edited_at = 1 where ${conversation} and seq <= ${count}`)
      await sql.run(
        `update outbox_heads set last_msg_id = ${message + count * 4096} where app_id = 'test'`,
      )
      await sql.run('analyze')
      expect(await integrityFaults(server)).toEqual([])
      const page = await reader.changesAfter(alice.id, bob.id, 0, 10)
      expect(page).toMatchObject({ next: 10, end: 2 * count + 1 })
      expect(shown(page)).toHaveLength(10)
      const expectAllBounded = async (title: string) => {
        for (const after of [0, 10_000, count + 1, 30_000, 2 * count, 2 * count + 1]) {
          reader.statements.length = 0
          await reader.changesAfter(alice.id, bob.id, after, 10)
          expect(reader.statements.length).toBeGreaterThan(0)
          for (const { sql: text, parameters } of reader.statements)
            await expectBounded(text, parameters, `${title}, after ${after}: ${text}`)
        }
      }
      await expectAllBounded('all analyzed')
      if (backend.name === 'sqlite') return
      // As after an hour in which one message had all changes.
      await sql.run('alter table message_changes alter msg_id set (n_distinct = 1)')
      await sql.run('analyze message_changes')
      try {
        await expectAllBounded('statistics of one message')
      } finally {
        await sql.run('alter table message_changes alter msg_id reset (n_distinct)')
        await sql.run('analyze message_changes')
      }
    })

    it.each([
      ['a reader whose positions have not moved', false],
      ['a reader whose positions have moved', true],
    ])('a page of broadcasts costs what it shows to %s', async (_, hasRead) => {
      const user = await server.api.newSession()
      await broadcast(server.api.admin(), 'text')
      if (hasRead) await user.api.succeed('GET', '/message/ack')
      const stream = `app_id = 'test' and low_id = -1`
      const [first] = await sql.run(`select msg_id, seq from messages where ${stream}
        order by msg_id desc limit 1`)
      const count = 20_000
      const [id, seq] = [Number(first?.msg_id), Number(first?.seq)]
      await sql.run(
        `insert into messages (app_id, low_id, high_id, msg_id, seq, sender_id, sender_device_sn, content_type, content, attachment, config, ext, is_system, sent_at)
          with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
          select app_id, low_id, high_id, msg_id + i * 4096, seq + i, sender_id, 0, 0, 'text', '', '', '', 0, sent_at from n, messages where ${stream} and msg_id = ${id}`,
      )
      await sql.run(`update conversations set seq = ${seq + count}, last_msg_id = ${id + count * 4096},
        furthest_seq = ${seq + count} where ${stream}`)
      await sql.run('analyze')
      try {
        reader.statements.length = 0
        const after = seq + count / 2
        const page = await reader.broadcastChangesAfter(
          { appId: 'test', userId: user.id },
          0,
          after,
        )
        expect(page.next).toBe(after + 100)
        for (const { sql: text, parameters } of reader.statements)
          await expectBounded(text, parameters, text)
      } finally {
        await sql.run(`delete from messages where ${stream} and msg_id > ${id}`)
        await sql.run(`update conversations set seq = ${seq}, last_msg_id = ${id},
          furthest_seq = ${seq} where ${stream}`)
      }
    })

    /** Every row that is looked at is found by a key, and they are few. */
    async function expectBounded(
      text: string,
      parameters: readonly unknown[],
      message: string,
    ): Promise<void> {
      const explain =
        backend.name === 'sqlite' ? 'explain query plan' : 'explain (analyze, format json)'
      const { rows } = await reader.database.writer.executeQuery<Record<string, unknown>>(
        CompiledQuery.raw(`${explain} ${text}`, [...parameters]),
      )
      if (backend.name === 'sqlite') {
        const details = rows.map(({ detail }) => String(detail))
        const scans = details.filter((detail) => /^(SCAN|USE TEMP)/.test(detail))
        expect(
          scans.filter((detail) => !/^SCAN (place|page|CONSTANT ROW)$/.test(detail)),
          message,
        ).toEqual([])
        for (const detail of details.filter((each) => /^SEARCH (m|x|l|r) /.test(each)))
          expect(detail, message).toMatch(
            /\(app_id=\? AND low_id=\? AND high_id=\? AND (msg_id|change)[=<>]|\(app_id,low_id,high_id,msg_id\)</,
          )
        return
      }
      const [plan] = rows as unknown as { 'QUERY PLAN': [{ Plan: PlanNode }] }[]
      expect(
        rowsRead((plan as NonNullable<typeof plan>)['QUERY PLAN'][0].Plan),
        message,
      ).toBeLessThan(1_000)
    }
  })
}

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Of all tables and indexes, and between the steps of the plan. */
function rowsRead(node: PlanNode): number {
  const perLoop = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  const below = (node.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0)
  return perLoop * node['Actual Loops'] + below
}
