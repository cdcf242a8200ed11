/** The operations on endpoints of webhooks, for Admin tokens and for operators, on both databases. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  type Api,
  anyBackend,
  type Json,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { type ReceivedRequest, WebhookReceiver } from '@hermod/testkit/webhooks'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'

const hourMs = 3_600_000
/** Nothing is sent to it. */
const url = 'https://hooks.example.com/hermod'
const quiet = { url, kinds: ['webhook.disabled'] }
const keyOf = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')
const plainSecret = 'a-secret-that-is-shared'

/** Refused settings, with the field that the error names. */
const badSettings: Readonly<Record<string, readonly [field: string, settings: object]>> = {
  'a URL of a private address': ['url', { url: 'http://10.0.0.1/hook' }],
  'a URL of a mapped private address': ['url', { url: 'http://[::ffff:a00:1]/hook' }],
  'a URL of a private address in octal': ['url', { url: 'http://0300.0250.1/hook' }],
  'a URL of the metadata service': ['url', { url: 'http://169.254.169.254/latest' }],
  'a URL with a user name': ['url', { url: 'https://user:pass@hooks.example.com/' }],
  'a URL of another protocol': ['url', { url: 'ftp://hooks.example.com/' }],
  'a URL without a protocol': ['url', { url: 'hooks.example.com/hook' }],
  'no URL': ['url', { url: '' }],
  'a URL of 2,049 characters': ['url', { url: `https://a.example/${'x'.repeat(2_031)}` }],
  'a secret of 23 bytes': ['secret', { secret: `whsec_${keyOf(23)}` }],
  'a secret of 65 bytes': ['secret', { secret: `whsec_${keyOf(65)}` }],
  'a secret without its prefix': ['secret', { secret: keyOf(32) }],
  'a secret that is not base64': ['secret', { secret: `whsec_${'?'.repeat(44)}` }],
  'a secret without padding': ['secret', { secret: `whsec_${keyOf(25).replaceAll('=', '')}` }],
  'a short secret of the format callback': [
    'secret',
    { format: 'callback', secret: 'x'.repeat(15) },
  ],
  'a secret with a line break in the format callback': [
    'secret',
    { format: 'callback', secret: `${'x'.repeat(16)}\r\nx: y` },
  ],
  'an unknown kind of event': ['kinds', { kinds: ['message.stored', 'message.sent'] }],
  'a kind of event that never leaves': ['kinds', { kinds: ['change.skipped'] }],
  'a receiver that is no ID': ['receivers', { receivers: ['all'] }],
  'an unknown format': ['format', { format: 'xml' }],
  'batches in the format callback': ['batch_size', { format: 'callback', batch_size: 2 }],
  'a batch of 101 events': ['batch_size', { batch_size: 101 }],
  'a batch of no events': ['batch_size', { batch_size: 0 }],
  'no requests at once': ['concurrency', { concurrency: 0 }],
  'a time-out of a minute': ['timeout_ms', { timeout_ms: 60_000 }],
  'a long description': ['description', { description: 'x'.repeat(257) }],
}

describe.each(testBackends())('endpoints of webhooks on $name', (backend) => {
  /** Checks of input do not depend on the database. */
  const isFirst = anyBackend().some(({ name }) => name === backend.name)
  const server = ownServer(backend, { HERMOD_OUTBOUND_ALLOW: '127.0.0.1' })
  let admin: Api
  let receiver: WebhookReceiver
  let requests: ReceivedRequest[]

  beforeAll(async () => {
    admin = server.api.admin()
    // The tests look at the signatures, since the clock of the service may be ahead.
    receiver = await WebhookReceiver.start({ verify: () => {} })
  })

  afterEach(async () => {
    server.clock.set(Date.now())
    requests = []
    receiver.answer = () => undefined
    for (const { endpoint_id } of await list()) await post('delete', { endpoint_id })
  })

  afterAll(async () => {
    await receiver?.[Symbol.asyncDispose]()
  })

  const call = (path: string, body: object, api = admin): Promise<Answer> =>
    api.call('POST', `/app/webhook/${path}`, { body })
  const post = async (path: string, body: object): Promise<Json> =>
    (await admin.succeed('POST', `/app/webhook/${path}`, { body })).data
  const create = (settings: object = {}) => post('create', { ...quiet, ...settings })
  const list = async (): Promise<Json[]> => (await admin.succeed('GET', '/app/webhook/list')).data
  const attempts = async (query: Record<string, string | number | boolean>): Promise<Json> =>
    (await admin.succeed('GET', '/app/webhook/attempts', { query })).data

  /** Sends a test event, and returns its request. */
  async function testRequest(endpointId: number): Promise<ReceivedRequest> {
    requests = []
    receiver.answer = (request) => {
      requests.push(request)
      return undefined
    }
    expect(await post('test', { endpoint_id: endpointId })).toMatchObject({
      outcome: 'delivered',
      type: 'webhook.test',
      status: 204,
    })
    expect(requests).toHaveLength(1)
    return requests[0] as ReceivedRequest
  }

  /** Tests which of some secrets have signed a request, in order. */
  function signers({ headers, body }: ReceivedRequest, secrets: readonly string[]): string[] {
    const id = String(headers['webhook-id'])
    const time = new Date(Number(headers['webhook-timestamp']) * 1000)
    const given = String(headers['webhook-signature']).split(' ')
    return given.map(
      (signature) =>
        secrets.find((secret) => new Webhook(secret).sign(id, time, body) === signature) ?? '?',
    )
  }

  const rowsOf = async (table: string) =>
    Number((await server.sql.run(`select count(*) as count from ${table}`))[0]?.count)

  it('create: shows the secret once, and the database has no plain text of it', async () => {
    const { secret, ...made } = await create()
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const all = JSON.stringify(await list())
    expect(all).toContain(url)
    const key = secret.slice('whsec_'.length)
    expect(all).not.toContain(key)
    const { secret: later } = await post('update', {
      endpoint_id: made.endpoint_id,
      description: 'another',
    })
    expect(later).toBe('')
    const rows = await server.sql.run('select * from webhook_endpoints')
    expect(JSON.stringify(rows)).not.toContain(key)
    const files = existsSync(server.dataDir)
      ? readdirSync(server.dataDir, { recursive: true, withFileTypes: true })
      : []
    const holders = files.filter(
      (file) => file.isFile() && readFileSync(join(file.parentPath, file.name)).includes(key),
    )
    expect(holders.map(({ name }) => name)).toEqual([])
  })

  it('create: takes the defaults for what is not given, and a secret that is given', async () => {
    const secret = `whsec_${keyOf(24)}`
    expect(await create({ secret, kinds: undefined })).toMatchObject({
      url,
      description: '',
      kinds: [],
      receivers: [],
      format: 'standard',
      concurrency: 16,
      batch_size: 1,
      timeout_ms: 15_000,
      state: 'enabled',
      state_reason: '',
      behind: 0,
      waiting: 0,
      dead: 0,
      has_previous_secret: false,
      secret,
    })
  })

  it('update: changes one setting and keeps the others', async () => {
    let { secret: _, updated_at: __, ...expected } = await create()
    const { endpoint_id } = expected
    const changes = {
      url: 'http://hooks.example.com:8080/a?b=c',
      description: 'for orders',
      kinds: ['message.recalled'],
      receivers: [server.api ? 4711 : 0],
      concurrency: 3,
      batch_size: 50,
      timeout_ms: 2_000,
    }
    for (const [name, value] of Object.entries(changes)) {
      const changed = await post('update', { endpoint_id, [name]: value })
      expected = { ...expected, [name]: value }
      expect(changed, name).toMatchObject(expected)
    }
    expect(await list()).toMatchObject([expected])
    expect(await post('update', { endpoint_id, batch_size: 1, format: 'callback' })).toMatchObject({
      ...expected,
      batch_size: 1,
      format: 'callback',
    })
  })

  it.each(isFirst ? Object.entries(badSettings) : [])(
    '%s is refused by its name and changes nothing',
    async (_, [field, settings]) => {
      const refused = {
        code: answerCode.invalid_parameter,
        envelope: { message: expect.stringMatching(new RegExp(`(: |; )${field}\\b`)) },
      }
      expect(await call('create', { ...quiet, ...settings })).toMatchObject(refused)
      expect(await list()).toEqual([])
      const { secret: ___, ...before } = await create()
      const { endpoint_id } = before
      expect(await call('update', { endpoint_id, description: 'x', ...settings })).toMatchObject(
        refused,
      )
      expect(await list()).toEqual([before])
    },
  )

  it('update: a secret that does not suit the new format is refused, and so are two secrets', async () => {
    const { endpoint_id } = await create({ format: 'callback', secret: plainSecret })
    const refused = await call('update', { endpoint_id, format: 'standard' })
    expect(refused.code).toBe(answerCode.invalid_parameter)
    expect(refused.text).toContain('secret must be whsec_')
    const both = { endpoint_id, secret: plainSecret, new_secret: true }
    await expectCode(call('update', both), 'invalid_parameter')
    const [endpoint] = await list()
    expect(endpoint).toMatchObject({ format: 'callback', has_previous_secret: false })
  })

  it('update: an endpoint in the old form becomes a signed one, and the plain secret signs nothing', async () => {
    const { endpoint_id } = await create({
      url: receiver.url,
      format: 'callback',
      secret: plainSecret,
    })
    const changed = await post('update', { endpoint_id, format: 'standard', new_secret: true })
    expect(changed.has_previous_secret).toBe(false)
    const request = await testRequest(endpoint_id)
    expect(signers(request, [changed.secret])).toEqual([changed.secret])
  })

  it('test: in the format callback the header has the secret, and the body is a message', async () => {
    const { endpoint_id } = await create({
      url: receiver.url,
      format: 'callback',
      secret: plainSecret,
    })
    let seen: ReceivedRequest | undefined
    receiver.answer = (request) => {
      seen = request
      return undefined
    }
    expect((await post('test', { endpoint_id })).outcome).toBe('delivered')
    expect(seen?.headers).toMatchObject({ signature: plainSecret })
    expect(seen?.headers).not.toHaveProperty('webhook-signature')
    expect(JSON.parse(seen?.body ?? '')).toMatchObject({ appId: server.appId, ctype: 'TEXT' })
  })

  it('a changed secret: signs the next event already', async () => {
    const { endpoint_id } = await create({ url: receiver.url, kinds: ['user.frozen'] })
    const operator = server.api.as(server.operatorToken)
    requests = []
    receiver.answer = (request) => {
      requests.push(request)
      return undefined
    }
    const secrets: string[] = []
    for (let round = 0; round < 5; round++) {
      secrets.unshift((await post('update', { endpoint_id, new_secret: true })).secret)
      const { id: user_id } = await server.api.register()
      const body = { app_id: server.appId, user_id }
      await operator.succeed('POST', '/operator/v1/user/disable', { body })
      await waitFor(() => requests.length > round, patience)
      expect(signers(requests.at(-1) as ReceivedRequest, secrets)[0]).toBe(secrets[0])
    }
  })

  it('a changed secret: the previous one signs too for 24 hours, and no longer', async () => {
    const { endpoint_id, secret: first } = await create({ url: receiver.url })
    expect(signers(await testRequest(endpoint_id), [first])).toEqual([first])
    const { secret: second, has_previous_secret } = await post('update', {
      endpoint_id,
      new_secret: true,
    })
    expect(has_previous_secret).toBe(true)
    const secrets = [first, second]
    expect(signers(await testRequest(endpoint_id), secrets)).toEqual([second, first])
    // The same secret again is no change.
    await post('update', { endpoint_id, secret: second })
    server.clock.set(Date.now() + 23 * hourMs)
    expect(signers(await testRequest(endpoint_id), secrets)).toEqual([second, first])
    server.clock.set(Date.now() + 24 * hourMs + 1_000)
    expect(signers(await testRequest(endpoint_id), secrets)).toEqual([second])
    expect((await list())[0].has_previous_secret).toBe(false)
  })

  it('hermod secret rotate: encrypts the secrets with the new key, and they still sign', async () => {
    const { endpoint_id, secret } = await create({ url: receiver.url })
    const sealed = async () =>
      (await server.sql.run('select sealed from webhook_endpoints'))[0]?.sealed
    const before = await sealed()
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('POST', '/operator/v1/secret/rotate', { body: {} })
    expect(data).toMatchObject({ unreadable: 0 })
    expect(await sealed()).not.toBe(before)
    expect(signers(await testRequest(endpoint_id), [secret])).toEqual([secret])
    await operator.succeed('POST', '/operator/v1/secret/retire', { body: {} })
    expect(signers(await testRequest(endpoint_id), [secret])).toEqual([secret])
  })

  it('hermod check: names a secret that no key opens; nothing is sent without a signature, and a new secret repairs it', async () => {
    const { endpoint_id } = await create({ url: receiver.url })
    const other = await create()
    // Encrypted for another endpoint.
    await server.sql.run(
      `update webhook_endpoints set sealed = (select sealed from webhook_endpoints where endpoint_id = ${other.endpoint_id}) where endpoint_id = ${endpoint_id}`,
    )
    expect(await integrityFaults(server)).toMatchObject([
      {
        check: 'stored_secret',
        app_id: server.appId,
        subject: `webhook_endpoints.sealed of ${server.appId}/${endpoint_id}`,
      },
    ])
    const seen = receiver.requests
    const attempt = await post('test', { endpoint_id })
    expect(attempt.outcome).toBe('unavailable')
    expect(attempt.error).toContain('no key decrypts the secret')
    expect(receiver.requests).toBe(seen)
    const { secret } = await post('update', { endpoint_id, new_secret: true })
    expect(signers(await testRequest(endpoint_id), [secret])).toEqual([secret])
    expect(await integrityFaults(server)).toEqual([])
  })

  it('create: of two calls for the last place one succeeds', async () => {
    for (let made = 0; made < 19; made++) await create()
    const answers = await Promise.all([call('create', quiet), call('create', quiet)])
    const codes = answers.map(({ code }) => code).sort((a, b) => a - b)
    expect(codes).toEqual([answerCode.ok, answerCode.webhook_limit_reached])
    expect(await list()).toHaveLength(20)
  })

  it('another application: has no access to an endpoint, and an operator is told of an unknown one', async () => {
    const { endpoint_id } = await create()
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('POST', '/operator/v1/app/create', {
      body: { app_id: 'neighbor' },
    })
    const neighbor = { appId: 'neighbor', token: data.admin_token }
    const bodies: Record<string, object> = {
      update: { description: 'mine' },
      delete: {},
      test: {},
      replay: { dead: true },
    }
    for (const [path, more] of Object.entries(bodies)) {
      const body = { endpoint_id, ...more }
      const options = { ...neighbor, body }
      const foreign = await server.api.call('POST', `/app/webhook/${path}`, options)
      expect(foreign.code, path).toBe(answerCode.webhook_not_found)
      const unknown = await call(path, { ...body, endpoint_id: 1 })
      expect(unknown.code, path).toBe(answerCode.webhook_not_found)
      const nowhere = await operator.call('POST', `/operator/v1/webhook/${path}`, {
        body: { app_id: 'nowhere', ...body },
      })
      expect(nowhere.code, path).toBe(answerCode.app_not_found)
    }
    const query = { endpoint_id }
    const foreign = await server.api.call('GET', '/app/webhook/attempts', { ...neighbor, query })
    expect(foreign.code).toBe(answerCode.webhook_not_found)
    const listed = await server.api.succeed('GET', '/app/webhook/list', neighbor)
    expect(listed.data).toEqual([])
    const nowhere = { query: { app_id: 'nowhere' } }
    await expectCode(operator.call('GET', '/operator/v1/webhook/list', nowhere), 'app_not_found')
    const unknown = { app_id: 'nowhere', ...quiet }
    await expectCode(
      operator.call('POST', '/operator/v1/webhook/create', { body: unknown }),
      'app_not_found',
    )
    expect(await list()).toMatchObject([{ endpoint_id, description: '' }])
  })

  it('attempts: lists the newest first, the failed ones, those of an event, and pages; only operators see bodies of answers', async () => {
    const { endpoint_id } = await create({ url: receiver.url })
    const made: Json[] = []
    for (const status of [204, 500, 410, 404]) {
      receiver.answer = () => ({ status, body: status === 204 ? '' : `answer ${status}` })
      made.unshift(await post('test', { endpoint_id }))
    }
    expect(made.map(({ outcome }) => outcome)).toEqual([
      'refused',
      'gone',
      'unavailable',
      'delivered',
    ])
    expect(made[0]).toMatchObject({ status: 404, answer: '', events: 1, attempt: 1 })
    const operator = server.api.as(server.operatorToken)
    const ofApp = { query: { app_id: server.appId, endpoint_id } }
    const shown = await operator.succeed('GET', '/operator/v1/webhook/attempts', ofApp)
    expect(shown.data.attempts.map(({ answer }: Json) => answer)).toEqual([
      'answer 404',
      'answer 410',
      'answer 500',
      '',
    ])
    expect((await attempts({ endpoint_id })).attempts).toEqual(made)
    expect((await attempts({ endpoint_id, failed: true })).attempts).toEqual(made.slice(0, 3))
    const { event_id } = made[2]
    expect((await attempts({ endpoint_id, event_id })).attempts).toEqual([made[2]])
    const first = await attempts({ endpoint_id, limit: 3 })
    const second = await attempts({ endpoint_id, limit: 3, cursor: first.next_cursor })
    expect([...first.attempts, ...second.attempts]).toEqual(made)
    expect(second.next_cursor).toBe('')
    // A test disables nothing.
    expect(await list()).toMatchObject([{ state: 'enabled', failing_since: 0 }])
  })

  it('test: an address that is not allowed any more gets no request, the answer names the setting, and the endpoint can be disabled', async () => {
    // Only another address of the machine is allowed.
    const { endpoint_id } = await create({ url: 'http://localhost:9/hook' })
    await server.sql.run(
      `update webhook_endpoints set url = 'http://127.0.0.2:9/hook' where endpoint_id = ${endpoint_id}`,
    )
    expect(await post('test', { endpoint_id })).toMatchObject({
      outcome: 'forbidden',
      status: 0,
      error: expect.stringContaining('HERMOD_OUTBOUND_ALLOW'),
    })
    expect(await post('update', { endpoint_id, state: 'disabled' })).toMatchObject({
      state: 'disabled',
    })
    const enabled = await call('update', { endpoint_id, state: 'enabled' })
    expect([enabled.code, enabled.text]).toEqual([
      answerCode.invalid_parameter,
      expect.stringContaining('url is no public address (loopback)'),
    ])
    // Only operators see what a name leads to.
    const rest = 'is no public address (private); HERMOD_OUTBOUND_ALLOW can allow it'
    await server.sql.run(
      `update webhook_attempts set error = 'hooks.internal (10.0.0.7) ${rest}' where endpoint_id = ${endpoint_id}`,
    )
    const [shown] = (await attempts({ endpoint_id })).attempts
    expect(shown.error).toBe(`hooks.internal ${rest}`)
  })

  it('replay: the oldest dead letters wait again, as many as may, in a table whose statistics are older', async () => {
    const { endpoint_id } = await create(quiet)
    await post('update', { endpoint_id, state: 'disabled' })
    await server.sql.run('analyze webhook_events')
    await server.sql.run(`insert into webhook_events
      with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 8010)
      select '${server.appId}', ${endpoint_id}, n, 1, 0, '', 'app', 'user.removed', '{}', 0, 'dead', 5, 0, 400, '' from numbers`)
    expect(await post('replay', { endpoint_id, dead: true })).toMatchObject({ dead: 8_000 })
    const left = `select min(position) as first from webhook_events where state = 'dead'`
    expect(await server.sql.run(left)).toEqual([{ first: 8_001 }])
    await post('delete', { endpoint_id })
  })

  it('delete: removes waiting events, dead letters and attempts, those of other endpoints stay', async () => {
    const gone = await create({ url: receiver.url })
    const other = await create({ url: receiver.url })
    for (const { endpoint_id } of [gone, other]) {
      await post('test', { endpoint_id })
      for (const [position, state] of [
        [1, 'waiting'],
        [2, 'dead'],
      ])
        await server.sql.run(
          `insert into webhook_events values ('${server.appId}', ${endpoint_id}, ${position}, 1, 0, '', 'app', 'user.removed', '{}', 0, '${state}', 5, 9000000000000000, 400, '')`,
        )
    }
    expect(await list()).toMatchObject([
      { waiting: 1, dead: 1 },
      { waiting: 1, dead: 1 },
    ])
    await post('delete', { endpoint_id: gone.endpoint_id })
    expect(await list()).toMatchObject([{ endpoint_id: other.endpoint_id, waiting: 1, dead: 1 }])
    expect([await rowsOf('webhook_events'), await rowsOf('webhook_attempts')]).toEqual([2, 1])
    await expectCode(call('delete', { endpoint_id: gone.endpoint_id }), 'webhook_not_found')
    await post('delete', { endpoint_id: other.endpoint_id })
    expect([await rowsOf('webhook_events'), await rowsOf('webhook_attempts')]).toEqual([0, 0])
  })

  it('delete: a request that ends after it leaves no row', async () => {
    const { endpoint_id } = await create({ url: receiver.url })
    const deleted = new Promise<void>((resolve) => {
      receiver.answer = () => {
        resolve(post('delete', { endpoint_id }).then(() => {}))
        return { status: 204, delayMs: 200 }
      }
    })
    expect((await post('test', { endpoint_id })).outcome).toBe('delivered')
    await deleted
    expect(await list()).toEqual([])
    expect(await rowsOf('webhook_attempts')).toBe(0)
  })

  /** The kinds of the events that an endpoint got, by its path. */
  const kindsAt = (path: string) =>
    receiver.accepted
      .filter((request) => request.path === path)
      .flatMap(({ events }) => events.map(({ type }) => type))
  const patience = { what: 'the event', timeoutMs: 10_000 }

  if (isFirst)
    it('disabled endpoints get nothing, and what happened meanwhile once they are enabled', async () => {
      const { endpoint_id } = await create({ url: `${receiver.url}/off`, kinds: [] })
      expect(await post('update', { endpoint_id, state: 'disabled' })).toMatchObject({
        state: 'disabled',
        state_reason: 'caller',
      })
      await create({ url: `${receiver.url}/on`, kinds: [] })
      const user = await server.api.register()
      const operator = server.api.as(server.operatorToken)
      const body = { app_id: server.appId, user_id: user.id }
      await operator.succeed('POST', '/operator/v1/user/disable', { body })
      // Both endpoints are served by the same look at the database.
      await waitFor(() => kindsAt('/on').includes('user.frozen'), patience)
      expect(kindsAt('/off')).toEqual([])
      await post('update', { endpoint_id, state: 'enabled' })
      await waitFor(() => kindsAt('/off').includes('user.frozen'), patience)
      expect((await list())[0]).toMatchObject({ endpoint_id, state: 'enabled', state_reason: '' })
    })

  it('disabled applications: nothing is sent until the application is enabled again', async () => {
    const operator = server.api.as(server.operatorToken)
    const operate = async (path: string, body: object) =>
      (await operator.succeed('POST', `/operator/v1/${path}`, { body })).data
    const app_id = 'switched'
    await operate('app/create', { app_id })
    const { user_id } = await operate('user/create', { app_id, username: 'ann' })
    const { endpoint_id } = await operate('webhook/create', {
      app_id,
      url: `${receiver.url}/app`,
    })
    await operate('app/update', { app_id, status: 1 })
    // Otherwise noticed within a second.
    await operate('webhook/update', { app_id, endpoint_id, description: 'of a disabled one' })
    await create({ url: `${receiver.url}/barrier`, kinds: [] })
    await operate('user/disable', { app_id, user_id })
    const other = await server.api.register()
    await operate('user/disable', { app_id: server.appId, user_id: other.id })
    await waitFor(() => kindsAt('/barrier').includes('user.frozen'), patience)
    expect(kindsAt('/app')).toEqual([])
    await operate('app/update', { app_id, status: 0 })
    await waitFor(() => kindsAt('/app').includes('user.frozen'), patience)
    await operate('webhook/delete', { app_id, endpoint_id })
  })

  if (isFirst)
    it('requests have the members that the OpenAPI document requires', async () => {
      const { endpoint_id } = await create({ url: `${receiver.url}/all`, kinds: [] })
      const user = await server.api.register()
      await admin.succeed('POST', '/user/profile', {
        userId: user.id,
        body: { nick_name: 'Ann' },
      })
      await sendText(server.api.admin({ userId: user.id }), user.id, 'note to self')
      await post('test', { endpoint_id })
      const kinds = ['user.info_updated', 'message.stored', 'webhook.test']
      await waitFor(() => kinds.every((kind) => kindsAt('/all').includes(kind)), patience)
      const document: Json = JSON.parse((await server.api.call('GET', '/openapi.json')).text)
      const requests = receiver.accepted.filter(({ path }) => path === '/all')
      for (const { headers, events } of requests)
        for (const event of events) {
          const { post: described } = document.webhooks[event.type]
          const { properties, required } = described.requestBody.content['application/json'].schema
          expect(Object.keys(event).sort(), event.type).toEqual([...required].sort())
          expect(event.type).toBe(properties.type.const)
          expect(Object.keys(event.data)).toEqual(
            expect.arrayContaining(properties.data.required ?? []),
          )
          const names = described.parameters.map(({ name }: Json) => name)
          expect(Object.keys(headers)).toEqual(expect.arrayContaining(names))
        }
    })
})
