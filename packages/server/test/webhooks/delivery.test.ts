/** The delivery of events to endpoints, as receivers see it. */
import { testBackends } from '@hermod/testkit'
import type { ReceivedRequest } from '@hermod/testkit/webhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import { sendText } from '../support/messaging/messaging.js'
import { itOnce } from '../support/once.js'
import { type Hook, HookedServer } from '../support/webhooks/hooked-server.js'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const onlyMessages = { kinds: ['message.stored'] }
const content = ({ events }: ReceivedRequest) => events[0]?.data.content as string

describe.each(testBackends())('webhooks on $name', (backend) => {
  const once = itOnce(backend)
  let place: HookedServer
  let users: number[]

  beforeAll(async () => {
    place = await HookedServer.start(backend)
    users = []
    for (let index = 0; index < 20; index++) users.push((await place.server.api.register()).id)
  })
  afterEach(() => place.clear())
  afterAll(() => place?.[Symbol.asyncDispose]())

  /** Sends a text from the first user to another one. */
  const send = (text: string, to = 1) =>
    sendText(place.admin, users[to] as number, text, { from_user_id: users[0] })

  /** Sends texts one after the other, which is the order of the log. */
  async function sendAll(texts: readonly string[], to = 1): Promise<void> {
    for (const text of texts) await send(text, to)
  }

  /** Returns the attempts of the event that was tried most, as they are stored. */
  async function storedAttempts(): Promise<number> {
    const [row] = await place.server.sql.run('select max(attempts) as max from webhook_events')
    return Number(row?.max)
  }

  /** Answers one text with a status for as long as the test says so. */
  function refuse(hook: Hook, text: string, status = 422) {
    hook.answer = (request) => (content(request) === text ? { status } : undefined)
  }

  it('an event: has the ID, the key and the content of the message, and a valid signature', async () => {
    const hook = await place.hook(onlyMessages)
    const messageId = await send('hello')
    const [event] = await hook.got(1)
    const [low, high] = [users[0], users[1]]
    expect(event).toMatchObject({
      id: expect.stringMatching(new RegExp(`^evt_test_\\d+_${messageId}$`)),
      type: 'message.stored',
      app_id: 'test',
      key: `d:${low}:${high}`,
      data: { msg_id: messageId, sender_id: users[0], content: 'hello' },
    })
    expect(await hook.becomes(({ behind }) => behind === 0, 'the head')).toMatchObject({
      waiting: 0,
      dead: 0,
    })
  })

  once('order: each conversation keeps it while 16 requests are in flight', async () => {
    const hook = await place.hook(onlyMessages)
    const inFlight = new Set<string>()
    let most = 0
    let doubled = 0
    hook.answer = ({ events: [event] }) => {
      const key = event?.key as string
      if (inFlight.has(key)) doubled++
      inFlight.add(key)
      most = Math.max(most, inFlight.size)
      setTimeout(() => inFlight.delete(key), 20)
      return { status: 200, delayMs: 20 }
    }
    const texts = Array.from({ length: 5 }, (_, index) => `${index}`)
    await Promise.all(users.slice(1).map((_, index) => sendAll(texts, index + 1)))
    const events = await hook.got(texts.length * (users.length - 1))
    for (const user of users.slice(1)) {
      const ofUser = events.filter(({ data }) => data.conversation.high_id === user)
      expect(ofUser.map(({ data }) => data.content)).toEqual(texts)
    }
    expect(doubled).toBe(0)
    expect(most).toBeGreaterThan(4)
    expect(most).toBeLessThanOrEqual(16)
  })

  it('a refused event: its conversation waits, others go on; after five attempts it is dead, and a replay sends it with its old ID', async () => {
    const hook = await place.hook(onlyMessages)
    refuse(hook, 'bad')
    await sendAll(['first', 'bad', 'later'])
    await send('of another', 2)
    await hook.got(2)
    await hook.becomes(({ waiting, behind }) => waiting === 2 && behind === 0, 'two waiting')
    expect(hook.contents).toEqual(['first', 'of another'])
    for (const attempts of [2, 3, 4, 5]) {
      await place.pass(34 * minuteMs)
      await hook.until(async () => (await storedAttempts()) === attempts, `attempt ${attempts}`)
    }
    await hook.got(3)
    const state = await hook.becomes(({ waiting }) => waiting === 0, 'nothing waiting')
    expect(state).toMatchObject({ dead: 1, behind: 0, state: 'enabled' })
    expect(hook.contents).toEqual(['first', 'of another', 'later'])
    const bad = hook.requests.filter((request) => content(request) === 'bad')
    expect(bad).toHaveLength(5)
    await hook.until(
      async () => (await hook.attempts({ failed: 'true' })).length === 5,
      'five failed attempts',
    )
    const failed = await hook.attempts({ failed: 'true' })
    expect(failed.map(({ attempt }) => attempt)).toEqual([5, 4, 3, 2, 1])
    for (const { attempt, at, next_at, status, outcome } of failed) {
      expect({ status, outcome }).toEqual({ status: 422, outcome: 'refused' })
      if (attempt === 5) expect(next_at).toBe(0)
      else expect(next_at).toBeGreaterThan(at)
    }
    const ids = new Set(bad.map(({ headers }) => headers['webhook-id']))
    expect(ids.size).toBe(1)

    hook.answer = () => undefined
    expect(await hook.replay({ dead: true })).toMatchObject({ dead: 1 })
    const events = await hook.got(4)
    expect(events.at(-1)).toMatchObject({ id: [...ids][0], data: { content: 'bad' } })
    await hook.becomes(({ dead }) => dead === 0, 'no dead letter')
  })

  once(
    'an endpoint that is down: gets everything in order when it answers again, and its health shows',
    async () => {
      const hook = await place.hook(onlyMessages)
      hook.answer = () => ({ status: 503 })
      const texts = Array.from({ length: 12 }, (_, index) => `${index}`)
      await sendAll(texts.slice(0, 6))
      const down = await hook.becomes(({ next_try_at }) => next_try_at > 0, 'its next try')
      expect(down).toMatchObject({ state: 'enabled', dead: 0, waiting: 0 })
      expect(down.failing_since).toBeGreaterThan(0)
      await sendAll(texts.slice(6))
      hook.answer = () => undefined
      await place.pass(6_000)
      await hook.got(12)
      expect(hook.contents).toEqual(texts)
      const up = await hook.becomes(({ behind }) => behind === 0, 'the head')
      expect(up).toMatchObject({ next_try_at: 0, failing_since: 0 })
    },
  )

  once('410: disables the endpoint, and another endpoint is told', async () => {
    const other = await place.hook({ kinds: ['webhook.disabled'] })
    const hook = await place.hook(onlyMessages)
    hook.answer = () => ({ status: 410 })
    await send('unwanted')
    const state = await hook.becomes(({ state }) => state === 'disabled', 'disabled')
    expect(state.state_reason).toBe('gone')
    const [event] = await other.got(1)
    expect(event).toMatchObject({
      type: 'webhook.disabled',
      key: 'app',
      data: { endpoint_id: hook.id, reason: 'gone' },
    })
    // Enabled again, it goes on where it was.
    hook.answer = () => undefined
    await hook.update({ state: 'enabled' })
    await hook.got(1)
    expect(hook.contents).toEqual(['unwanted'])
  })

  once('three days of failures: disable the endpoint', async () => {
    const hook = await place.hook(onlyMessages)
    hook.answer = () => ({ status: 500 })
    await send('lost')
    await hook.tried(1)
    for (let tries = 1; hook.requests.length < 17; tries++) {
      const { state } = await hook.becomes(
        ({ state, next_try_at }) =>
          state === 'disabled' ||
          (hook.requests.length >= tries && next_try_at > place.server.clock.now()),
        `try ${tries}`,
      )
      if (state === 'disabled') break
      await place.pass(6 * hourMs)
    }
    const state = await hook.state()
    expect(state).toMatchObject({ state: 'disabled', state_reason: 'failing' })
    expect(hook.requests.length).toBeGreaterThan(10)
  })

  once('batches: hold events of several conversations, each in order, up to the size', async () => {
    const hook = await place.hook({ ...onlyMessages, batch_size: 10, concurrency: 1 })
    hook.answer = () => ({ status: 200, delayMs: 50 })
    const texts = Array.from({ length: 10 }, (_, index) => `${index}`)
    await Promise.all([1, 2, 3].map((to) => sendAll(texts, to)))
    const events = await hook.got(30)
    for (const request of hook.requests) {
      expect(Array.isArray(JSON.parse(request.body))).toBe(true)
      expect(request.events.length).toBeLessThanOrEqual(10)
      expect(request.headers['webhook-id']).toBe(request.events[0]?.id)
    }
    expect(Math.max(...hook.requests.map(({ events }) => events.length))).toBeGreaterThan(1)
    for (const to of [1, 2, 3]) {
      const ofUser = events.filter(({ data }) => data.conversation.high_id === users[to])
      expect(ofUser.map(({ data }) => data.content)).toEqual(texts)
    }
  })

  once('a refused batch: its events are sent alone, and only the refused one waits', async () => {
    const hook = await place.hook({ ...onlyMessages, batch_size: 20, concurrency: 1 })
    const hasBad = ({ events }: ReceivedRequest) =>
      events.some(({ data }) => data.content === 'bad')
    hook.answer = (request) => (hasBad(request) ? { status: 400 } : { status: 200, delayMs: 20 })
    for (let to = 1; to <= 6; to++) await send(to === 3 ? 'bad' : 'good', to)
    await hook.got(5)
    const state = await hook.becomes(({ waiting }) => waiting === 1, 'one waiting')
    expect(state.dead).toBe(0)
    expect(hook.contents).toEqual(Array(5).fill('good'))
  })

  once('the format callback: messages only, with the secret as a header', async () => {
    const hook = await place.hook({ format: 'callback' })
    await place.server.api.newSession()
    await send('old form')
    await hook.until(() => hook.accepted.length > 0, 'a message')
    expect(hook.requests).toHaveLength(1)
    expect(JSON.parse(hook.requests[0]?.body ?? '')).toMatchObject({
      appId: 'test',
      from: { uid: users[0] },
      to: { uid: users[1] },
      type: 'CHAT',
      ctype: 'TEXT',
      content: 'old form',
    })
  })

  it('later attempts: a recalled message is left out, an edited one has its new text', async () => {
    const hook = await place.hook(onlyMessages)
    hook.answer = () => ({ status: 422 })
    const recalled = await send('recalled')
    const edited = await send('first text', 2)
    await hook.becomes(({ waiting }) => waiting === 2, 'two waiting')
    const sender = place.server.api.admin({ userId: users[0] as number })
    const answers = [
      await recall(sender, users[1] as number, recalled),
      await operate(sender, 'replace', {
        ...{ peer: users[2] as number, message: edited },
        content: 'second text',
      }),
    ]
    expect(answers.map(({ code }) => code)).toEqual([answerCode.ok, answerCode.ok])
    hook.answer = () => undefined
    await place.pass(minuteMs)
    await hook.becomes(({ waiting }) => waiting === 0, 'nothing waiting')
    expect(hook.contents).toEqual(['second text'])
  })

  once(
    'filters: kinds and receivers choose the events, and the position moves past the others',
    async () => {
      const [ofUser, nothing] = [
        await place.hook({ ...onlyMessages, receivers: [users[2]] }),
        await place.hook({ kinds: ['webhook.disabled'] }),
      ]
      await send('for 1', 1)
      await send('for 2', 2)
      await ofUser.got(1)
      expect(ofUser.contents).toEqual(['for 2'])
      for (const hook of [ofUser, nothing])
        await hook.becomes(({ behind }) => behind === 0, 'the head')
      expect(nothing.requests).toEqual([])
    },
  )

  it('a new endpoint: gets every event that is committed after the answer', async () => {
    let isOver = false
    const sent: { readonly text: string; readonly at: number }[] = []
    const flow = (async () => {
      for (let index = 0; !isOver; index++) {
        sent.push({ text: `${index}`, at: performance.now() })
        await send(`${index}`)
      }
    })()
    while (sent.length < 10) await send('meanwhile', 2)
    const hook = await place.hook({ ...onlyMessages, receivers: [users[1]] })
    const answeredAt = performance.now()
    while (sent.filter(({ at }) => at > answeredAt).length < 10) await send('meanwhile', 2)
    isOver = true
    await flow
    await send('end')
    await hook.until(() => hook.contents.includes('end'), 'the end')
    const expected = sent.filter(({ at }) => at > answeredAt).map(({ text }) => text)
    expect(hook.contents.slice(-expected.length - 1)).toEqual([...expected, 'end'])
    expect(hook.contents.length).toBeLessThan(sent.length)
  })

  it('a replay: by time, kind and key, with the old IDs', async () => {
    const hook = await place.hook()
    await send('before')
    await hook.becomes(({ behind }) => behind === 0, 'the head')
    await place.pass(minuteMs)
    const from = place.server.clock.now()
    await send('to 1')
    await send('to 2', 2)
    await hook.becomes(({ behind }) => behind === 0, 'the head')
    const ids = new Map(hook.events.map(({ id, data }) => [data.content, id]))
    const before = hook.accepted.length
    await hook.replay({ from, kinds: ['message.stored'], key: `d:${users[0]}:${users[2]}` })
    await hook.until(() => hook.accepted.length > before, 'the replay')
    await hook.becomes(({ waiting }) => waiting === 0, 'nothing waiting')
    const replayed = hook.accepted.slice(before).flatMap(({ events }) => events)
    expect(replayed.map(({ id, data }) => [data.content, id])).toEqual([['to 2', ids.get('to 2')]])
  })

  it('a replay: has what was delivered until the call, and new events of its key come after it', async () => {
    const hook = await place.hook({ ...onlyMessages, concurrency: 1 })
    const texts = Array.from({ length: 5 }, (_, index) => `${index}`)
    const from = place.server.clock.now()
    await sendAll(texts)
    await hook.until(() => hook.accepted.length === 5, 'five requests')
    await hook.replay({ from, key: `d:${users[0]}:${users[1]}` })
    await send('new')
    await hook.until(() => hook.accepted.length === 11, 'eleven requests')
    expect(hook.accepted.map(content)).toEqual([...texts, ...texts, 'new'])
    const bodies = hook.accepted.map(({ body }) => body)
    expect(bodies.slice(5, 10)).toEqual(bodies.slice(0, 5))
  })

  once(
    'an update of the description: tries nothing, resets nothing, and ends no request',
    async () => {
      const hook = await place.hook(onlyMessages)
      hook.answer = (request) =>
        content(request) === 'slow' ? { status: 204, delayMs: 300 } : { status: 422 }
      await send('bad')
      const before = await hook.becomes(({ waiting }) => waiting === 1, 'one waiting')
      await send('slow', 2)
      await hook.tried(2)
      for (const description of ['a', 'b', 'c']) await hook.update({ description })
      await hook.becomes(({ behind }) => behind === 0, 'the answer of the slow request')
      await send('good', 3)
      await hook.becomes(({ behind }) => behind === 0, 'the head')
      expect(hook.requests.map(content)).toEqual(['bad', 'slow', 'good'])
      expect(await storedAttempts()).toBe(1)
      expect((await hook.state()).failing_since).toBeGreaterThanOrEqual(before.failing_since)
    },
  )

  once('an update of the description: an endpoint that is down stays down', async () => {
    const hook = await place.hook(onlyMessages)
    hook.answer = () => ({ status: 503 })
    await send('lost')
    const before = await hook.becomes(({ next_try_at }) => next_try_at > 0, 'its next try')
    const changed = await hook.update({ description: 'another', timeout_ms: 20_000 })
    expect([changed.next_try_at, changed.failing_since]).toEqual([
      before.next_try_at,
      before.failing_since,
    ])
    await place.look()
    expect(hook.requests).toHaveLength(1)
  })

  it('forced attempts: any number of them leaves the event its five', async () => {
    const hook = await place.hook(onlyMessages)
    refuse(hook, 'bad')
    await send('bad')
    await hook.becomes(({ waiting }) => waiting === 1, 'one waiting')
    for (let tries = 2; tries <= 8; tries++) {
      await hook.update({ state: 'enabled' })
      await hook.tried(tries)
      await hook.until(
        async () =>
          Number((await place.server.sql.run('select next_at from webhook_events'))[0]?.next_at) >
          1,
        'the next attempt',
      )
    }
    expect(await hook.state()).toMatchObject({ waiting: 1, dead: 0 })
    expect(await storedAttempts()).toBe(1)
    hook.answer = () => undefined
    await hook.update({ state: 'enabled' })
    await hook.got(1)
    const bodies = new Set(hook.requests.map(({ body }) => body))
    expect(bodies.size).toBe(1)
  })

  once(
    'an update acts with its answer: nothing is sent to a disabled endpoint or an old URL',
    async () => {
      const hook = await place.hook(onlyMessages)
      const next = await place.hook({ kinds: ['webhook.disabled'] })
      const other = await place.hook(onlyMessages)
      for (let round = 1; round <= 5; round++) {
        await hook.update({ url: place.receiver.url + next.path, state: 'enabled' })
        await send(`next ${round}`)
        await next.got(round)
        await hook.becomes(({ behind }) => behind === 0, 'the head')
        await hook.update({ url: place.receiver.url + hook.path, state: 'disabled' })
        await send(`none ${round}`)
        await other.got(2 * round)
        // What came while it was disabled follows.
        await hook.update({ state: 'enabled' })
        await hook.got(round)
        await hook.becomes(({ behind }) => behind === 0, 'the head')
      }
      const rounds = [1, 2, 3, 4, 5]
      expect(next.contents).toEqual(rounds.map((round) => `next ${round}`))
      expect(hook.contents).toEqual(rounds.map((round) => `none ${round}`))
    },
  )

  once('a changed URL: the events in flight reach the new one', async () => {
    const hook = await place.hook(onlyMessages)
    const next = await place.hook({ kinds: ['webhook.disabled'] })
    hook.answer = () => 'silence'
    await sendAll(['one', 'two'])
    await hook.tried(1)
    await hook.update({ url: place.receiver.url + next.path })
    await next.got(2)
    expect(next.contents).toEqual(['one', 'two'])
  })

  it('a deleted endpoint: its request in flight ends, and no row of it stays', async () => {
    const hook = await place.hook(onlyMessages)
    hook.answer = () => ({ status: 422, delayMs: 200 })
    await sendAll(['one', 'two'])
    await hook.tried(1)
    await place.clear()
    await send('later')
    for (const table of ['webhook_endpoints', 'webhook_events'])
      expect(
        await place.server.sql.run(`select * from ${table} where endpoint_id = ${hook.id}`),
        table,
      ).toEqual([])
  })

  once(
    'a stop: ends within seconds, and a request that is answered in time is not repeated',
    async () => {
      const [slow, silent] = [await place.hook(onlyMessages), await place.hook(onlyMessages)]
      slow.answer = () => ({ status: 200, delayMs: 300 })
      silent.answer = () => 'silence'
      await send('in flight')
      await slow.tried(1)
      await silent.tried(1)
      const startedAt = performance.now()
      await place.server.stop()
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      silent.answer = () => undefined
      await place.server.startAgain()
      await silent.got(1)
      await slow.becomes(({ behind }) => behind === 0, 'the head')
      expect([slow.requests.length, silent.requests.length]).toEqual([1, 2])
    },
  )

  once('a restart: what waits keeps its time and its order, what is new follows', async () => {
    const hook = await place.hook(onlyMessages)
    refuse(hook, 'bad')
    await sendAll(['first', 'bad', 'later'])
    await hook.becomes(({ waiting }) => waiting === 2, 'two waiting')
    await place.server.stop()
    await place.server.startAgain()
    await send('newest')
    await send('of another', 2)
    await hook.becomes(({ waiting }) => waiting === 3, 'three waiting')
    expect(hook.requests.filter((request) => content(request) === 'bad')).toHaveLength(1)
    hook.answer = () => undefined
    await place.pass(minuteMs)
    await hook.got(5)
    const ofKey = hook.events.filter(({ key }) => key === `d:${users[0]}:${users[1]}`)
    expect(ofKey.map(({ data }) => data.content)).toEqual(['first', 'bad', 'later', 'newest'])
  })
})
