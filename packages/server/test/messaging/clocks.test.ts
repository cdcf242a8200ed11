/** Clocks of the machine that are wrong for a while (rule E3). */
import { anyBackend, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  contents,
  conversationList,
  history,
  integrityFaults,
  sendText,
  textTo,
} from '../support/messaging/messaging.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

for (const backend of anyBackend()) {
  describe(`a clock that is wrong on ${backend.name}`, () => {
    let server: InProcessServer
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
    })

    beforeEach(async () => {
      setClock(0)
      ;[alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    })

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]()
    })

    const setClock = (aheadMs: number) => server.clock.set(Date.now() + aheadMs)

    /** Sends with a clock that is so far ahead. */
    async function sendAhead(aheadMs: number, content: string): Promise<number> {
      setClock(aheadMs)
      return sendText(alice.api, bob.id, content)
    }

    /** Sends one message while the clock is 8 h ahead, and one after it was corrected. */
    async function sendAcrossJump(): Promise<{ wrong: number; right: number }> {
      return { wrong: await sendAhead(8 * hourMs, 'wrong'), right: await sendAhead(0, 'right') }
    }

    it('8 h ahead for one message: the next messages have the right time and keep their order', async () => {
      const before = Date.now()
      const { wrong, right } = await sendAcrossJump()
      expect(right).toBeGreaterThan(wrong)
      const shown = await history(bob.api, alice.id)
      expect(shown.map(({ msg_id, content }) => [msg_id, content])).toEqual([
        [right, 'right'],
        [wrong, 'wrong'],
      ])
      const [second, first] = shown.map(({ timestamp }) => Number(timestamp))
      expect(first).toBeGreaterThanOrEqual(before + 8 * hourMs)
      expect(second).toBeGreaterThanOrEqual(before)
      expect(second).toBeLessThanOrEqual(Date.now())
      const [entry] = await conversationList(bob.api)
      expect(entry).toMatchObject({ latest_msg_id: right, update_timestamp: second })
      expect(await integrityFaults(server)).toEqual([])
    })

    it('8 h ahead for one message: a new conversation begins at the right time', async () => {
      await sendAcrossJump()
      const before = Date.now()
      await sendText(bob.api, bob.id, 'to myself')
      const [entry] = await conversationList(bob.api)
      expect(entry?.conversation_id).toEqual({ uid: bob.id })
      for (const time of [entry?.create_timestamp, entry?.update_timestamp]) {
        expect(time).toBeGreaterThanOrEqual(before)
        expect(time).toBeLessThanOrEqual(Date.now())
      }
    })

    it('8 h ahead for one message: recalls end with the window of the right time, and the message of the future has none', async () => {
      const { wrong, right } = await sendAcrossJump()
      const later = await sendAhead(4 * minuteMs, 'later')
      setClock(6 * minuteMs)
      expect((await recall(alice.api, bob.id, right)).code).toBe(answerCode.recall_too_late)
      expect((await recall(alice.api, bob.id, wrong)).code).toBe(answerCode.recall_too_late)
      expect((await recall(alice.api, bob.id, later)).code).toBe(200)
      setClock(8 * hourMs + minuteMs)
      expect((await recall(alice.api, bob.id, wrong)).code).toBe(200)
      expect(await contents(bob.api, alice.id)).toEqual(['right'])
    })

    it('8 h ahead for one message: an edit of a later one has the time of the edit', async () => {
      const { right } = await sendAcrossJump()
      await operate(alice.api, 'append', { peer: bob.id, message: right, content: '!' })
      const [message] = await history(bob.api, alice.id)
      expect(Number(message?.edit_timestamp)).toBeGreaterThan(Number(message?.timestamp))
      expect(Number(message?.edit_timestamp)).toBeLessThanOrEqual(Date.now() + minuteMs)
    })

    describe('retention', () => {
      let retention: Retention

      beforeAll(async () => {
        retention = new Retention(server.place)
        await keepHistory(server.api.as(server.operatorToken), server.appId, 30)
      })

      afterAll(() => retention[Symbol.asyncDispose]())

      it('removes messages by their times, and a message of the future with a later one that is old', async () => {
        await sendAcrossJump()
        const limit = Date.now() + 1
        setClock(minuteMs)
        const kept = await sendText(alice.api, bob.id, 'kept')
        await retention.run(server.appId, limit)
        expect(await contents(bob.api, alice.id)).toEqual(['kept'])
        await recall(alice.api, bob.id, kept)
        await retention.run(server.appId, limit + hourMs)
        expect(
          await server.sql.run(`select 1 as there from recalled_messages where msg_id = ${kept}`),
        ).toEqual([])
        expect(await integrityFaults(server)).toEqual([])
      })
    })

    it.each([
      ['before 2015', Date.UTC(2014, 11, 31)],
      ['from 2080 on', Date.UTC(2080, 0, 1)],
    ])(
      '%s: writes answer 503, /readyz and the log say why, and no IDs are reserved',
      async (_, time) => {
        await sendText(alice.api, bob.id, 'before')
        const slots = () => server.sql.run('select * from id_slots order by slot')
        const [reserved, logged] = [await slots(), server.output().length]
        server.clock.set(time)
        const body = textTo([bob.id], 'never')
        const admin = server.api.admin({ userId: alice.id })
        for (let times = 0; times < 2; times++)
          expect(await admin.call('POST', '/message/send', { body })).toMatchObject({
            code: answerCode.unavailable,
          })
        const reason = `the clock of the machine says ${new Date(time).toISOString().slice(0, 10)}`
        const ready = await fetch(`${server.url}/readyz`)
        expect(ready.status).toBe(503)
        expect(await ready.json()).toMatchObject({ reason: expect.stringContaining(reason) })
        const lines = server.output().slice(logged).split('\n')
        expect(lines.filter((line) => line.includes(reason))).toHaveLength(1)
        expect(await slots()).toEqual(reserved)
        setClock(0)
        await sendText(alice.api, bob.id, 'after')
        expect(await contents(bob.api, alice.id)).toEqual(['after', 'before'])
        expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
      },
    )

    it('in the past: the lead of the IDs is a metric, and a line at the next start', async () => {
      await sendAcrossJump()
      const leadOf = async () => {
        const text = await (await fetch(`${server.url}/metrics`)).text()
        return Number(/^hermod_id_clock_ahead_seconds (\S+)$/m.exec(text)?.[1])
      }
      expect(await leadOf()).toBeGreaterThan(7.9 * 3_600)
      expect(await leadOf()).toBeLessThan(8.1 * 3_600)
      const logged = server.output().length
      await server.stop()
      await server.startAgain()
      expect(server.output().slice(logged)).toContain('IDs are ahead of the clock')
      expect(await leadOf()).toBe(0)
    })
  })
}
