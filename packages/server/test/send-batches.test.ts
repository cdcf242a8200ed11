/** Sends that are stored together, one of which the database refuses (rules E2, E3), on both databases. */
import { type Api, type Session, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from './support/answer-codes.js'
import { holdWrites } from './support/held-writes.js'
import { contents, textTo } from './support/messaging.js'
import { WatchedServer } from './support/watched-server.js'

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

for (const backend of testBackends()) {
  describe(`sends that are stored together on ${backend.name}`, () => {
    let watched: WatchedServer
    let api: Api

    beforeAll(async () => {
      watched = await WatchedServer.start(backend)
      api = watched.server.api
      for (const statement of triggers[backend.name as keyof typeof triggers])
        await watched.sql.run(statement)
    })

    afterAll(() => watched?.[Symbol.asyncDispose]())

    async function figure(name: string): Promise<number> {
      const { text } = await api.call('GET', '/metrics')
      return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
    }

    const send = (sender: Session, receiver: Session, content: string) =>
      sender.api.call('POST', '/message/send', { body: textTo([receiver.id], content) })

    it('end alone: a message that cannot be stored takes no other one with it', async () => {
      const [alice, bob] = [await api.newSession(), await api.newSession()]
      const waiting = (count: number) =>
        waitFor(async () => (await figure('hermod_message_queue_messages')) === count, {
          what: `${count} messages to wait`,
          timeoutMs,
        })
      const commits = () => figure('hermod_message_commit_duration_seconds_count')
      await using held = await holdWrites(watched.place)
      const before = []
      for (let batch = 0; batch < batchesAtOnce; batch++) {
        before.push(send(alice, bob, `before ${batch}`))
        for (let read = 0; read < 5; read++) await alice.api.call('GET', '/user/profile')
        await waiting(0)
      }
      const sends = ['one', refused, 'three'].map((content) => send(alice, bob, content))
      await waiting(3)
      const committed = await commits()
      await held.release()
      const [one, two, three] = await Promise.all(sends)
      for (const { code } of await Promise.all(before)) expect(code).toBe(200)
      expect(one).toMatchObject({ code: 200 })
      expect(two).toMatchObject({ code: answerCode.internal_error, data: null })
      expect(three).toMatchObject({ code: 200 })
      expect(await contents(bob.api, alice.id)).toEqual(['three', 'one', 'before 1', 'before 0'])
      // All three together, and the refused one again alone.
      expect(await figure('hermod_message_commit_failures_total')).toBe(2)
      expect(await commits()).toBe(committed + batchesAtOnce + 1 + sends.length)
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
