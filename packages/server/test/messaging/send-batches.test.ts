/**
 * Sends that are stored together, as one batch: one that the database refuses, and repeated ones
 * (rules E2, E3, E4), on both databases.
 */
import {
  type Answer,
  type Api,
  type Json,
  type Session,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { holdWrites } from '../support/messaging/held-writes.js'
import { contents, sendText, textTo } from '../support/messaging/messaging.js'

const timeoutMs = 30_000
const refused = 'refused by the database'
/** As many as there may be batches under way, so that what follows them waits together. */
const batchesAtOnce = 2
const triggers = {
  sqlite: [
    `create trigger refusal before insert on messages when new.content = '${refused}' begin select raise(abort, 'refused'); end`,
  ],
  postgres: [
    `create function refuse() returns trigger language plpgsql as $$ begin if new.content = '${refused}' then raise exception 'refused'; end if; return new; end $$`,
    'create trigger refusal before insert on messages for each row execute function refuse()',
  ],
}

for (const backend of testBackends('durable')) {
  describe(`sends that are stored together on ${backend.name}`, () => {
    let watched: InProcessServer
    let api: Api

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      api = watched.server.api
      for (const statement of triggers[backend.name as keyof typeof triggers])
        await watched.sql.run(statement)
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    async function figure(name: string): Promise<number> {
      const { text } = await api.call('GET', '/metrics')
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
    }

    const commits = () => figure('hermod_message_commit_duration_seconds_count')
    const waiting = (count: number) =>
      waitFor(async () => (await figure('hermod_message_queue_messages')) === count, {
        what: `${count} messages to wait`,
        timeoutMs,
      })
    const send = (sender: Session, receiver: Session, content: string, extras = {}) =>
      sender.api.call('POST', '/message/send', {
        body: { ...textTo([receiver.id], content), ...extras },
      })

    /**
     * Sends that are stored in one batch, after others that are under way.
     * @returns their answers, and how many commits it took
     */
    async function storeTogether(
      sender: Session,
      receiver: Session,
      sends: () => Promise<Answer>[],
    ) {
      await using held = await holdWrites(watched.place)
      const before = []
      for (let batch = 0; batch < batchesAtOnce; batch++) {
        const bytes = await figure('hermod_message_queue_bytes')
        before.push(send(sender, receiver, `before ${batch}`))
        // It has come, and its commit is under way.
        const hasCome = async () => (await figure('hermod_message_queue_bytes')) > bytes
        await waitFor(hasCome, { what: 'the send to be accepted', timeoutMs })
        await waiting(0)
      }
      const under = sends()
      await waiting(under.length)
      const committed = await commits()
      await held.release()
      const answers = await Promise.all(under)
      for (const { code } of await Promise.all(before)) expect(code).toBe(200)
      return { answers, commits: (await commits()) - committed - batchesAtOnce }
    }

    it('count by the bytes of their texts while they wait', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      await using held = await holdWrites(watched.place)
      const sent = send(alice, bob, '\u4e2d'.repeat(1_000))
      const bytes = async () => await figure('hermod_message_queue_bytes')
      await waitFor(async () => (await bytes()) > 0, { what: 'the send to be accepted', timeoutMs })
      expect(await bytes()).toBe(3_000)
      await held.release()
      expect((await sent).code).toBe(200)
    })

    it('end alone: a message that cannot be stored takes no other one with it', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const texts = ['one', refused, 'three']
      const { answers, commits: made } = await storeTogether(alice, bob, () =>
        texts.map((content) => send(alice, bob, content)),
      )
      const [one, two, three] = answers
      expect(one).toMatchObject({ code: 200 })
      expect(two).toMatchObject({ code: answerCode.internal_error, data: null })
      expect(three).toMatchObject({ code: 200 })
      const found = await contents(bob.api, alice.id)
      expect(found.toSorted()).toEqual(['before 0', 'before 1', 'one', 'three'])
      // All three together, and the refused one again alone.
      expect(await figure('hermod_message_commit_failures_total')).toBe(2)
      expect(made).toBe(1 + texts.length)
    })

    it('are one message with the same transaction ID, and as many as there are IDs and senders', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const { answers, commits: made } = await storeTogether(alice, bob, () => [
        send(alice, bob, 'twice', { transaction_id: 1 }),
        send(alice, bob, 'twice', { transaction_id: 1 }),
        send(alice, bob, 'once', { transaction_id: 2 }),
        send(bob, alice, 'by bob', { transaction_id: 1 }),
      ])
      expect(made).toBe(1)
      const [first, again, other, ofBob] = answers.map(
        ({ envelope }) => Object.values(envelope.msg_ids as Json)[0],
      )
      expect(again).toBe(first)
      expect(new Set([first, other, ofBob]).size).toBe(3)
      const found = await contents(bob.api, alice.id)
      expect(found.toSorted()).toEqual(['before 0', 'before 1', 'by bob', 'once', 'twice'])
    })

    it('know those that were stored before among new ones, again and again', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const first = await sendText(alice.api, bob.id, 'known', { transaction_id: 5 })
      for (let round = 1; round <= 3; round++) {
        const { answers, commits: made } = await storeTogether(alice, bob, () => [
          send(alice, bob, `one ${round}`, { transaction_id: 100 + round }),
          send(alice, bob, 'known', { transaction_id: 5 }),
          send(bob, alice, `two ${round}`, { transaction_id: 5 + round }),
        ])
        expect(made).toBe(1)
        expect(answers.map(({ code }) => code)).toEqual([200, 200, 200])
        expect(Object.values(answers[1]?.envelope.msg_ids as Json)).toEqual([first])
        const found = await contents(bob.api, alice.id)
        expect(found).toEqual(expect.arrayContaining([`one ${round}`, `two ${round}`]))
        expect(found.filter((content) => content === 'known')).toHaveLength(1)
        expect(found).toHaveLength(1 + 4 * round)
      }
    })

    it('are remembered with the IDs that they have, also where the conversation was ahead of the clock', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      await send(alice, bob, 'before')
      const ahead = (Date.now() + 3_000 - Date.UTC(2015, 0, 1)) * 4_096
      await watched.sql.run(
        `update conversations set last_msg_id = ${ahead} where ${alice.id} in (low_id, high_id)`,
      )
      const sent = await sendText(alice.api, bob.id, 'ahead', { transaction_id: 7 })
      expect(sent).toBeGreaterThan(ahead)
      expect(await sendText(alice.api, bob.id, 'again', { transaction_id: 7 })).toBe(sent)
      expect(await contents(bob.api, alice.id)).toEqual(['ahead', 'before'])
    })

    it('stand in the outbox since they were sent', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const before = Date.now()
      expect(await send(alice, bob, 'now')).toMatchObject({ code: 200 })
      const [row] = await watched.sql.run('select max(created_at) as at from outbox')
      expect(Number(row?.at)).toBeGreaterThanOrEqual(before)
      expect(Number(row?.at)).toBeLessThanOrEqual(Date.now())
    })
  })
}
