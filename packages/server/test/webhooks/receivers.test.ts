/** Receivers that refuse, fail, lie or are gone, as real servers on the loopback address. */
import { anyBackend, isFullRun, type Session } from '@hermod/testkit'
import { type ReceiverAnswer, wrongAnswers } from '@hermod/testkit/webhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText } from '../support/messaging/messaging.js'
import { Hook, hookSettings, sendToAll, startReceiver } from '../support/webhooks/hooks.js'

const second = 1_000
const keys = isFullRun ? 1_000 : 250
const endpoints = 10

describe.each(anyBackend())('receivers of webhooks on $name', (backend) => {
  let server: InProcessServer
  beforeAll(async () => {
    server = await InProcessServer.start(backend, hookSettings)
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** Two users; the messages of no other test concern them. */
  const pair = async (): Promise<[Session, Session]> => [
    await server.api.newSession(),
    await server.api.newSession(),
  ]
  /** Moves the clock of the service on. */
  const pass = (ms: number) => server.clock.set(server.clock.now() + ms)

  /** Lets time pass, since an attempt is listed before its repeat has a time. */
  const untilRepeated = (hook: Hook, isReached: (hook: Hook) => boolean) =>
    hook.until((each) => {
      pass(second)
      return isReached(each)
    }, 'the repeat')

  // Endpoints are noticed each second, which these tests wait for together.
  describe.concurrent('that need no second attempt', () => {
    it('a dead endpoint among ten holds up no other endpoint', async () => {
      const [ann, ben] = await pair()
      await using dead = await Hook.open(server, ben)
      const others = await Promise.all(
        Array.from({ length: endpoints - 1 }, () => Hook.open(server, ben)),
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
      const [ann, ben] = await pair()
      await using hook = await Hook.open(server, ben, () => answer)
      await sendToAll(ann, [ben.id], ['one', 'two'])
      await hook.until(({ receiver }) => receiver.requests === 2, 'both texts')
      await hook.untilState(({ behind, waiting }) => behind + waiting === 0, 'nothing is left')
      expect(hook.receiver.requests).toBe(2)
      expect((await hook.state()).failing_since).toBe(0)
    })

    it('a redirect to another server is not followed', async () => {
      const [ann, ben] = await pair()
      await using inner = await startReceiver()
      const redirect = { status: 307, headers: { location: `${inner.url}/secret` } }
      await using hook = await Hook.open(server, ben, () => redirect)
      await sendText(ann.api, ben.id, 'redirected')
      const { outcome, status } = await hook.failedAttempt()
      expect({ outcome, status }).toEqual({ outcome: 'unavailable', status: 307 })
      expect([inner.requests, inner.invalid]).toEqual([0, []])
    })

    it('a receiver that answers 410 is asked once', async () => {
      const [ann, ben] = await pair()
      await using hook = await Hook.open(server, ben, () => ({ status: 410 }))
      await sendToAll(ann, [ben.id], ['one', 'two'])
      await hook.untilState(({ state }) => state === 'disabled', 'the endpoint is disabled')
      expect((await hook.state()).state_reason).toBe('gone')
      expect(hook.receiver.requests).toBe(1)
    })
  })

  it('receivers without a valid answer get the events in order when they work again', async () => {
    const [ann, ben] = await pair()
    let isMended = false
    const answers: ReceiverAnswer[] = [
      wrongAnswers.nonsense,
      wrongAnswers.halfHeaders,
      wrongAnswers.nothing,
      wrongAnswers.silence,
      { status: 500 },
    ]
    const hooks = await Promise.all(
      answers.map((answer) =>
        Hook.open(server, ben, () => (isMended ? undefined : answer), { timeout_ms: second }),
      ),
    )
    await sendToAll(ann, [ben.id], ['one', 'two'])
    const failed = await Promise.all(hooks.map((hook) => hook.failedAttempt()))
    expect(failed.map(({ outcome }) => outcome)).toEqual(answers.map(() => 'unavailable'))
    expect(hooks.map(({ receiver }) => receiver.requests)).toEqual(answers.map(() => 1))
    isMended = true
    for (const hook of hooks) await untilRepeated(hook, ({ contents }) => contents.length === 2)
    for (const hook of hooks) {
      expect(hook.contents).toEqual(['one', 'two'])
      await hook[Symbol.asyncDispose]()
    }
  })

  it(`a refused key among ${keys} holds up no other key, and keeps its order`, async () => {
    const ann = await server.api.newSession()
    const others = await server.api.addUsers(
      Array.from({ length: keys }, (_, index) => `poison_${index}`),
    )
    const poisoned = String(others[keys / 2]?.id)
    let isMended = false
    const isPoison = (key: string) => key.split(':').includes(poisoned)
    await using hook = await Hook.open(server, ann, ({ key }) =>
      isPoison(key) && !isMended ? { status: 404 } : undefined,
    )
    const texts = ['one', 'two', 'three']
    const ids = others.map(({ id }) => id)
    await sendToAll(ann, ids, texts)
    const healthy = (keys - 1) * texts.length
    await hook.until(({ receiver }) => receiver.accepted.length >= healthy, 'all other keys')
    await hook.untilState(({ waiting }) => waiting === texts.length, 'the refused key waits')
    expect(hook.receiver.events.filter(({ key }) => isPoison(key))).toEqual([])
    isMended = true
    const all = keys * texts.length
    await untilRepeated(hook, ({ receiver }) => receiver.accepted.length >= all)
    const byKey = new Map<string, string[]>()
    for (const { key, data } of hook.receiver.events)
      byKey.set(key, [...(byKey.get(key) ?? []), data.content])
    expect(byKey.size).toBe(keys)
    expect([...byKey.values()].filter((each) => each.join() !== texts.join())).toEqual([])
    await hook.untilState(({ waiting, dead }) => waiting + dead === 0, 'nothing waits')
  })

  if (isFullRun)
    it('a receiver that is too busy gets nothing before its Retry-After', async () => {
      const [ann, ben] = await pair()
      let isBusy = true
      await using hook = await Hook.open(server, ben, () =>
        isBusy ? { status: 429, headers: { 'retry-after': '100' } } : undefined,
      )
      await sendText(ann.api, ben.id, 'busy')
      await hook.failedAttempt()
      isBusy = false
      await using other = await Hook.open(server, ben)
      pass(90 * second)
      await sendText(ann.api, ben.id, 'a moment later')
      await other.until(({ contents }) => contents.length === 1, 'the other endpoint')
      expect(hook.receiver.requests).toBe(1)
      await untilRepeated(hook, ({ contents }) => contents.length === 2)
      expect(hook.contents).toEqual(['busy', 'a moment later'])
    })
})
