/** Reading the log of events: GET /events, its consumers and its waiting calls. */
import { once } from 'node:events'
import { request } from 'node:http'
import type { EventPage } from '@hermod/protocol'
import { type Answer, anyBackend, GatewayClient, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { type InProcessServer, ownServer } from '../support/in-process-server.js'
import { FieldChanges } from '../support/messaging/field-changes.js'

const patience = { timeoutMs: 30_000 }

type Query = Readonly<Record<string, string | number | undefined>>

/** An application that a test has for itself. */
class EventApp {
  #users = 0

  private constructor(
    readonly server: InProcessServer,
    readonly appId: string,
    readonly token: string,
  ) {}

  static async create(server: InProcessServer): Promise<EventApp> {
    const appId = `events-${Math.random().toString(36).slice(2)}`
    const { data } = await server.api
      .as(server.operatorToken)
      .succeed('POST', '/operator/v1/app/create', { body: { app_id: appId } })
    return new EventApp(server, appId, data.admin_token)
  }

  call(method: string, path: string, more: { query?: Query; body?: unknown } = {}) {
    const { appId, token } = this
    return this.server.api.call(method, path, { ...more, appId, token })
  }

  read(query: Query): Promise<Answer> {
    return this.call('GET', '/events', { query })
  }

  async page(query: Query): Promise<EventPage> {
    const answer = await this.read(query)
    expect(answer.text).toContain('"code":200')
    return answer.data as EventPage
  }

  acknowledge(consumer: string, cursor: string): Promise<Answer> {
    return this.call('POST', '/events/ack', { body: { consumer, cursor } })
  }

  async newUser(): Promise<number> {
    const name = `user_${++this.#users}`
    return (await this.server.api.register(name, undefined, this.appId)).id
  }

  /** Appends an event with the key u:<user>. */
  async rename(userId: number): Promise<void> {
    const { appId, token } = this
    const query = { nick_name: `nick ${Math.random()}` }
    const answer = await this.server.api.call('POST', '/user/nickname', {
      ...{ query, appId, token, userId },
    })
    expect(answer.code).toBe(answerCode.ok)
  }

  async send(from: number, to: readonly number[], content = 'hello'): Promise<void> {
    const body = { type: 1, content_type: 0, targets: to, content }
    const { appId, token } = this
    const path = '/message/send'
    const answer = await this.server.api.call('POST', path, { body, appId, token, userId: from })
    expect(answer.text).toContain('"code":200')
  }

  /** Calls over HTTP, which the other calls do not use. */
  overHttp(query: string, accept: string) {
    const url = new URL(`/events?${query}`, this.server.url)
    const headers = { app_id: this.appId, 'access-token': this.token, accept }
    return request(url, { headers, agent: false })
  }
}

describe.each(testBackends())('the log of events on $name', (backend) => {
  const server = ownServer(backend)

  afterAll(async () => {})

  it('every event comes once, in the order of the commits, from any cursor on', async () => {
    const app = await EventApp.create(server)
    const [ann, ben, cleo] = [await app.newUser(), await app.newUser(), await app.newUser()]
    await app.send(ann, [ben, cleo])
    await app.rename(ben)
    const whole = await app.page({ after: '' })
    expect(whole.events.map(({ type }) => type)).toEqual([
      'message.stored',
      'message.stored',
      'user.info_updated',
    ])
    expect(whole).toMatchObject({ more: false })
    expect(whole.events[2]).toMatchObject({ key: `u:${ben}`, app_id: app.appId })
    const seen = await Promise.all(
      whole.events.map(async ({ cursor }) => (await app.page({ after: cursor })).events),
    )
    expect(seen).toEqual([whole.events.slice(1), whole.events.slice(2), []])
    const first = await app.page({ after: '', limit: 1 })
    expect(first).toMatchObject({ events: whole.events.slice(0, 1), more: true })
    expect(await app.page({ after: first.cursor })).toEqual({
      ...whole,
      events: whole.events.slice(1),
    })
  })

  it('kinds and key leave events out, and the cursor passes them', async () => {
    const app = await EventApp.create(server)
    const [ann, ben] = [await app.newUser(), await app.newUser()]
    await app.rename(ann)
    await app.send(ann, [ben])
    await app.rename(ben)
    const { cursor } = await app.page({ after: '' })
    const kinds = await app.page({ after: '', kinds: 'message.stored,group.created' })
    expect(kinds.events.map(({ type }) => type)).toEqual(['message.stored'])
    const keyed = await app.page({ after: '', key: `u:${ann}` })
    expect(keyed.events.map(({ key }) => key)).toEqual([`u:${ann}`])
    expect([kinds.cursor, keyed.cursor]).toEqual([cursor, cursor])
  })

  it('changed fields of messages are no events for other systems, and the cursor passes them', async () => {
    const app = await EventApp.create(server)
    const [ann, ben] = [await app.newUser(), await app.newUser()]
    await app.send(ann, [ben])
    const { events, cursor } = await app.page({ after: '' })
    await using changes = new FieldChanges(server.place)
    const messageId = Number(events[0]?.data.msg_id)
    const change = { messageId, actorId: ann, set: { pinned: { by: ann, at: 1 } } }
    await changes.direct(app.appId, [ann, ben], change)
    const passed = await app.page({ after: cursor })
    expect(passed.events).toEqual([])
    expect(passed.cursor).not.toBe(cursor)
    await app.rename(ben)
    expect((await app.page({ after: cursor })).events).toHaveLength(1)
  })

  it('rows that are gone are reported as missed', async () => {
    const app = await EventApp.create(server)
    const user = await app.newUser()
    const { cursor } = await app.page({ after: '' })
    for (let count = 0; count < 3; count++) await app.rename(user)
    await server.sql.run(`delete from outbox where app_id = '${app.appId}' and position <= 2`)
    const page = await app.page({ after: cursor })
    expect(page.missed).toMatchObject({ from_position: 1, to_position: 2, positions: 2 })
    expect(page.events).toHaveLength(1)
    expect(await app.page({ after: '' })).not.toHaveProperty('missed')
  })

  it('a consumer begins at the end, reads the same until it acknowledges, and moves forwards only', async () => {
    const app = await EventApp.create(server)
    const user = await app.newUser()
    await app.rename(user)
    const start = await app.page({ consumer: 'crm' })
    expect(start.events).toEqual([])
    await app.rename(user)
    await app.rename(user)
    const page = await app.page({ consumer: 'crm' })
    expect(page.events).toHaveLength(2)
    expect(await app.page({ consumer: 'crm' })).toEqual(page)
    const [first] = page.events
    for (const cursor of [first?.cursor ?? '', start.cursor])
      await expectCode(app.acknowledge('crm', cursor), 'ok')
    expect((await app.page({ consumer: 'crm' })).events).toEqual(page.events.slice(1))
    const { data } = await app.call('GET', '/events/consumer/list')
    expect(data).toMatchObject([{ name: 'crm', behind: 1, cursor: first?.cursor }])
  })

  it('the 21st consumer is refused, and one can be deleted', async () => {
    const app = await EventApp.create(server)
    const names = Array.from({ length: 21 }, (_, index) => `consumer-${index}`)
    const answers = await Promise.all(names.map((consumer) => app.read({ consumer })))
    const refused = answers.findIndex(({ code }) => code !== answerCode.ok)
    expect(answers.filter(({ code }) => code === answerCode.ok)).toHaveLength(20)
    expect(answers[refused]?.code).toBe(answerCode.event_consumer_limit_reached)
    const remove = (consumer = '') =>
      app.call('POST', '/events/consumer/delete', { body: { consumer } })
    await expectCode(remove(names[refused]), 'event_consumer_not_found')
    await expectCode(remove(names[(refused + 1) % 21]), 'ok')
    await expectCode(app.read({ consumer: names[refused] }), 'ok')
  })

  it('a waiting call gets the next event at once, and one that it leaves out does not end it', async () => {
    const app = await EventApp.create(server)
    const [ann, ben] = [await app.newUser(), await app.newUser()]
    const { cursor } = await app.page({ after: '' })
    const waiting = app.page({ after: cursor, wait: 30, key: `u:${ben}` })
    await app.rename(ann)
    await app.rename(ben)
    const { events } = await waiting
    expect(events.map(({ key }) => key)).toEqual([`u:${ben}`])
  })
})

describe.each(anyBackend())('readers of the log of events on $name', (backend) => {
  const server = ownServer(backend)
  let app: EventApp

  beforeAll(async () => {
    app = await EventApp.create(server)
    await app.rename(await app.newUser())
  })
  it('a cursor of another application, of another database, after the end or of no log is refused with the reason', async () => {
    const { cursor } = await app.page({ after: '' })
    const [epoch, appId, position] = cursor.split('~')
    const other = await EventApp.create(server)
    const refusals: [EventApp, string, string][] = [
      [other, cursor, 'of another application'],
      [app, cursor.replace(epoch ?? '', '00000000'), 'restored or replaced'],
      [app, [epoch, appId, `${position}zz`, '0'].join('~'), 'after the end of the log'],
      [app, 'nonsense', ''],
    ]
    for (const [caller, after, reason] of refusals)
      for (const answer of [await caller.read({ after }), await caller.acknowledge('x', after)]) {
        expect(answer.code).toBe(answerCode.event_cursor_invalid)
        expect(answer.text).toContain(reason)
      }
  })

  it('parameters that say nothing, too much or name no kind are refused by name', async () => {
    const refusals: [Query, string][] = [
      [{}, 'after or consumer is required'],
      [{ after: '', consumer: 'x' }, 'after and consumer must not be given together'],
      [{ after: '', kinds: 'message.stored,message.lost' }, '\\"message.lost\\" is none'],
      [{ after: '', kinds: 'change.skipped' }, '\\"change.skipped\\" is none'],
      [{ after: '', limit: 1_001 }, 'limit must'],
      [{ after: '', wait: 31 }, 'wait must'],
      [{ consumer: 'two words' }, 'consumer must'],
    ]
    for (const [query, words] of refusals) {
      const answer = await app.read(query)
      expect(answer.code).toBe(answerCode.invalid_parameter)
      expect(answer.text).toContain(words)
    }
  })

  it('the operator reads the log of an application, and of no unknown one', async () => {
    const operator = server.api.as(server.operatorToken)
    const read = (app_id: string) =>
      operator.call('GET', '/operator/v1/events', { query: { app_id, after: '' } })
    expect((await read(app.appId)).data).toEqual(await app.page({ after: '' }))
    await expectCode(read('unknown'), 'app_not_found')
  })

  it('with application/x-ndjson each event is a line, and the last line has the cursor', async () => {
    const page = await app.page({ after: '' })
    const call = app.overHttp('after=', 'application/json;q=0.5, application/x-ndjson').end()
    const [response] = await once(call, 'response')
    expect(response.headers['content-type']).toBe('application/x-ndjson')
    const text: string = Buffer.concat(await response.toArray()).toString()
    const { events, ...rest } = page
    expect(text.split('\n')).toEqual([...[...events, rest].map((each) => JSON.stringify(each)), ''])
  })

  it('with application/x-ndjson a failure is the envelope of JSON', async () => {
    const [response] = await once(app.overHttp('after=x', 'application/x-ndjson').end(), 'response')
    expect(response.headers['content-type']).toContain('application/json')
    const { code } = JSON.parse(Buffer.concat(await response.toArray()).toString())
    expect(code).toBe(answerCode.event_cursor_invalid)
  })

  /** Ten calls that wait: an eleventh was refused. */
  async function tenWaiting() {
    const { cursor } = await app.page({ after: '' })
    const query = `after=${encodeURIComponent(cursor)}&wait=30`
    const calls = Array.from({ length: 11 }, () => {
      const call = app
        .overHttp(query, 'application/json')
        .on('error', () => {})
        .end()
      const answer = once(call, 'response').then(async ([response]) =>
        JSON.parse(Buffer.concat(await response.toArray()).toString()),
      )
      answer.catch(() => {})
      return { call, answer }
    })
    const refused = await Promise.race(
      calls.map(async (each) => ({ ...each, code: (await each.answer).code })),
    )
    expect(refused.code).toBe(answerCode.too_many_event_readers)
    return { cursor, calls: calls.filter(({ call }) => call !== refused.call) }
  }

  it('10 calls of an application wait; the 11th is refused until a caller goes away', async () => {
    const { calls } = await tenWaiting()
    const read = async (reader: EventApp) => (await reader.read({ after: '', wait: 1 })).code
    expect(await read(app)).toBe(answerCode.too_many_event_readers)
    const other = await EventApp.create(server)
    await other.rename(await other.newUser())
    expect(await read(other)).toBe(answerCode.ok)
    calls[0]?.call.destroy()
    await waitFor(async () => (await read(app)) === answerCode.ok, {
      what: 'another call may wait',
      ...patience,
    })
    for (const { call } of calls) call.destroy()
  })

  it('a call that waits shows nothing to a token that has been revoked meanwhile', async () => {
    const own = await EventApp.create(server)
    const userId = await own.newUser()
    const operator = server.api.as(server.operatorToken)
    const { appId } = own
    const { data } = await operator.succeed('POST', '/operator/v1/token/create', {
      body: { app_id: appId, name: 'reader' },
    })
    const query = { consumer: 'reader', wait: 30 }
    const read = server.api.call('GET', '/events', { appId, token: data.token, query })
    const begun = async () => (await own.call('GET', '/events/consumer/list')).data.length > 0
    await waitFor(begun, { what: 'the call has begun', ...patience })
    const body = { app_id: appId, token_id: data.token_id }
    await operator.succeed('POST', '/operator/v1/token/revoke', { body })
    await own.rename(userId)
    expect(await read).toMatchObject({ code: answerCode.token_expired, data: null })
  })

  it('calls over the socket wait too, until an event comes or the connection closes', async () => {
    const own = await EventApp.create(server)
    const userId = await own.newUser()
    const { appId, token } = own
    const client = await GatewayClient.connect(server.url)
    await client.open({ appId, accessToken: token, userId })
    const query = { after: 'now', wait: 30, kinds: 'user.info_updated' }
    /** Ten calls that wait: an eleventh was refused. @returns the codes of all answers */
    const tenCalls = async () => {
      const calls = Array.from({ length: 11 }, () => client.call('events.read', query))
      const codes = Promise.all(calls.map(async (call) => (await call).code))
      codes.catch(() => {})
      await expectCode(Promise.race(calls), 'too_many_event_readers')
      return { codes }
    }
    const answered = await tenCalls()
    await own.rename(userId)
    expect((await answered.codes).filter((code) => code === answerCode.ok)).toHaveLength(10)
    const cut = await tenCalls()
    client[Symbol.dispose]()
    await expect(cut.codes).rejects.toThrow()
    await waitFor(async () => (await own.read({ after: '', wait: 1 })).code === answerCode.ok, {
      what: 'another call may wait',
      ...patience,
    })
  })

  it('a stop of the service answers the calls that wait', async () => {
    app = await EventApp.create(server)
    const { calls, cursor } = await tenWaiting()
    await server.stop()
    for (const { answer } of calls)
      expect(await answer).toMatchObject({ code: 200, data: { events: [], cursor, more: false } })
    await server.startAgain()
  })
})
