/** Floods of registrations and logins: they make few users, and keep nobody else waiting (rules A2, A2b). */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type Backend,
  type CallOptions,
  isFullRun,
  type ServerProcess,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  attackMs,
  behindProxy,
  expectUnharmed,
  flood as floodFor,
  Honest,
  metric,
  startAttacked,
} from '../support/attack.js'
import { anApplication } from '../support/messaging/broadcasts.js'
import { holdWrites } from '../support/messaging/held-writes.js'
import { WatchedServer } from '../support/watched-server.js'

/** The service as it is by default, except the addresses, which the test chooses. */
function defaults(env: Record<string, string> = {}): { env: Record<string, string | undefined> } {
  const unset = {
    HERMOD_RATE_LIMIT: undefined,
    HERMOD_LOGIN_USER_FAILURES: undefined,
    HERMOD_LOGIN_ADDRESS_FAILURES: undefined,
  }
  return { env: { ...unset, HERMOD_CHECK_ANSWERS: 'on', HERMOD_TRUST_PROXY: 'on', ...env } }
}

function from(address: string): CallOptions {
  return { headers: { 'x-forwarded-for': address } }
}

/** So many logins and registrations are stored at once. */
const parallelTransactions = 4
/** Each costs a hash, as does each registration of the other floods. */
const manyRegistrations = 300
/** More than are served at once and wait. */
const floodSize = isFullRun ? 120 : 60
let names = 0

function register(api: Api, options: CallOptions): Promise<Answer> {
  const body = { username: `flood_${++names}`, password: 'correct horse' }
  return api.call('POST', '/user/register/v2', { body, ...options })
}

function flood(count: number, call: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)))
}

function withCode(answers: readonly Answer[], code: number): Answer[] {
  return answers.filter((answer) => answer.code === code)
}

function logIn(api: Api, user: Account, address: string): Promise<Answer> {
  const body = { user_id: user.id, password: user.password }
  return api.call('POST', '/token/id', { body, ...from(address) })
}

function update(server: ServerProcess, settings: Record<string, unknown>): Promise<unknown> {
  const body = { app_id: server.appId, settings }
  return server.api.as(server.operatorToken).succeed('POST', '/operator/v1/app/update', { body })
}

/**
 * Records in the database whose logins are stored from now on. The order in which answers arrive is
 * another one when the client is slow.
 *
 * @returns reads the users, the first login first
 */
async function recordLogins(
  { sql }: WatchedServer,
  { name }: Backend,
): Promise<() => Promise<number[]>> {
  const insert = 'insert into stored_logins (user_id) values (new.user_id)'
  const trigger = 'create trigger store_login after insert on user_tokens for each row'
  const statements =
    name === 'sqlite'
      ? [
          'create table stored_logins (position integer primary key, user_id bigint)',
          `${trigger} begin ${insert}; end`,
        ]
      : [
          'create table stored_logins (position bigint generated always as identity, user_id bigint)',
          `create function store_login() returns trigger language plpgsql as 'begin ${insert}; return new; end'`,
          `${trigger} execute function store_login()`,
        ]
  for (const statement of statements) await sql.run(statement)
  return async () => {
    const rows = await sql.run('select user_id from stored_logins order by position')
    return rows.map(({ user_id }) => Number(user_id))
  }
}

function suite(backend: Backend): void {
  it('registrations from one address: 60 users, then 10 a minute', async () => {
    await using server = await backend.startServer(defaults())
    const startedAt = performance.now()
    const count = isFullRun ? 150 : 80
    const answers = await flood(count, () => register(server.api, from('192.0.2.1')))
    const minutes = (performance.now() - startedAt) / 60_000
    const made = withCode(answers, 200).length
    expect(made).toBeGreaterThanOrEqual(60)
    expect(made).toBeLessThanOrEqual(60 + Math.ceil(10 * minutes))
    const refused = withCode(answers, answerCode.address_limited)
    expect(refused.length).toBe(count - made)
    for (const { status, headers, envelope } of refused) {
      expect(status).toBe(429)
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
      expect(envelope.message).toBe('too many requests from this address: registrations')
    }
    const { api } = server
    expect((await register(api, from('192.0.2.2'))).code).toBe(200)
    const free = await flood(5, () => register(api.admin(), from('192.0.2.1')))
    expect(withCode(free, 200).length).toBe(5)
  })

  it('registrations: the settings of the application bound every way of registering', async () => {
    await using server = await backend.startServer(defaults())
    await update(server, { registration_burst: 3, registration_rate: 1 })
    // Settings are known at once where they are changed, and a second later elsewhere.
    const { api } = server
    const bad = await flood(10, () =>
      api.call('POST', '/user/register/v2', {
        body: { username: 'x', password: '1' },
        ...from('192.0.2.1'),
      }),
    )
    expect(withCode(bad, answerCode.invalid_parameter).length).toBe(10)
    const ways: [string, object][] = [
      ['/user/register/v2', { username: 'one', password: 'correct horse' }],
      ['/user/register/push', { username: 'two', password: 'correct horse' }],
      ['/user/register/anonymous', { username: 'three', password: 'correct horse' }],
    ]
    const call = ([path, body]: [string, object]) =>
      api.call('POST', path, { body, ...from('192.0.2.1') })
    for (const way of ways) expect((await call(way)).code).toBe(200)
    for (const [path, body] of ways) {
      const again = await call([path, { ...body, username: `again_${++names}` }])
      expect([path, again.code]).toEqual([path, answerCode.address_limited])
    }
  })

  it('registrations from many addresses: 503 beyond a bound, logins are served', async () => {
    await using server = await backend.startServer(defaults({ HERMOD_QUEUE_PASSWORDS: '20' }))
    const { api } = server
    const alice = await api.admin().register()
    const registrations = flood(floodSize, (index) => register(api, from(`192.0.2.${index}`)))
    await sleep(1)
    const logins: Answer[] = []
    for (let count = 0; count < 5; count++) logins.push(await logIn(api, alice, '198.51.100.1'))
    expect(logins.map(({ code }) => code)).toEqual([200, 200, 200, 200, 200])
    const answers = await registrations
    const refused = withCode(answers, answerCode.unavailable)
    expect(withCode(answers, 200).length).toBe(floodSize - refused.length)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, headers } of refused) {
      expect(status).toBe(503)
      expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    // What was refused was not counted.
    expect((await register(api, from('192.0.2.1'))).code).toBe(200)
  })

  if (isFullRun)
    it('registrations by an application server: hundreds at once are served', async () => {
      await using server = await backend.startServer(defaults({ HERMOD_QUEUE_PASSWORDS: '20' }))
      const admin = server.api.admin()
      const strangers = flood(100, (index) => register(server.api, from(`192.0.2.${index}`)))
      const answers = await flood(manyRegistrations, () => register(admin, {}))
      expect(withCode(answers, 200).length).toBe(manyRegistrations)
      expect(withCode(await strangers, answerCode.unavailable).length).toBeGreaterThan(0)
    })

  if (isFullRun)
    it('registrations by an application server: are bounded, other callers are served', async () => {
      await using server = await backend.startServer(
        defaults({ HERMOD_QUEUE_ADMIN_PASSWORDS: '20' }),
      )
      const { api } = server
      const other = await anApplication(server)
      const alice = await api.admin().register()
      const attack = flood(floodSize, () => register(api.admin(), {}))
      await sleep(1)
      const beside = await Promise.all([
        logIn(api, alice, '198.51.100.1'),
        register(api, from('192.0.2.1')),
        register(other, {}),
      ])
      expect(beside.map(({ code }) => code)).toEqual([200, 200, 200])
      const answers = await attack
      const refused = withCode(answers, answerCode.unavailable)
      expect(refused.length).toBeGreaterThan(0)
      expect(withCode(answers, 200).length).toBe(floodSize - refused.length)
      for (const { status, headers } of refused) {
        expect(status).toBe(503)
        expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
      }
    })

  if (isFullRun)
    it('logins from one address: logins from other addresses are served', async () => {
      await using server = await backend.startServer(defaults({ HERMOD_QUEUE_PASSWORDS: '80' }))
      const { api } = server
      const users = await Promise.all(Array.from({ length: 30 }, () => api.admin().register()))
      const [alice, ...others] = users as [Account, ...Account[]]
      const attack = flood(290, (index) =>
        logIn(api, others[index % others.length] as Account, '192.0.2.1'),
      )
      await sleep(1)
      expect((await logIn(api, alice, '198.51.100.1')).code).toBe(200)
      const answers = await attack
      const refused = withCode(answers, answerCode.unavailable)
      expect(refused.length).toBeGreaterThan(0)
      expect(withCode(answers, 200).length).toBeGreaterThan(0)
    })

  if (isFullRun)
    it('registrations and logins from one address: other callers are served', async () => {
      await using server = await startAttacked({ env: behindProxy }, backend)
      const { api } = server
      const honest = await Honest.on(server)
      const users = await Promise.all(Array.from({ length: 30 }, () => api.admin().register()))
      const [alice, ...others] = users as [Account, ...Account[]]
      const attacker = '192.0.2.1'
      const call = (line: number) =>
        line % 3 === 0
          ? register(api, from(attacker))
          : logIn(api, others[line % others.length] as Account, attacker)
      const attack = () => floodFor({ ms: attackMs, lines: 600 }, call)
      const logins = () => logIn(api, alice, '198.51.100.1')
      expect((await logins()).code).toBe(200)
      expectUnharmed(
        await honest.beside(`registrations and logins (${backend.name})`, attack, { logins }),
      )
    })

  if (isFullRun)
    it('logins from one address: other logins get their transactions in turn', async () => {
      const patient = defaults({ HERMOD_DATABASE_TIMEOUT_SECONDS: '60' })
      const timeoutMs = 25_000
      await using watched = await WatchedServer.start(backend, patient)
      const { server, api } = watched
      const users = await Promise.all(Array.from({ length: 21 }, () => api.admin().register()))
      const [alice, ...others] = users as [Account, ...Account[]]
      const waiting = () =>
        metric(api.as(server.operatorToken), 'hermod_password_queue_passwords{purpose="login"}')
      const usersByLogin = await recordLogins(watched, backend)
      await using held = await holdWrites(watched.place, 'user_tokens')
      const attack = flood(others.length, (index) =>
        logIn(api, others[index] as Account, '192.0.2.1'),
      )
      // Those that wait for a password go on; those that wait for the database stay.
      const stands = (count: number) => async () => {
        const before = await waiting()
        await sleep(100)
        return before === count && (await waiting()) === count
      }
      await waitFor(stands(others.length - parallelTransactions), { what: 'the flood', timeoutMs })
      const honest = logIn(api, alice, '198.51.100.1')
      await waitFor(stands(users.length - parallelTransactions), { what: 'alice', timeoutMs })
      await held.release()
      expect(withCode(await attack, 200)).toHaveLength(others.length)
      expect((await honest).code).toBe(200)
      const order = await usersByLogin()
      expect(order).toHaveLength(users.length)
      expect(order.indexOf(alice.id)).toBeLessThan(others.length / 2)
    })

  if (isFullRun)
    it('registrations after a start: the first send is served', async () => {
      const place = defaults({ HERMOD_RATE_LIMIT: 'off' })
      await using first = await backend.startServer(place)
      const [alice, bob] = [await first.api.newSession(), await first.api.newSession()]
      await first.stop()
      await using server = await first.startAgain()
      const api = server.api.as(alice.token)
      let answered = 0
      const attack = flood(manyRegistrations, async (index) => {
        const answer = await register(server.api, from(`192.0.2.${index % 250}`))
        answered++
        return answer
      })
      await waitFor(async () => answered > 0, { what: 'the flood', timeoutMs: 20_000, everyMs: 1 })
      const body = { targets: [bob.id], type: 1, content_type: 0, content: 'first' }
      expect((await api.call('POST', '/message/send', { body })).code).toBe(200)
      expect(answered).toBeLessThan((manyRegistrations * 2) / 3)
      expect(withCode(await attack, 200).length).toBe(manyRegistrations)
    })
}

describe.each(anyBackend())('floods on $name', (backend) => suite(backend))
