/** Limits by address, user and application, and the slow-down of failed logins (rules A2, A2a, D2). */
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type Backend,
  type CallOptions,
  isFullRun,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { fetchAs, pathOf, SlowUpload, sendFile, ticketFor, upload } from '../support/files/files.js'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText } from '../support/messaging/messaging.js'

const patience = { timeoutMs: 40_000, everyMs: 100 }

/** A service with such limits, which tests call over HTTP. */
function startLimited(
  backend: Backend,
  env: Readonly<Record<string, string>>,
): Promise<InProcessServer> {
  return InProcessServer.start(backend, {
    ...{ HERMOD_TRUST_PROXY: 'on', HERMOD_RATE_LIMIT: 'on' },
    ...env,
  })
}

function from(address: string): CallOptions {
  return { headers: { 'x-forwarded-for': address } }
}

/** Sends calls all at once. */
function flood(count: number, call: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)))
}

/** By code, how many answers. */
function codes(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { code } of answers) counts[code] = (counts[code] ?? 0) + 1
  return counts
}

function expectToSayWhen(answers: readonly Answer[]): void {
  for (const { headers } of answers) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
}

describe.each(anyBackend())('limits on $name', (backend) => {
  it('rate of a user: refusals answer HTTP 200 with the time to wait and concern no other user', async () => {
    await using server = await startLimited(backend, {
      HERMOD_USER_RATE: '1',
      HERMOD_USER_BURST: '10',
    })
    const [alice, bob] = [await server.http.newSession(), await server.http.newSession()]
    const tablet = await server.http.login(alice, 'tablet')
    const profile = (api: Api) => api.call('GET', '/user/profile')
    const answers = await flood(80, (index) => profile(index % 2 ? alice.api : tablet.api))
    const refused = answers.filter(({ code }) => code !== 200)
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(10)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, envelope } of refused)
      expect([status, envelope]).toEqual([
        200,
        { code: answerCode.too_many_requests, data: null, message: 'too many requests' },
      ])
    expectToSayWhen(refused)
    expect((await profile(bob.api)).code).toBe(200)
    expect(codes(await flood(80, () => profile(server.http.admin({ userId: alice.id }))))).toEqual({
      200: 80,
    })
    await waitFor(async () => (await profile(alice.api)).code === 200, {
      what: 'the end of the refusal',
      ...patience,
    })
  })

  it('rate of a bot: has settings of its own', async () => {
    await using server = await startLimited(backend, {
      ...{ HERMOD_USER_RATE: '1', HERMOD_USER_BURST: '1' },
      ...{ HERMOD_BOT_RATE: '1', HERMOD_BOT_BURST: '60' },
    })
    const body = { issuer: 'app', subject: 'bot', create: { is_bot: true } }
    const { data } = await server.http.admin().succeed('POST', '/token/issue', { body })
    const bot = server.http.as(data.token)
    const answers = codes(await flood(120, () => bot.call('GET', '/user/profile')))
    expect(answers[200]).toBeGreaterThanOrEqual(60)
    expect(answers[answerCode.too_many_requests]).toBeGreaterThan(0)
  })

  it('rate of an application: counts all callers without an Admin token and no other application', async () => {
    await using server = await startLimited(backend, {
      HERMOD_APP_RATE: '1',
      HERMOD_APP_BURST: '20',
    })
    const { data: other } = await server.http
      .as(server.operatorToken)
      .succeed('POST', '/operator/v1/app/create')
    const admin = server.http.admin()
    const { token } = await admin.newSession()
    const answers = await flood(120, (index) =>
      index % 2
        ? server.http.call('POST', '/token/id', { body: {} })
        : server.http.as(token).call('GET', '/user/profile'),
    )
    const refused = answers.filter(({ code }) => code === answerCode.too_many_requests)
    expect(refused.length).toBeGreaterThan(0)
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(20)
    for (const { status } of refused) expect(status).toBe(200)
    expectToSayWhen(refused)
    await expectCode(
      server.http.call('POST', '/token/id', { appId: other.app_id, body: {} }),
      'invalid_parameter',
    )
    expect(codes(await flood(120, () => admin.call('GET', '/user/list')))).toEqual({ 200: 120 })
  })

  it('rate of an address: a valid Admin token is always served, an invented one is not', async () => {
    await using server = await startLimited(backend, {
      HERMOD_ADDRESS_RATE: '1',
      HERMOD_ADDRESS_BURST: '5',
    })
    const { http: api } = server
    const checked = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 200)
    const users = await flood(60, () => api.as('hmu_made_up').call('GET', '/user/profile'))
    expect(
      users.some(({ status, code }) => status === 429 && code === answerCode.address_limited),
    ).toBe(true)
    expect((await api.admin().call('GET', '/user/list')).code).toBe(200)
    expect(codes(await flood(60, () => api.admin().call('GET', '/user/list')))).toEqual({ 200: 60 })

    const madeUp = await flood(60, (index) =>
      api.as(`hma_${index}`.padEnd(40, 'x')).call('GET', '/user/list', from('192.0.2.9')),
    )
    expect(checked(madeUp).length).toBeGreaterThanOrEqual(5)
    expect(codes(checked(madeUp))).toEqual({ [answerCode.token_invalid]: checked(madeUp).length })
    const refused = madeUp.filter(({ status }) => status === 429)
    expect(refused.length).toBe(60 - checked(madeUp).length)
    expect(refused.length).toBeGreaterThan(0)
    expectToSayWhen(refused)
    expect(
      codes(await flood(60, () => api.admin().call('GET', '/user/list', from('192.0.2.9')))),
    ).toEqual({ 200: 60 })
  })

  describe('bytes of files', () => {
    const megabyte = 1_000_000
    /** So little comes back that nothing does while a test runs. */
    const little = { HERMOD_USER_FILE_RATE: '1024', HERMOD_USER_FILE_BURST: String(megabyte) }
    const fileOf = (bytes: number) => Buffer.alloc(bytes, 1)
    const ticketTo = async (api: Api, to: Session) =>
      (await ticketFor(api, { to_id: to.id })).envelope.data

    let server: InProcessServer
    beforeAll(async () => {
      server = await startLimited(backend, little)
    })
    afterAll(() => server?.[Symbol.asyncDispose]())

    it('bound reached: the file in progress ends, then the user is refused files and nothing else', async () => {
      const [alice, bob] = [await server.http.newSession(), await server.http.newSession()]
      const picture = await sendFile(alice.api, { to_id: bob.id }, fileOf(300_000))
      const large = await sendFile(alice.api, { to_id: bob.id }, fileOf(3 * megabyte))
      const ticket = await ticketTo(alice.api, bob)
      const refused = [
        await upload(server.http, ticket, fileOf(1)),
        await alice.api.call('GET', pathOf(picture)),
        await alice.api.call('GET', pathOf(large)),
      ]
      for (const { status, envelope } of refused)
        expect([status, envelope]).toEqual([
          200,
          {
            code: answerCode.too_many_requests,
            data: null,
            message: 'too many requests: bytes of files',
          },
        ])
      expectToSayWhen(refused)
      await sendText(alice.api, bob.id, 'x', { attachment: large })
      // What somebody fetches counts for them, when it was sent.
      expect(await fetchAs(server.http, bob.token, large)).toHaveLength(3 * megabyte)
      // The last bytes count when they are written, a moment after the client may have them.
      const isRefused = async () =>
        (await fetchAs(server.http, bob.token, picture)) === answerCode.too_many_requests
      await waitFor(isRefused, { what: 'the refusal of a file', timeoutMs: 5_000 })
      const admin = server.http.admin()
      for (let times = 0; times < 3; times++)
        expect((await admin.call('GET', pathOf(large))).text).toHaveLength(3 * megabyte)
    })

    it('refusal over: the refused ticket works', async () => {
      const rate = { HERMOD_USER_FILE_RATE: '1000000', HERMOD_USER_FILE_BURST: String(megabyte) }
      await using server = await startLimited(backend, rate)
      const alice = await server.http.newSession()
      await sendFile(alice.api, { to_id: alice.id }, fileOf(2.5 * megabyte))
      const ticket = await ticketTo(alice.api, alice)
      const answer = await upload(server.http, ticket, fileOf(1))
      expect(answer.code).toBe(answerCode.too_many_requests)
      const isOver = async () => (await upload(server.http, ticket, fileOf(1))).code === 200
      await waitFor(isOver, { what: 'the end of the refusal', ...patience })
    })

    it('upload cut or refused: its bytes count', async () => {
      const alice = await server.http.newSession()
      const tickets = [await ticketTo(alice.api, alice), await ticketTo(alice.api, alice)] as const
      const slow = new SlowUpload(server.http, tickets[0], fileOf(3 * megabyte))
      const isRefused = async () =>
        (await upload(server.http, tickets[1], Buffer.alloc(0))).code ===
        answerCode.too_many_requests
      await waitFor(isRefused, { what: 'what came to be counted', ...patience })
      slow.cut()
      expect(await isRefused()).toBe(true)
    })

    it('upload with a ticket of an Admin token: counts for no user', async () => {
      const alice = await server.http.register()
      const forAlice = server.http.admin({ userId: alice.id })
      for (let times = 0; times < 3; times++)
        await sendFile(forAlice, { to_id: alice.id }, fileOf(2 * megabyte))
    })

    it('upload: counts among the calls in progress of its user', async () => {
      await using server = await startLimited(backend, { HERMOD_USER_CALLS: '2' })
      const [alice, bob] = [await server.http.newSession(), await server.http.newSession()]
      const tickets = [await ticketTo(alice.api, bob), await ticketTo(alice.api, bob)] as const
      const slow = tickets.map((ticket) => new SlowUpload(server.http, ticket, fileOf(1_000)))
      const profile = ({ api }: Session) => api.call('GET', '/user/profile')
      await waitFor(async () => (await profile(alice)).code === answerCode.too_many_requests, {
        what: 'both uploads to be under way',
        ...patience,
      })
      expect((await profile(bob)).code).toBe(200)
      for (const each of slow) expect((await each.finish()).code).toBe(200)
      expect((await profile(alice)).code).toBe(200)
    })

    it('default settings: leave room for a file and its message, in the full run of 100 MiB', async () => {
      const bytes = (isFullRun ? 100 : 1) * 2 ** 20
      await using server = await startLimited(backend, {})
      const [alice, bob] = [await server.http.newSession(), await server.http.newSession()]
      const url = await sendFile(alice.api, { to_id: bob.id }, fileOf(bytes))
      await sendText(alice.api, bob.id, 'x', { attachment: url })
      expect(await fetchAs(server.http, bob.token, url)).toHaveLength(bytes)
      await sendFile(alice.api, { to_id: bob.id }, fileOf(1))
    })
  })

  describe('failed logins', () => {
    const login = (api: Api, user: Account, password = user.password, address = '192.0.2.1') =>
      api.call('POST', '/token/id', { body: { user_id: user.id, password }, ...from(address) })

    /** Logs in wrongly until that has to wait; @returns how often it was checked. */
    async function failUntilSlowed(
      attempt: () => Promise<Answer>,
      failure: number,
    ): Promise<number> {
      for (let failures = 0; failures < 50; failures++) {
        const answer = await attempt()
        if (answer.code !== answerCode.too_many_requests) {
          expect(answer).toMatchObject({ status: 200, code: failure })
          continue
        }
        expect(answer.envelope).toEqual({
          code: answerCode.too_many_requests,
          data: null,
          message: 'too many requests: failed logins',
        })
        expect(answer.status).toBe(200)
        expectToSayWhen([answer])
        return failures
      }
      throw new Error('never slowed down')
    }

    /**
     * Makes sure that a call has to wait after the failures; on a slow machine the wait may be
     * over before the call is made.
     */
    function expectToWait(
      fail: () => Promise<unknown>,
      call: () => Promise<Answer>,
    ): Promise<unknown> {
      const waits = async () => {
        await fail()
        return (await call()).code === answerCode.too_many_requests
      }
      return waitFor(waits, { what: 'a refusal', ...patience })
    }

    const few = {
      HERMOD_RATE_LIMIT: 'off',
      HERMOD_LOGIN_USER_FAILURES: '3',
      HERMOD_LOGIN_MAX_WAIT_SECONDS: '3',
    }

    let server: InProcessServer
    beforeAll(async () => {
      server = await startLimited(backend, few)
    })
    afterAll(() => server?.[Symbol.asyncDispose]())

    it('failed logins: the right password waits too, from the same network, for a bounded time, also without rate limits', async () => {
      const { http: api } = server
      const [alice, bob] = [await api.register(), await api.register()]
      const fail = () =>
        failUntilSlowed(() => login(api, alice, 'wrong'), answerCode.password_incorrect)
      expect(await fail()).toBeGreaterThanOrEqual(3)
      await expectToWait(fail, () => login(api, alice))
      await expectToWait(fail, () =>
        api.call('POST', '/token/user', {
          body: { name: alice.username, password: alice.password },
          ...from('192.0.2.1'),
        }),
      )
      expect((await login(api, bob)).code).toBe(200)
      expect((await login(api, alice, alice.password, '192.0.2.2')).code).toBe(200)
      await waitFor(async () => (await login(api, alice)).code === 200, {
        what: 'the end of the wait',
        ...patience,
      })
      for (let count = 0; count < 2; count++)
        await expectCode(login(api, alice, 'wrong'), 'password_incorrect')
      expect((await login(api, alice)).code).toBe(200)
    })

    it('failed logins at once: no more guesses than one after another', async () => {
      const alice = await server.http.register()
      const answers = await flood(60, () => login(server.http, alice, 'wrong', '192.0.2.60'))
      const checked = answers.filter(({ code }) => code === answerCode.password_incorrect).length
      // Every further one is worth a second and more of waiting.
      expect(checked).toBeGreaterThanOrEqual(3)
      expect(checked).toBeLessThan(10)
      expect(codes(answers)).toEqual({
        [answerCode.password_incorrect]: checked,
        [answerCode.too_many_requests]: 60 - checked,
      })
    })

    it('failed operator tokens: slow the address but not an operator who succeeded there before', async () => {
      const failures = { ...few, HERMOD_LOGIN_ADDRESS_FAILURES: '3' }
      await using server = await startLimited(backend, failures)
      const { api, operatorToken, clock } = server
      const list = (token: string, address: string) =>
        api.as(token).call('GET', '/operator/v1/app/list', from(address))
      const metrics = (token: string, address: string) =>
        api.as(token).call('GET', '/metrics', from(address))
      const guess = () =>
        failUntilSlowed(() => list(`hmo_${'x'.repeat(43)}`, '192.0.2.66'), answerCode.token_invalid)
      expect((await list(operatorToken, '198.51.100.1')).code).toBe(200)
      clock.stop()
      expect(await guess()).toBe(3)
      clock.go()
      await expectToWait(guess, () => list(`hmo_${'y'.repeat(43)}`, '192.0.2.66'))
      const slowed = await waitFor(
        async () => {
          await guess()
          const answer = await metrics(`hmo_${'y'.repeat(43)}`, '192.0.2.66')
          return answer.status === 429 && answer
        },
        { what: 'a refusal of the metrics', ...patience },
      )
      expectToSayWhen([slowed])
      expect((await list(operatorToken, '192.0.2.66')).code).toBe(200)
      expect((await metrics(operatorToken, '192.0.2.66')).status).toBe(200)
      await expectCode(list(`hmo_${'z'.repeat(43)}`, '192.0.2.67'), 'token_invalid')
    })

    it('wrong password at a change of password or a deletion: counts as a failed login', async () => {
      const alice = await server.http.newSession()
      const change = (old_password: string) =>
        alice.api.call('POST', '/user/change_password', {
          body: { old_password, new_password: 'new password' },
        })
      const remove = (password: string) =>
        alice.api.call('POST', '/user/delete', { body: { password } })
      expect(
        await failUntilSlowed(() => change('wrong'), answerCode.password_incorrect),
      ).toBeGreaterThanOrEqual(3)
      await expectToWait(
        () => failUntilSlowed(() => remove('wrong'), answerCode.password_incorrect),
        () => change('wrong'),
      )
      const isDone = async () => (await change(alice.password)).code === 200
      await waitFor(isDone, { what: 'the change of the password', ...patience })
    })

    it('failed logins with unknown names: count for the address but not for users who logged in from it', async () => {
      await using server = await startLimited(backend, {
        ...few,
        HERMOD_LOGIN_ADDRESS_FAILURES: '4',
      })
      const { http: api } = server
      const [known, stranger] = [await api.register(), await api.register()]
      expect((await login(api, known)).code).toBe(200)
      let names = 0
      const guess = () =>
        failUntilSlowed(
          () =>
            api.call('POST', '/token/user', {
              body: { name: `nobody_${++names}`, password: 'x' },
              ...from('192.0.2.1'),
            }),
          answerCode.user_not_found,
        )
      expect(await guess()).toBeGreaterThanOrEqual(4)
      await expectToWait(guess, () => login(api, stranger, 'wrong'))
      expect((await login(api, known)).code).toBe(200)
      expect((await login(api, stranger, stranger.password, '192.0.2.2')).code).toBe(200)
      expect((await login(api.admin(), await api.register())).code).toBe(200)
    })
  })
})
