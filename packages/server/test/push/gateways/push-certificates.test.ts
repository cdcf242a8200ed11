/**
 * Push certificates: what operators do with them, what clients read, and what gateways say of them,
 * on both databases.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  certificateFields,
  PushSimulator,
  type SimulatedChannel,
  simulatedChannels,
  simulatedTemplates,
} from '@hermod/push-simulator'
import { type Answer, type Api, anyBackend, type Json, TempFolder } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../../support/answer-codes.js'
import { callHermod } from '../../support/hermod-command.js'
import { ownServer } from '../../support/in-process-server.js'

const publicUrl = 'https://chat.example.org'
const providers: Readonly<Record<SimulatedChannel, number>> = {
  ios_gw: 1,
  vendor_h: 2,
  vendor_x: 3,
  vendor_f: 4,
  vendor_v: 5,
  vendor_o: 6,
  cloud_gw: 7,
  vendor_n: 8,
}
const monthMs = 30 * 86_400_000

let simulator: PushSimulator

beforeAll(async () => {
  simulator = await PushSimulator.start()
})
afterAll(() => simulator[Symbol.asyncDispose]())

/** The parameters with which the simulated gateway of a channel is used. */
function credentialsOf(channel: SimulatedChannel): Json {
  return certificateFields(simulator.gateways[channel].certificate)
}

/** A set that its gateway refuses for the credentials. */
function wrongCredentialsOf(channel: SimulatedChannel): Json {
  const right = credentialsOf(channel)
  if (channel !== 'cloud_gw') return { ...right, app_secret: `${right.app_secret}-wrong` }
  const account = { ...JSON.parse(right.certificate), private_key_id: 'another' }
  return { ...right, certificate: JSON.stringify(account) }
}

describe.each(anyBackend())('push certificates on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_PUBLIC_URL: publicUrl })
  let operator: Api
  let apps = 0

  beforeAll(async () => {
    operator = server.api.as(server.operatorToken)
  })

  const call = (path: string, body: object) =>
    operator.call('POST', `/operator/v1/push/certificate/${path}`, { body })
  const succeed = async (path: string, body: object): Promise<Json> => {
    const answer = await call(path, body)
    expect(answer.envelope).toMatchObject({ code: 200 })
    return answer.data
  }
  const list = async (app_id: string): Promise<Json[]> => {
    const path = '/operator/v1/push/certificate/list'
    return (await operator.succeed('GET', path, { query: { app_id } })).data
  }

  /** An application that has no certificate, and its Admin. */
  async function anApp(): Promise<{ app_id: string; admin: Api; adminToken: string }> {
    const body = { app_id: `certs-${++apps}` }
    const { data } = await operator.succeed('POST', '/operator/v1/app/create', { body })
    const { app_id, admin_token: adminToken } = data
    return { app_id, adminToken, admin: server.api.as(adminToken) }
  }

  function read(appId: string, api: Api, query: Readonly<Record<string, number>>) {
    return api.call('GET', '/push/certificate', { appId, query })
  }

  it.each(simulatedChannels)('%s: a right one is taken by its gateway', async (channel) => {
    const { app_id } = await anApp()
    const set = await succeed('set', { app_id, name: 'main', ...credentialsOf(channel) })
    expect(set).toMatchObject({ name: 'main', channel, environment: 1, expires_at: 0 })
    const before = simulator.gateways[channel].calls.length
    const problems: Partial<Record<SimulatedChannel, string>> = {
      vendor_f: 'pushes request no receipts; register receipt_url',
      vendor_v: 'the gateway sends no receipts of pushes to several devices at once',
    }
    const problem = problems[channel]
    expect(await succeed('check', { app_id, name: 'main' })).toEqual({
      ok: true,
      code: '',
      words: problem
        ? expect.stringMatching(new RegExp(`^the gateway takes the credentials; ${problem}`))
        : 'the gateway takes the credentials',
    })
    expect(simulator.gateways[channel].calls.length).toBeGreaterThan(before)
  })

  it('sets of one name at once make one certificate', async () => {
    const { app_id } = await anApp()
    const fields = { app_id, name: 'main', ...credentialsOf('vendor_h') }
    const sets = await Promise.all(Array.from({ length: 8 }, () => succeed('set', fields)))
    expect(new Set(sets.map(({ receipt_url }) => receipt_url)).size).toBe(1)
    expect(await list(app_id)).toHaveLength(1)
  })

  it.each(simulatedChannels)('%s: a wrong secret is refused by its gateway', async (channel) => {
    const { app_id } = await anApp()
    await succeed('set', { app_id, name: 'main', ...wrongCredentialsOf(channel) })
    const check = await succeed('check', { app_id, name: 'main' })
    expect(check).toMatchObject({ ok: false, words: expect.stringContaining('refuses the cred') })
    expect(check.code).not.toBe('')
    // Put right, it is taken at once: what was wrong is not remembered.
    await succeed('set', { app_id, name: 'main', ...credentialsOf(channel) })
    expect(await succeed('check', { app_id, name: 'main' })).toMatchObject({ ok: true })
  })

  it('ios_gw: users read the certificate for notifications, not an older one for calls', async () => {
    const { app_id, admin } = await anApp()
    const fields = { app_id, ...credentialsOf('ios_gw') }
    const calls = await succeed('set', { ...fields, name: 'calls', push_type: 'voip' })
    expect(calls.push_type).toBe('voip')
    const none = await read(app_id, admin, { provider: providers.ios_gw })
    expect(none.code).toBe(answerCode.push_certificate_not_found)
    expect((await succeed('set', { ...fields, name: 'alerts' })).push_type).toBe('alert')
    const found = await read(app_id, admin, { provider: providers.ios_gw })
    expect(found.data.name).toBe('alerts')
  })

  it('ios_gw: a client certificate has an end, and is taken', async () => {
    const { app_id } = await anApp()
    const file = simulator.authority.clientFile('com.example.app', 'open sesame')
    const token = credentialsOf('ios_gw')
    const set = await succeed('set', {
      app_id,
      name: 'main',
      ...token,
      app_key: '',
      app_secret: 'open sesame',
      certificate: file,
    })
    expect(set.expires_at / (Date.now() + monthMs)).toBeCloseTo(1, 4)
    expect(await succeed('check', { app_id, name: 'main' })).toMatchObject({ ok: true })
  })

  it('a check says what else is wrong', async () => {
    const { app_id } = await anApp()
    const words = async (channel: SimulatedChannel, changes: object) => {
      await succeed('set', { app_id, name: channel, ...credentialsOf(channel), ...changes })
      return succeed('check', { app_id, name: channel })
    }
    expect(await words('vendor_x', { package_name: 'com.other' })).toEqual({
      ok: false,
      code: '22022',
      words:
        'the gateway refuses the credentials or the set-up: package name does not match (22022)',
    })
    expect(await words('ios_gw', { gateway_app_id: 'com.other' })).toMatchObject({
      ok: false,
      code: 'TopicDisallowed',
    })
    // Nothing listens on the discard port.
    const down = await words('vendor_f', { send_url: 'http://127.0.0.1:9' })
    expect(down).toMatchObject({ ok: false, code: 'ECONNREFUSED' })
    expect(down.words).toContain('cannot be reached')
    const untrusted = await words('vendor_o', { ca: '' })
    expect(untrusted).toMatchObject({ ok: false })
    expect(untrusted.words).toContain('cannot be reached')
    expect(untrusted.words).toContain('--ca-file')
  })

  it.each([
    [
      'ios_gw',
      { certificate: '-----BEGIN PRIVATE KEY-----' },
      [
        'gateway_app_id is missing: the bundle ID of the app',
        'app_key is missing: the ID of the key',
        'app_secret is missing: the ID of the team',
        'certificate has no EC private key that can be read',
      ],
    ],
    ['ios_gw', { gateway_app_id: 'a.b' }, ['certificate is missing']],
    [
      'ios_gw',
      { gateway_app_id: 'a.b', certificate: 'bm9wZQ==' },
      ['certificate cannot be opened as a .p12 file'],
    ],
    ['cloud_gw', {}, ['certificate is missing: the JSON file of a service account']],
    ['cloud_gw', { certificate: 'no JSON' }, ['certificate is not the JSON file']],
    ['vendor_h', { certificate: '{"a":1}' }, ['certificate is not the JSON file']],
    [
      'cloud_gw',
      { certificate: '{"project_id":"p"}' },
      [
        'certificate has no client_email in its service account',
        'certificate has no private_key_id in its service account',
        'certificate has no RSA private key that can be read',
      ],
    ],
    ['vendor_h', {}, ['gateway_app_id is missing: the client ID', 'app_secret is missing']],
    [
      'vendor_h',
      { gateway_app_id: '1', app_key: '2', app_secret: 'secret', api_version: 3 },
      ['certificate is missing: api_version 3 needs the JSON file of a service account'],
    ],
    [
      'vendor_h',
      { certificate: '{"sub_account":"s"}', api_version: 3 },
      [
        'app_key is missing: api_version 3 needs the project ID, here or in the file',
        'certificate has no key_id in its service account',
        'certificate has no RSA private key that can be read',
      ],
    ],
    ['vendor_x', {}, ['app_secret is missing', 'package_name is missing']],
    ['vendor_n', { api_version: 3 }, ['api_version is an option of vendor_h']],
    ['vendor_o', { receipt_id: '7145' }, ['receipt_id is an option of vendor_h and vendor_v']],
    ['vendor_h', { receipt_id: '7145' }, ['receipt_id needs api_version 3']],
    [
      'cloud_gw',
      { requests_receipts: true },
      ['requests_receipts is an option of vendor_x, vendor_o, vendor_v and vendor_f'],
    ],
    ['vendor_f', {}, ['gateway_app_id is missing', 'app_secret is missing']],
    [
      'vendor_v',
      { gateway_app_id: 'seven' },
      ['gateway_app_id must be a number', 'app_key is missing', 'app_secret is missing'],
    ],
    ['vendor_o', {}, ['app_key is missing', 'app_secret is missing: the MasterSecret']],
    [
      'vendor_n',
      { push_type: 'voip' },
      [
        'push_type is an option of ios_gw',
        'gateway_app_id is missing',
        'app_key is missing: the client ID',
      ],
    ],
    [
      'vendor_o',
      { templates: [{ name: 'task', id: 'T 1' }, { name: '' }] },
      ['templates[0].id', 'templates[1].name', 'templates[1].id'],
    ],
    [
      'vendor_o',
      { app_key: 'key', app_secret: 'secret', notify_level: 2 },
      ['notify_level needs category'],
    ],
    [
      'vendor_o',
      {
        app_key: 'key',
        app_secret: 'secret',
        templates: [{ name: 'task', id: 'T1', title_parameters: { a: '{text}' } }],
      },
      [
        'templates[0] needs category',
        'templates[0].title_parameters.a must not hold {text}; its placeholders are {title}, {body} and {ext.<member>}',
      ],
    ],
    [
      'vendor_n',
      { gateway_app_id: '1', templates: [{ name: 'task', id: 'T1' }], notify_level: 2 },
      [
        'app_key is missing',
        'templates is an option of vendor_x and vendor_o',
        'notify_level is an option of vendor_o',
      ],
    ],
    [
      'vendor_f',
      {
        gateway_app_id: '1',
        app_secret: 'sécret',
        send_url: 'http://gateway.example.org/',
        auth_url: 'https://user@example.org',
        ca: 'PEM',
      },
      [
        'app_secret must be printable ASCII text',
        'send_url must be an https URL without user, query and fragment',
        'auth_url must be an https URL without user, query and fragment',
        'ca must be the PEM text of a certificate',
      ],
    ],
  ] as const)('%s: %j is refused with all that is wrong', async (channel, fields, errors) => {
    const { app_id } = await anApp()
    const answer = await call('set', { app_id, name: 'main', channel, ...fields })
    expect(answer.code).toBe(answerCode.invalid_parameter)
    for (const error of errors) expect(answer.envelope.message).toContain(error)
    expect(await list(app_id)).toEqual([])
  })

  it('a client certificate of another app, or with another passphrase, is refused', async () => {
    const { app_id } = await anApp()
    const certificate = simulator.authority.clientFile('com.example.app', 'open sesame')
    const set = (gateway_app_id: string, app_secret: string) =>
      call('set', {
        app_id,
        name: 'main',
        channel: 'ios_gw',
        certificate,
        gateway_app_id,
        app_secret,
      })
    expect((await set('com.other', 'open sesame')).envelope.message).toContain(
      'gateway_app_id must be com.example.app, as in the certificate',
    )
    expect((await set('com.example.app.voip', 'open sesame')).envelope.message).toContain(
      'gateway_app_id must be the bundle ID com.example.app; instead of the suffix .voip, set push_type to voip',
    )
    expect((await set('com.example.app', 'open sesame')).code).toBe(200)
    const { message } = (await set('com.example.app', 'guess-4711')).envelope
    expect(message).toContain('is it a .p12 file as base64, and app_secret its passphrase?')
    expect(message).not.toContain('guess-4711')
  })

  it('a set replaces the certificate of that name as a whole, and keeps the address of its receipts', async () => {
    const { app_id } = await anApp()
    const options = {
      category: 'IM',
      channel_id: 'Nachrichten für dich',
      badge_class: 'com.example.Launcher',
      allows_pass_through: true,
    }
    const first = await succeed('set', {
      app_id,
      name: 'main',
      ...credentialsOf('vendor_h'),
      ...options,
    })
    expect(first).toMatchObject({ ...options, has_ca: true })
    const path = `${publicUrl}/push/receipts/vendor_h/${first.certificate_id.toString(36)}.`
    expect(first.receipt_url.startsWith(path)).toBe(true)
    expect(first.receipt_url.slice(path.length)).toMatch(/^[\w-]{32}$/)
    await server.sql.run(
      `update push_certificates set last_accepted_at = 5, pauses = '{"certificate":6}' where app_id = '${app_id}'`,
    )
    const second = await succeed('set', {
      app_id,
      name: 'main',
      channel: 'vendor_h',
      environment: 0,
      gateway_app_id: 'next',
      app_secret: 'another',
    })
    const { certificate_id, receipt_url, created_at } = first
    expect(second).toMatchObject({ certificate_id, receipt_url, created_at })
    expect(second).toMatchObject({
      environment: 0,
      gateway_app_id: 'next',
      app_key: '',
      category: '',
      channel_id: '',
      badge_class: '',
      allows_pass_through: false,
      send_url: '',
      has_ca: false,
      last_accepted_at: 0,
      paused_until: 0,
      pauses: {},
    })
    expect(second.fingerprint).not.toBe(first.fingerprint)
    expect(await list(app_id)).toEqual([second])
    const moved = await call('set', { app_id, name: 'main', channel: 'vendor_f' })
    expect(moved.code).toBe(answerCode.invalid_parameter)
    expect(moved.envelope.message).toBe(
      'invalid request parameter: channel must be vendor_h, as it is; remove the certificate first',
    )
  })

  it('tell of each used-up quota when it starts anew, and when the last of them does', async () => {
    const { app_id } = await anApp()
    await succeed('set', { app_id, name: 'main', ...credentialsOf('vendor_x') })
    await server.sql.run(
      `update push_certificates set pauses = '{"private":7,"public":9}' where app_id = '${app_id}'`,
    )
    expect(await list(app_id)).toMatchObject([
      { paused_until: 9, pauses: { private: 7, public: 9 } },
    ])
  })

  it('many sets of one name at once leave one certificate', async () => {
    const { app_id } = await anApp()
    const body = { app_id, name: 'main', ...credentialsOf('vendor_o') }
    const sets = await Promise.all(Array.from({ length: 8 }, () => succeed('set', body)))
    const [only, ...others] = await list(app_id)
    expect(others).toEqual([])
    expect(new Set(sets.map((set) => set.receipt_url))).toEqual(new Set([only.receipt_url]))
  })

  it('/push/certificate: an Admin token reads five fields, a user token those that are no secret', async () => {
    const { app_id, admin } = await anApp()
    const { body } = await userOf(app_id)
    const user = server.api.as(body.token)
    for (const channel of simulatedChannels) {
      const provider = providers[channel]
      const missing = await read(app_id, admin, { provider })
      expect(missing.code).toBe(answerCode.push_certificate_not_found)
      const credentials = credentialsOf(channel)
      await succeed('set', { app_id, name: `our ${channel}`, ...credentials })
      const visible = {
        app_id: credentials.gateway_app_id,
        app_key: credentials.app_key,
        name: `our ${channel}`,
      }
      const { app_secret, certificate } = credentials
      const full = await read(app_id, admin, { provider })
      expect(full.data).toEqual({ ...visible, app_secret, certificate })
      const public_ = await read(app_id, user, { provider })
      expect(public_.data).toEqual({ ...visible, app_secret: '', certificate: '' })
      const development = await read(app_id, admin, { provider, environment: 0 })
      expect(development.code).toBe(answerCode.push_certificate_not_found)
    }
  })

  it('/push/certificate: of several it is the oldest, each environment and application has its own', async () => {
    const { app_id, admin } = await anApp()
    const other = await anApp()
    const set = (name: string, environment = 1) =>
      succeed('set', { app_id, name, ...credentialsOf('vendor_f'), environment })
    for (const name of ['zebra', 'ant']) await set(name)
    await set('test devices', 0)
    const nameOf = async (answer: Promise<Answer>) => (await answer).data?.name
    const provider = providers.vendor_f
    expect(await nameOf(read(app_id, admin, { provider }))).toBe('zebra')
    expect(await nameOf(read(app_id, admin, { provider, environment: 0 }))).toBe('test devices')
    await expectCode(read(other.app_id, other.admin, { provider }), 'push_certificate_not_found')
    await succeed('remove', { app_id, name: 'zebra' })
    expect(await nameOf(read(app_id, admin, { provider }))).toBe('ant')
  })

  async function userOf(appId: string) {
    const body = { username: `user_${++apps}`, password: 'correct horse' }
    const registered = await server.api.call('POST', '/user/register/v2', { appId, body })
    const { user_id } = registered.data
    const login = await server.api.call('POST', '/token/id', {
      appId,
      body: { user_id, password: body.password, device_guid: 'phone' },
    })
    return { body: login.data, userId: user_id }
  }

  it('devices stay bound to one that is removed', async () => {
    const { app_id } = await anApp()
    const { body, userId } = await userOf(app_id)
    await succeed('set', { app_id, name: 'main', ...credentialsOf('vendor_x') })
    const bound = await server.api.as(body.token).call('POST', '/user/token/bind', {
      appId: app_id,
      body: { device_sn: 1, device_token: 'token-1', notifier_name: 'main' },
    })
    expect(bound.code).toBe(200)
    await succeed('remove', { app_id, name: 'main' })
    expect(await list(app_id)).toEqual([])
    const again = await call('remove', { app_id, name: 'main' })
    expect(again.code).toBe(answerCode.push_certificate_not_found)
    const unchecked = await call('check', { app_id, name: 'main' })
    expect(unchecked.code).toBe(answerCode.push_certificate_not_found)
    const bindings = await server.sql.run(
      `select device_token from push_bindings where app_id = '${app_id}' and user_id = ${userId}`,
    )
    expect(bindings).toEqual([{ device_token: 'token-1' }])
  })

  it('secrets are in no list, log, error or row', async () => {
    const { app_id } = await anApp()
    const account = JSON.parse(credentialsOf('cloud_gw').certificate)
    const key = credentialsOf('ios_gw').certificate
    const marks = [
      'vendor-h-secret',
      account.private_key.split('\n')[2],
      key.split('\n')[1],
      'not-to-be-seen',
    ]
    const seen: unknown[] = []
    for (const channel of ['vendor_h', 'cloud_gw', 'ios_gw'] as const)
      seen.push(await succeed('set', { app_id, name: channel, ...credentialsOf(channel) }))
    seen.push(await list(app_id))
    const wrong = { ...credentialsOf('ios_gw'), certificate: `${key}x`, app_secret: '' }
    const refusals = [
      { ...wrong, name: 'x' },
      { ...credentialsOf('vendor_h'), name: 'x', app_secret: 'not-to-be-seen\u00e9' },
      { ...credentialsOf('vendor_h'), name: 'x', app_secret: ['not-to-be-seen'] },
      { ...credentialsOf('vendor_h'), name: 'x', app_secret: 'not-to-be-seen'.repeat(400) },
    ]
    for (const refusal of refusals) {
      const answer = await call('set', { app_id, ...refusal })
      expect(answer.code).not.toBe(200)
      seen.push(answer.envelope)
    }
    seen.push(await succeed('check', { app_id, name: 'vendor_h' }))
    const rows = await server.sql.run('select * from push_certificates')
    for (const mark of marks) {
      expect(JSON.stringify(seen)).not.toContain(mark)
      expect(JSON.stringify(rows)).not.toContain(mark)
      expect(server.output()).not.toContain(mark)
    }
    for (const { sealed } of rows) expect(sealed).toMatch(/^hs1:/)
  })

  it('secrets get the new key of a rotation, and one that was changed is found by hermod check', async () => {
    const { app_id, admin } = await anApp()
    await succeed('set', { app_id, name: 'main', ...credentialsOf('vendor_n') })
    const [before] = await list(app_id)
    const sealed = async () => {
      const [row] = await server.sql.run(
        `select sealed from push_certificates where app_id = '${app_id}'`,
      )
      return String(row?.sealed)
    }
    const keyOf = (text: string) => text.split(':')[1]
    const oldKey = keyOf(await sealed())
    await operator.succeed('POST', '/operator/v1/secret/rotate')
    await operator.succeed('POST', '/operator/v1/secret/retire')
    expect(keyOf(await sealed())).not.toBe(oldKey)
    const provider = providers.vendor_n
    expect((await read(app_id, admin, { provider })).data).toMatchObject({
      app_secret: credentialsOf('vendor_n').app_secret,
    })
    expect(await list(app_id)).toEqual([before])

    const right = await sealed()
    const wrong = right.slice(0, -1) + (right.endsWith('A') ? 'Q' : 'A')
    const plant = (text: string) =>
      server.sql.run(`update push_certificates set sealed = '${text}' where app_id = '${app_id}'`)
    await plant(wrong)
    const { data } = await operator.succeed('POST', '/operator/v1/check')
    expect(data.faults).toContainEqual(expect.objectContaining({ check: 'stored_secret', app_id }))
    expect(await list(app_id)).toMatchObject([{ name: 'main', fingerprint: '', receipt_url: '' }])
    expect(await succeed('check', { app_id, name: 'main' })).toMatchObject({
      ok: false,
      code: 'unreadable',
    })
    await plant(right)
  })

  it('an end that has passed is found by hermod check, and every end is in /metrics', async () => {
    const { app_id } = await anApp()
    for (const name of ['ends', 'stays'])
      await succeed('set', { app_id, name, ...credentialsOf('vendor_o') })
    const endsAt = Date.UTC(2020, 0, 2)
    await server.sql.run(
      `update push_certificates set expires_at = ${endsAt} where app_id = '${app_id}' and name = 'ends'`,
    )
    const check = await callHermod(['check', '--json'], server.settings)
    expect(check.code).toBe(1)
    expect(check.err).toContain('set new push certificates')
    expect(JSON.parse(check.out).faults).toEqual([
      {
        check: 'push_certificate_expiry',
        app_id,
        subject: 'ends',
        detail:
          'the vendor_o certificate expired at 2020-01-02T00:00:00.000Z; set a new one with hermod certificate set',
      },
    ])
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text()
    const line = `hermod_push_certificate_expiry_timestamp_seconds{app="${app_id}",certificate="ends"} ${endsAt / 1000}`
    const text = await metrics()
    expect(text).toContain(line)
    expect(text).not.toContain('certificate="stays"')
    await succeed('remove', { app_id, name: 'ends' })
    expect(await metrics()).not.toContain(line)
  })

  it('hermod certificate: templates come from a file, and their faults name the place in it', async () => {
    const { app_id } = await anApp()
    using folder = new TempFolder('templates')
    const file = (name: string, content: unknown) => {
      writeFileSync(join(folder.path, name), JSON.stringify(content))
      return join(folder.path, name)
    }
    const own = { ...credentialsOf('vendor_o'), category: 'IM', templates: [] }
    const set = (...args: string[]) =>
      callHermod(
        ['certificate', 'set', 'main', '--app', app_id, '--from', file('own.json', own), ...args],
        { ...server.settings, HERMOD_PUBLIC_URL: publicUrl },
      )
    const content_parameters = { text: '{body}' }
    const template = {
      name: 'default',
      id: simulatedTemplates.vendor_o.id,
      title_parameters: { sender: '{title}' },
      content_parameters,
    }
    const wrong = await set(
      '--templates-file',
      file('wrong.json', [template, { name: 'task', id: 'T', content_parameters: { text: 7 } }]),
    )
    expect(wrong.code).toBe(1)
    expect(wrong.err).toMatch(/templates.*\[1\]\.content_parameters\.text must be a text/)
    expect((await set('--templates-file', file('no-list.json', template))).err).toContain('list')
    const right = await set('--json', '--templates-file', file('right.json', [template]))
    expect(JSON.parse(right.out)).toMatchObject({ templates: [template] })
    expect(await succeed('check', { app_id, name: 'main' })).toMatchObject({ ok: true })
    expect(simulator.gateways.vendor_o.calls.at(-1)?.body).toContain('private_content_parameters')
  })

  it('hermod certificate: sets from files, checks, lists and removes', async () => {
    const { app_id } = await anApp()
    using folder = new TempFolder('certificates')
    const { certificate, endpoint } = simulator.gateways.ios_gw.certificate
    const file = (name: string, content: string | Buffer) => {
      writeFileSync(join(folder.path, name), content)
      return join(folder.path, name)
    }
    const ca = file('ca.pem', endpoint.ca)
    const p12 = file(
      'push.p12',
      Buffer.from(simulator.authority.clientFile('com.example.app', 'open sesame'), 'base64'),
    )
    const hermod = (args: string[], input = '') =>
      callHermod(
        ['certificate', ...args, '--app', app_id],
        { ...server.settings, HERMOD_PUBLIC_URL: publicUrl },
        input,
      )
    const ios = (name: string, more: string[], input: string) =>
      hermod(
        [
          ...['set', name, '--channel', 'ios_gw', '--gateway-app-id', 'com.example.app'],
          ...['--send-url', endpoint.sendUrl, '--ca-file', ca, ...more],
        ],
        input,
      )
    const bySecret = await ios(
      'by-file',
      ['--secret-file', '-', '--certificate-file', p12, '--environment', 'development'],
      'open sesame\n',
    )
    expect(bySecret).toMatchObject({ code: 0, err: '' })
    expect(bySecret.out).toContain('development')
    expect(bySecret.out).toContain('hermod certificate check by-file')
    const byKey = await ios(
      'by-key',
      [
        ...['--app-key', 'KEY1234567', '--certificate-file', '-', '--json'],
        ...['--channel-id', 'chat', '--badge-class', 'com.example.Launcher'],
        ...['--secret-file', file('team', 'TEAM123456\n')],
      ],
      certificate,
    )
    expect(byKey).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(byKey.out)).toMatchObject({
      name: 'by-key',
      expires_at: 0,
      channel_id: 'chat',
      badge_class: 'com.example.Launcher',
    })

    for (const name of ['by-file', 'by-key'])
      expect(await hermod(['check', name])).toEqual({
        code: 0,
        out: `${name}: the gateway takes the credentials\n`,
        err: '',
      })
    const replaced = await ios(
      'by-key',
      [
        '--app-key',
        'KEY0000000',
        '--certificate-file',
        '-',
        '--secret-file',
        join(folder.path, 'team'),
      ],
      certificate,
    )
    expect(replaced.out).toContain('It replaces all of the certificate that was set at 20')
    expect(replaced.out).toContain(
      'not given again, so they have their defaults: --channel-id (was chat), --badge-class (was com.example.Launcher).',
    )
    const failed = await hermod(['check', 'by-key'])
    expect(failed.code).toBe(1)
    expect(failed.err).toContain('InvalidProviderToken')
    const whole = { channel: 'ios_gw', gateway_app_id: 'com.example.app', certificate }
    const all = file(
      'ios_gw.json',
      JSON.stringify({
        ...whole,
        ...{ app_key: 'KEY1234567', app_secret: 'TEAM123456' },
        // A slash at the end is left out.
        ...{ send_url: `${endpoint.sendUrl}/`, ca: endpoint.ca },
      }),
    )
    expect(await hermod(['set', 'whole', '--from', all])).toMatchObject({ code: 0, err: '' })
    expect(await hermod(['check', 'whole'])).toMatchObject({ code: 0 })
    await hermod(['set', 'whole', '--from', all, '--app-key', 'KEY0000000'])
    expect((await hermod(['check', 'whole'])).err).toContain('InvalidProviderToken')
    await hermod(['remove', 'whole'])
    const isRefused = async (text: string, words: string) => {
      const { code, err } = await hermod(['set', 'none', '--from', file('none.json', text)])
      expect([code, err]).toEqual([1, expect.stringContaining(words)])
    }
    await isRefused('{}', 'name the channel')
    await isRefused('[]', 'does not hold a JSON object')
    await isRefused('channel=ios_gw', 'does not hold JSON')
    await isRefused(
      '{"channel":"ios"}',
      `channel in ${join(folder.path, 'none.json')} must be one of`,
    )
    await isRefused(JSON.stringify({ ...whole, app_key: 5 }), 'none.json must be a string')
    const table = await hermod(['list'])
    expect(table.out.split('\n').map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ['name', 'channel', 'environment'],
      ['by-file', 'ios_gw', 'development'],
      ['by-key', 'ios_gw', 'production'],
      [''],
    ])
    expect(JSON.parse((await hermod(['list', '--json'])).out)).toEqual(await list(app_id))
    expect((await hermod(['remove', 'by-key'])).out).toContain('by-key')
    expect((await hermod(['remove', 'by-key'])).code).toBe(1)
    expect(await list(app_id)).toHaveLength(1)

    const refused = await hermod(['set', 'x', '--channel', 'vendor_o'])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain(
      '--app-key is missing; --secret-file is missing: the MasterSecret',
    )
    const unread = await hermod(['set', 'x', '--channel', 'vendor_o', '--secret-file', '/none'])
    expect(unread.err).toContain('/none cannot be read')
    const both = ['--secret-file', '-', '--certificate-file', '-']
    expect((await hermod(['set', 'x', '--channel', 'ios_gw', ...both])).code).toBe(1)
  })
})
