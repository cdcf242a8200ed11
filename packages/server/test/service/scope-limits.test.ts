/**
 * The limits of scopes (rule C8): what a token with one scope never reaches, and tokens that lose a
 * scope while they are in use.
 */
import { callerRules, type Operation, operations, type Scope, scopeNames } from '@hermod/protocol'
import {
  type Api,
  anyBackend,
  type Backend,
  GatewayClient,
  type Session,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { aGroup } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { sendText, textTo } from '../support/messaging/messaging.js'
import {
  namedScope,
  revokeToken,
  type ScopedToken,
  scopedToken,
  setScopes,
} from '../support/scoped-tokens.js'
import type { WalkContext } from '../support/walk/walk-fixture.js'
import { fixtures } from '../support/walk/walk-fixtures.js'
import { WalkWorld } from '../support/walk/walk-world.js'

const secretText = 'text-of-a-message'

describe('one scope', () => {
  let server: InProcessServer
  let alice: Session
  let bob: Session
  let group: number

  beforeAll(async () => {
    const settings = { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' }
    server = await InProcessServer.start(anyBackend()[0] as Backend, settings)
    alice = await server.api.newSession()
    bob = await server.api.newSession()
    group = await aGroup(alice, { members: [bob] })
    await sendText(alice.api, bob.id, secretText)
    await sendText(alice.api, group, secretText, { type: 2 })
  })

  afterAll(() => server?.[Symbol.asyncDispose]())

  type Attempt = readonly [method: string, path: string, params?: object]

  /** Attempts for bob, of which each names the scope that it lacks. */
  async function refusals(scope: Scope, attempts: readonly Attempt[]): Promise<(string | null)[]> {
    const { token } = await scopedToken(server, [scope])
    return Promise.all(
      attempts.map(async ([method, path, body]) => {
        const options = { token, userId: bob.id, ...(body && { body }) }
        return namedScope((await server.api.call(method, path, options)).envelope)
      }),
    )
  }

  const toMessages: readonly Attempt[] = [
    ['GET', '/message/conversation'],
    ['GET', '/message/conversation_list'],
    ['GET', '/message/unread'],
    ['POST', '/message/sync', {}],
    ['POST', '/message/changes', {}],
    ['POST', '/message/history', {}],
    ['GET', '/file/download/chat?file_sign=x'],
    ['GET', '/file/upload/forward?file_sign=x'],
    ['GET', '/events?after='],
    ['POST', '/app/webhook/create', { url: 'http://127.0.0.1:9/' }],
    ['POST', '/user/token/bind', { device_sn: 1, device_token: 'x', notifier_name: 'x' }],
  ]
  const toTokens: readonly Attempt[] = [
    ['POST', '/token/id', { user_id: 1, password: 'x' }],
    ['POST', '/token/issue', { user_id: 1 }],
    ['POST', '/user/register/v2', { username: 'new_one', password: 'correct horse' }],
    ['POST', '/user/change_password_admin', { password: 'correct horse' }],
    ['POST', '/user/change_password', { old_password: 'x', new_password: 'correct horse' }],
    ['POST', '/user/identity/link', { issuer: 'app', subject: '1' }],
  ]

  it.each(['users:read', 'users:write', 'groups', 'push', 'app'] as const)(
    '%s reaches no message, no password and no token of a user',
    async (scope) => {
      const missing = await refusals(scope, toMessages)
      for (const each of missing) expect(each).toMatch(/^(app|messages:read|users:write)$/)
      const tokens = await refusals(scope, toTokens)
      expect(new Set(tokens)).toEqual(new Set(['tokens:issue']))
    },
  )

  it('messages:send reads nothing', async () => {
    const missing = await refusals('messages:send', toMessages)
    for (const each of missing) expect(each).toMatch(/^(app|messages:read|users:write)$/)
    expect(new Set(await refusals('messages:send', toTokens))).toEqual(new Set(['tokens:issue']))
  })

  it('messages:read sends nothing, and makes no webhook', async () => {
    const missing = await refusals('messages:read', [
      ['POST', '/message/send', textTo([alice.id], 'x')],
      ['GET', '/message/ack'],
      ['GET', '/file/upload/chat'],
      ['GET', '/file/upload/forward?file_sign=x'],
      ['POST', '/app/webhook/create', { url: 'http://127.0.0.1:9/' }],
      ['GET', '/events?after='],
    ])
    expect(missing).toEqual([
      ...['messages:send', 'messages:send', 'messages:send', 'messages:send', 'app', 'app'],
    ])
  })

  it('users:write changes the names of a user, who still logs in with the own password only', async () => {
    const { token } = await scopedToken(server, ['users:write'])
    const victim = await server.api.newSession()
    const admin: Api = server.api.as(token)
    const write = (path: string, body: object) =>
      admin.succeed('POST', path, { userId: victim.id, body })
    await write('/user/email', { email: 'taken@example.org' })
    await write('/user/mobile', { mobile: '+15551230000' })
    await write('/user/username', { username: 'taken_over' })
    for (const login_name of ['taken@example.org', '+15551230000', 'taken_over']) {
      const log = (password: string) =>
        server.api.call('POST', '/token/login', { body: { login_name, password } })
      await expectCode(log('a password of the thief'), 'password_incorrect')
      await expectCode(log(victim.password), 'ok')
    }
  })

  /** Scopes that reach neither messages nor tokens, by their sentences. */
  const harmless = scopeNames.filter((scope) => !/^(tokens:issue|messages:read)$/.test(scope))

  it('of all operations that such a scope reaches none answers a text of a message or a token', async () => {
    const world = await WalkWorld.create(server)
    const newPerson = async () => {
      const person = await world.newPerson()
      await sendText(alice.api, person.id, secretText)
      return person
    }
    const context: WalkContext = { world, subject: await newPerson(), friend: await newPerson() }
    const leaks: string[] = []
    let succeeded = 0
    for (const scope of harmless) {
      const { token } = await scopedToken(server, [scope])
      const reached = operations.filter(
        ({ callers, scopes, answersFile }) =>
          callerRules[callers].tokens.includes('admin') &&
          scopes.every((each) => each === scope) &&
          !answersFile,
      )
      for (const operation of reached) {
        const fixture = fixtures.find((each) => each.operation.id === operation.id)
        if (fixture === undefined) throw new Error(`${operation.id} has no fixture`)
        const at = fixture.needsVictim ? { ...context, subject: await newPerson() } : context
        const identity = { appId: server.appId, token, userId: at.subject.id }
        const params = await fixture.params(at)
        const answer = await world.call(operation as Operation, identity, params)
        if (answer.code === 200) succeeded++
        expect(namedScope(answer.envelope), operation.id).toBeNull()
        const leaked = new RegExp(`${secretText}|hm[uaos]_[A-Za-z0-9]{8}`).test(answer.text)
        if (leaked) leaks.push(`${operation.id} with ${scope}: ${answer.text}`)
      }
    }
    expect(leaks).toEqual([])
    expect(succeeded).toBeGreaterThan(120)
  })
})

it('the configured token has the scopes of its setting from every start on, and keeps its own without it', async () => {
  const settings: Record<string, string> = {}
  const set = (scopes: string) => {
    settings.HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES = scopes
  }
  set('users:read')
  await using server = await InProcessServer.start(anyBackend()[0] as Backend, settings)
  const scopesOf = async () => {
    const query = { app_id: server.appId }
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('GET', '/operator/v1/token/list', { query })
    return data.map(({ scopes }: { scopes: string[] }) => scopes.join())
  }
  const restart = async () => {
    await server.stop()
    await server.startAgain()
  }
  const admin = server.api.admin()
  expect(await scopesOf()).toEqual(['users:read'])
  await admin.succeed('GET', '/user/list')
  expect(namedScope((await admin.call('GET', '/events')).envelope)).toBe('app')
  set('users:read,push')
  await restart()
  expect(await scopesOf()).toEqual(['users:read,push'])
  set('')
  await restart()
  expect(await scopesOf()).toEqual(['users:read,push'])
  set('all')
  await restart()
  expect(await scopesOf()).toEqual(['all'])
  await expectCode(admin.call('GET', '/events'), 'invalid_parameter')
})

it('a token made with blank scopes is refused, and has not all of them', async () => {
  await using server = await InProcessServer.start(anyBackend()[0] as Backend)
  const operator = server.api.as(server.operatorToken)
  for (const scopes of ['', []]) {
    const body = { app_id: server.appId, name: 'blank', scopes }
    const answer = await operator.call('POST', '/operator/v1/token/create', { body })
    await expectCode(answer, 'invalid_parameter')
    expect(answer.envelope.message).toMatch(/: scopes must /)
  }
})

describe.each(testBackends())('a token that loses a scope on $name', (backend) => {
  let server: InProcessServer
  let user: Session

  beforeAll(async () => {
    server = await InProcessServer.start(backend)
    user = await server.api.newSession()
  })

  afterAll(() => server?.[Symbol.asyncDispose]())

  async function open(token: string): Promise<GatewayClient> {
    const client = await GatewayClient.connect(server.url)
    const options = { appId: server.appId, accessToken: token, userId: user.id }
    expect((await client.open(options)).code).toBe(200)
    return client
  }

  /** A second, and time for a busy machine. */
  const soonMs = 4_000

  it.concurrent('is checked by the new list at its next call; its session ends, and another one needs messages:read', async () => {
    const made = await scopedToken(server, ['messages:read', 'messages:send'])
    using client = await open(made.token)
    const send = () => client.call('message.send', textTo([user.id], 'x'))
    expect((await send()).code).toBe(200)
    const begun = performance.now()
    await setScopes(server, made, ['messages:read'])
    // The end of the session may come before the call.
    const refusal = await send().then(namedScope, (error: Error) => error.message)
    expect(refusal).toMatch(/^messages:send$|4502/)
    const { data } = await client.next('session.closing')
    expect(data).toMatchObject({
      code: 4502,
      reason: 'the Admin token has lost a scope',
    })
    expect((await client.closed()).code).toBe(4502)
    expect(performance.now() - begun).toBeLessThan(soonMs)
    using again = await open(made.token)
    expect((await again.call('message.unread')).code).toBe(200)
    await setScopes(server, made, ['messages:send'])
    using refused = await GatewayClient.connect(server.url)
    const { appId } = server
    const answer = await refused.open({ appId, accessToken: made.token, userId: user.id })
    expect(namedScope(answer)).toBe('messages:read')
  })

  it.concurrent('keeps its sessions when it is widened, and loses them when it gets a list', async () => {
    const made = await scopedToken(server, ['messages:read'])
    using client = await open(made.token)
    using witness = await open((await scopedToken(server, ['messages:read'])).token)
    const other = await scopedToken(server)
    using watched = await open(other.token)
    await setScopes(server, made, ['push', 'messages:read'])
    await setScopes(server, other, ['messages:read', 'push'])
    // The look that ends this session has seen the other tokens too.
    expect((await watched.closed()).code).toBe(4502)
    for (const each of [client, witness]) expect((await each.call('message.unread')).code).toBe(200)
  })

  it.concurrent('ends waiting calls of GET /events, also when it is revoked', async () => {
    const narrowed = await scopedToken(server, ['app', 'messages:read'])
    const revoked = await scopedToken(server, ['app', 'messages:read'])
    using client = await open(narrowed.token)
    const query = (consumer: string) => ({ consumer, kinds: 'group.destroyed', wait: 30 })
    const read = ({ token }: ScopedToken, consumer: string) =>
      server.http.call('GET', '/events', { token, query: query(consumer) })
    const waiting = [read(narrowed, 'a'), read(revoked, 'b')] as const
    // The look at sessions may be faster than that at waits.
    const inFrame = client.call('events.read', query('c')).then(
      (answer) => namedScope(answer),
      () => 'the session has ended',
    )
    const begun = async () =>
      (await server.api.admin().call('GET', '/events/consumer/list')).data.length === 3
    await waitFor(begun, { what: 'all three have begun', timeoutMs: 10_000 })
    const changedAt = performance.now()
    await setScopes(server, narrowed, ['messages:read'])
    await revokeToken(server, revoked)
    const [ofNarrowed, ofRevoked] = await Promise.all(waiting)
    expect(namedScope(ofNarrowed.envelope)).toBe('app')
    await expectCode(ofRevoked, 'token_expired')
    expect(['app', 'the session has ended']).toContain(await inFrame)
    expect(performance.now() - changedAt).toBeLessThan(soonMs)
  })
})
