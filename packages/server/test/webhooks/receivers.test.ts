/** Receivers that refuse, fail, lie or are gone, as real servers on the loopback address. */
import { anyBackend, type Session } from '@hermod/testkit'
import { type ReceiverAnswer, wrongAnswers } from '@hermod/testkit/webhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText } from '../support/messaging/messaging.js'
import { Hook, hookSettings, sendToAll, startReceiver } from '../support/webhooks/hooks.js'

const second = 1_000
const keys = 1_000
const endpoints = 10

for (const backend of anyBackend())
  describe(`receivers of webhooks on ${backend.name}`, () => {
    let server: InProcessServer
    let ann: Session
    let ben: Session

    beforeAll(async () => {
      server = await InProcessServer.start(backend, hookSettings)
      ann = await server.api.newSession()
      ben = await server.api.newSession()
    })
    afterAll(() => server[Symbol.asyncDispose]())

    /** Moves the clock of the service on. */
    const pass = (ms: number) => server.clock.set(server.clock.now() + ms)

    it('a refused key among 1,000 holds up no other key, and keeps its order', async () => {
      const others = await server.api.addUsers(
        Array.from({ length: keys }, (_, index) => `poison_${index}`),
      )
      const poisoned = others[keys / 2]?.id ?? 0
      let isMended = false
      const isPoison = (key: string) => key.split(':').includes(String(poisoned))
      await using hook = await Hook.open(server, ({ key }) =>
        isPoison(key) && !isMended ? { status: 404 } : undefined,
      )
      const texts = ['one', 'two', 'three']
      await sendToAll(
        ann,
        others.map(({ id }) => id),
        texts,
      )
      const healthy = (keys - 1) * texts.length
      await hook.until(({ receiver }) => receiver.accepted.length >= healthy, 'all other keys')
      await hook.untilState(({ waiting }) => waiting === texts.length, 'the refused key waits')
      expect(hook.receiver.events.filter(({ key }) => isPoison(key))).toEqual([])
      isMended = true
      pass(12 * second)
      await hook.until(({ receiver }) => receiver.events.length === keys * texts.length, 'all')
      const byKey = new Map<string, string[]>()
      for (const { key, data } of hook.receiver.events)
        byKey.set(key, [...(byKey.get(key) ?? []), data.content])
      expect(byKey.size).toBe(keys)
      expect([...byKey.values()].filter((each) => each.join() !== texts.join())).toEqual([])
      await hook.untilState(({ waiting, dead }) => waiting + dead === 0, 'nothing waits')
    })

    it('a dead endpoint among ten holds up no other endpoint', async () => {
      await using dead = await Hook.open(server)
      const others = await Promise.all(
        Array.from({ length: endpoints - 1 }, () => Hook.open(server)),
      )
      await dead.receiver[Symbol.asyncDispose]()
      const texts = Array.from({ length: 50 }, (_, index) => `text ${index}`)
      await sendToAll(ann, [ben.id], texts)
      for (const hook of others)
        await hook.until(({ contents }) => contents.length >= texts.length, 'all texts')
      for (const hook of others) expect(hook.contents).toEqual(texts)
      expect((await dead.failedAttempt()).outcome).toBe('unavailable')
      expect(dead.contents).toEqual([])
      for (const hook of others) await hook[Symbol.asyncDispose]()
    })

    it.each(
      Object.entries({
        'whose body breaks off': wrongAnswers.halfBody,
        'whose body is longer than its content-length': wrongAnswers.lyingLength,
        'with a body of 10 MB': wrongAnswers.huge,
      }),
    )('an answer 200 %s is a success', async (_, answer) => {
      await using hook = await Hook.open(server, () => answer)
      await sendToAll(ann, [ben.id], ['one', 'two'])
      await hook.untilState(({ behind, waiting }) => behind + waiting === 0, 'all is delivered')
      expect(hook.receiver.requests).toBe(2)
      expect((await hook.state()).failing_since).toBe(0)
    })

    it.each(
      Object.entries<ReceiverAnswer>({
        'no HTTP': wrongAnswers.nonsense,
        'half of the headers': wrongAnswers.halfHeaders,
        'an end of the connection': wrongAnswers.nothing,
        'nothing within the time-out': wrongAnswers.silence,
        '500': { status: 500 },
      }),
    )('a receiver that answers %s gets the events when it works again', async (_, answer) => {
      let isMended = false
      await using hook = await Hook.open(server, () => (isMended ? undefined : answer), {
        timeout_ms: 1_000,
      })
      await sendToAll(ann, [ben.id], ['one', 'two'])
      expect((await hook.failedAttempt()).outcome).toBe('unavailable')
      expect(hook.receiver.requests).toBe(1)
      isMended = true
      pass(6 * second)
      await hook.until(({ contents }) => contents.length === 2, 'both texts')
      expect(hook.contents).toEqual(['one', 'two'])
    })

    // Ports of the loopback address stand for private addresses here.
    it('a redirect to another server is not followed', async () => {
      await using inner = await startReceiver()
      await using hook = await Hook.open(server, () => ({
        status: 307,
        headers: { location: `${inner.url}/secret` },
      }))
      await sendText(ann.api, ben.id, 'redirected')
      const { outcome, status } = await hook.failedAttempt()
      expect({ outcome, status }).toEqual({ outcome: 'unavailable', status: 307 })
      expect([inner.requests, inner.invalid]).toEqual([0, []])
    })

    it('a receiver that is too busy gets nothing before its Retry-After', async () => {
      let isBusy = true
      await using hook = await Hook.open(server, () =>
        isBusy ? { status: 429, headers: { 'retry-after': '100' } } : undefined,
      )
      await sendText(ann.api, ben.id, 'busy')
      await hook.failedAttempt()
      isBusy = false
      await using other = await Hook.open(server)
      pass(90 * second)
      await sendText(ann.api, ben.id, 'a moment later')
      await other.until(({ contents }) => contents.length === 1, 'the other endpoint')
      expect(hook.receiver.requests).toBe(1)
      pass(11 * second)
      await hook.until(({ contents }) => contents.length === 2, 'both texts')
      expect(hook.contents).toEqual(['busy', 'a moment later'])
    })

    it('a receiver that answers 410 is asked once', async () => {
      await using hook = await Hook.open(server, () => ({ status: 410 }))
      await sendToAll(ann, [ben.id], ['one', 'two'])
      await hook.untilState(({ state }) => state === 'disabled', 'the endpoint is disabled')
      expect((await hook.state()).state_reason).toBe('gone')
      expect(hook.receiver.requests).toBe(1)
    })
  })
