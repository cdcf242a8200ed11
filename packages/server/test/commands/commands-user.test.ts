/** `hermod user`, through files, the command line and what the API then says, on both databases. */
import { randomBytes, scryptSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Answer,
  anyBackend,
  type Backend,
  isFullRun,
  type Json,
  TempFolder,
} from '@hermod/testkit'
import argon2 from '@node-rs/argon2'
import bcrypt from '@node-rs/bcrypt'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import type { SqlRow } from '../support/database/sql.js'
import { type CommandResult, callHermod, runHermod } from '../support/hermod-command.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'
import { WatchedServer } from '../support/watched-server.js'

const password = 'correct horse'
const cheapHash = argon2.hashSync(password, { memoryCost: 1024, timeCost: 1 })
/** Several requests of an import, and several pages of an export. */
const manyUserCount = isFullRun ? 10_000 : 3_000
const nothing = {
  created: 0,
  exists: 0,
  updated: 0,
  failed: 0,
  without_password: 0,
  failures: [],
  truncated: false,
}

for (const backend of anyBackend()) {
  describe.concurrent(`hermod user on ${backend.name}`, () => {
    const place = usePlace(backend)
    creating(place)
    importing(place)
    badLines(place)
    manyUsers(place)
    moving(place)
    foreignHashes(place)
    oneUser(place)
    operations(place)
    waysToReach(place, backend)
  })
}

/** A server, the command beside it, and a folder for files. */
class Place {
  readonly folder = new TempFolder('commands-user')
  #watched!: WatchedServer
  #names = 0

  async start(backend: Backend): Promise<void> {
    this.#watched = await WatchedServer.start(backend, { env: { HERMOD_LOG_LEVEL: 'debug' } })
  }

  async end(): Promise<void> {
    await this.#watched[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }

  get server() {
    return this.#watched.server
  }

  get settings() {
    return this.#watched.settings
  }

  /** The words after `hermod user`. */
  run(args: readonly string[], input?: string): Promise<CommandResult> {
    return callHermod(['user', ...args], this.settings, input)
  }

  /** What a command that must succeed prints for scripts. */
  async json(args: readonly string[], input?: string): Promise<Json> {
    return printed(await this.run([...args, '--json'], input))
  }

  /** An application of its own, so that tests do not see each other's users; @returns its app_id */
  async newApp(settings: object = {}): Promise<string> {
    const body = { app_id: `app-${++this.#names}` }
    const operator = this.server.api.as(this.server.operatorToken)
    await operator.succeed('POST', '/operator/v1/app/create', { body })
    if (Object.keys(settings).length > 0)
      await operator.succeed('POST', '/operator/v1/app/update', { body: { ...body, settings } })
    return body.app_id
  }

  file(name: string, text: string): string {
    const path = join(this.folder.path, `${++this.#names}-${name}`)
    writeFileSync(path, text)
    return path
  }

  ndjson(users: readonly object[]): string {
    return this.file('users.ndjson', users.map((user) => `${JSON.stringify(user)}\n`).join(''))
  }

  logIn(appId: string, name: string, secret = password): Promise<Answer> {
    return this.server.api.call('POST', '/token/login', {
      appId,
      body: { login_name: name, password: secret },
    })
  }

  async profile(appId: string, name: string): Promise<Json> {
    const { data } = await this.logIn(appId, name)
    return (await this.server.api.as(data.token).succeed('GET', '/user/profile', { appId })).data
  }

  operate(path: string, body: object): Promise<Answer> {
    return this.server.api
      .as(this.server.operatorToken)
      .call('POST', `/operator/v1/user/${path}`, { body })
  }

  sql(statement: string): Promise<SqlRow[]> {
    return this.#watched.sql.run(statement)
  }

  async storedHash(appId: string, username: string): Promise<string> {
    const [row] = await this.sql(
      `select password_hash from users where app_id = '${appId}' and username = '${username}'`,
    )
    return String(row?.password_hash)
  }
}

function usePlace(backend: Backend): Place {
  const place = new Place()
  beforeAll(() => place.start(backend))
  afterAll(() => place.end())
  return place
}

function printed(result: CommandResult): Json {
  expect(result).toMatchObject({ code: 0, err: '' })
  return JSON.parse(result.out)
}

function creating(place: Place): void {
  test('create takes the password from standard input and never shows it', async () => {
    const appId = await place.newApp()
    const secret = 'p4ssw0rd of alice'
    const args = [
      'create',
      appId,
      'alice',
      '--password-stdin',
      '--nick-name',
      'Alice',
      '--email',
      'alice@example.org',
    ]
    const result = await runHermod(['user', ...args], place.settings, `${secret}\n`)
    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).not.toContain(secret)
    expect((await place.logIn(appId, 'alice@example.org', secret)).code).toBe(200)
    const answer = await place.json(['create', appId, 'bob', '--password-stdin'], secret)
    expect(answer).toEqual({ user_id: expect.any(Number), username: 'bob' })
    expect((await place.logIn(appId, 'bob', secret)).code).toBe(200)
    expect(place.server.output()).not.toContain(secret)
  })

  test('create makes a password where none is given and shows it once', async () => {
    const appId = await place.newApp()
    const { password: made } = await place.json(['create', appId, 'alice'])
    expect(made).toMatch(/^[\w-]{20}$/)
    expect((await place.logIn(appId, 'alice', made)).code).toBe(200)
    const { out } = await place.run(['create', appId, 'bob'])
    expect(out).toMatch(/^password +[\w-]{20}$/m)
    expect(out).toContain('not shown again')
    expect(place.server.output()).not.toContain(made)
  })

  test('create says why it cannot', async () => {
    const appId = await place.newApp({ user_limit: 1 })
    expect(await place.run(['create', appId, 'alice'])).toMatchObject({ code: 0 })
    const refused = async (args: readonly string[], input?: string) =>
      JSON.parse((await place.run(['create', ...args, '--json'], input)).err)
    expect(await refused([appId, 'Alice'])).toEqual({
      code: answerCode.user_exists,
      message: 'user already exists',
    })
    expect(await refused([appId, 'bob'])).toMatchObject({ code: answerCode.user_limit_reached })
    expect(await refused(['nowhere', 'bob'])).toMatchObject({ code: answerCode.app_not_found })
    expect(await refused([appId, '123'])).toMatchObject({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('username'),
    })
    expect(await refused([appId, 'bob', '--password-stdin'], 'short')).toMatchObject({
      message: expect.stringContaining('password'),
    })
    expect(await refused([appId, 'bob', '--password-stdin'], '')).toEqual({
      code: null,
      message: 'standard input holds no password',
    })
  })
}

function importing(place: Place): void {
  const users = [
    {
      username: 'plain',
      password,
      nick_name: 'Pläin "P"',
      avatar: 'https://example.org/a.png',
      description: 'one,\ntwo',
    },
    {
      username: 'hashed',
      password_hash: cheapHash,
      mobile: '+15551234567',
      email: 'h@example.org',
      public_info: 'p',
      private_info: 'q',
    },
    { username: 'off', password, status: 1 },
    { username: 'old', password, created_at: 1_500_000_000_000 },
    { username: 'silent' },
  ]

  test.each(['ndjson', 'csv'])('import reads %s, and a repeat changes nothing', async (format) => {
    const appId = await place.newApp()
    const columns = [...new Set(users.flatMap((user) => Object.keys(user)))]
    const quoted = (value: unknown) => `"${String(value ?? '').replaceAll('"', '""')}"`
    const rows = users.map((user) => columns.map((name) => quoted((user as Json)[name])).join(','))
    const file =
      format === 'csv'
        ? place.file('users.csv', `\ufeff${columns.join(',')}\r\n${rows.join('\r\n')}`)
        : place.ndjson(users)
    expect(await place.json(['import', appId, file])).toEqual({
      ...nothing,
      created: 5,
      without_password: 1,
    })
    const before = await place.sql(`select * from users where app_id = '${appId}' order by user_id`)
    expect(await place.json(['import', appId, file])).toEqual({ ...nothing, exists: 5 })
    expect(
      await place.sql(`select * from users where app_id = '${appId}' order by user_id`),
    ).toEqual(before)
    expect(before.map((row) => row.username)).toEqual(users.map(({ username }) => username))
    expect(before[3]?.created_at).toBe(1_500_000_000_000)
    expect(await place.profile(appId, 'plain')).toMatchObject({
      nick_name: 'Pläin "P"',
      avatar: users[0]?.avatar,
      description: 'one,\ntwo',
    })
    const { mobile, email, public_info, private_info } = await place.profile(appId, '+15551234567')
    expect({ mobile, email, public_info, private_info }).toMatchObject({
      mobile: '+15551234567',
      email: 'h@example.org',
      public_info: 'p',
      private_info: 'q',
    })
    await expectCode(place.logIn(appId, 'off'), 'user_disabled')
    expect((await place.logIn(appId, 'silent', '')).code).not.toBe(200)
  })

  test('import reads standard input, and tells people in words', async () => {
    const appId = await place.newApp()
    const args = ['user', 'import', appId, '-', '--format', 'csv']
    const run = () => runHermod(args, place.settings, 'username,password_hash\nalice,\n')
    const text =
      '1 created, 0 there already, 0 updated, 0 failed; 1 of the created have no password and cannot log in\n'
    expect(await run()).toEqual({ code: 0, out: text, err: '' })
    expect((await run()).out).toBe('0 created, 1 there already, 0 updated, 0 failed\n')
  })

  test('import --update changes profiles, never passwords or status', async () => {
    const appId = await place.newApp()
    await place.json(['import', appId, place.ndjson(users)])
    const changes = [
      { username: 'PLAIN', password: 'another password', nick_name: 'New', status: 1 },
      { username: 'off', email: 'h@example.org' },
      { username: 'old', email: 'old@example.org' },
      { username: 'fresh', password },
    ]
    const result = await place.run(['import', appId, place.ndjson(changes), '--update', '--json'])
    expect(JSON.parse(result.out)).toMatchObject({
      created: 1,
      updated: 2,
      failed: 1,
      failures: [{ line: 2, username: 'off' }],
    })
    expect(await place.profile(appId, 'plain')).toMatchObject({
      username: 'plain',
      nick_name: 'New',
      description: 'one,\ntwo',
    })
    expect(await place.profile(appId, 'old@example.org')).toMatchObject({ username: 'old' })
  })

  test('imports of the same users at the same time make each of them once', async () => {
    const appId = await place.newApp()
    const many = Array.from({ length: 700 }, (_, index) => ({
      username: `u${index}`,
      password_hash: cheapHash,
      email: `u${index}@example.org`,
    }))
    const runs = [many, many.toReversed(), many].map((each) =>
      place.json(['import', appId, place.ndjson(each)]),
    )
    const results = await Promise.all(runs)
    const sum = (name: string) => results.reduce((total, result) => total + result[name], 0)
    expect({ created: sum('created'), exists: sum('exists'), failed: sum('failed') }).toEqual({
      created: 700,
      exists: 1400,
      failed: 0,
    })
    expect(await place.sql(`select count(*) as n from users where app_id = '${appId}'`)).toEqual([
      { n: 700 },
    ])
  })

  test('import fills an application up to its limit of users', async () => {
    const appId = await place.newApp({ user_limit: 2 })
    const { code, out } = await place.run(['import', appId, place.ndjson(users.slice(1)), '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      created: 2,
      failed: 2,
      failures: [{ line: 3, reason: expect.stringContaining('user limit') }, { line: 4 }],
    })
  })
}

function badLines(place: Place): void {
  const secret = 'a secret nobody may read'

  test('import names every bad line of NDJSON, goes on with the rest and fails', async () => {
    const appId = await place.newApp()
    const lines: [text: string, reason: string | null][] = [
      [JSON.stringify({ username: 'first', password }), null],
      [`${secret} is no json`, 'is not valid JSON'],
      [`["${secret}"]`, 'is no JSON object'],
      [
        `{"username":"deep","public_info":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
        'has an object or a list as public_info',
      ],
      ['', null],
      [JSON.stringify({ username: 'unknown', passwort: secret }), 'passwort must be left out'],
      [JSON.stringify({ username: 'has space', password: secret }), 'username must consist of'],
      [JSON.stringify({ password: secret }), 'username is required'],
      [
        JSON.stringify({ username: 'weak', password: 'weak' }),
        'password must have 6 to 128 characters',
      ],
      [
        JSON.stringify({ username: 'both', password: secret, password_hash: cheapHash }),
        'give either password or password_hash',
      ],
      [
        JSON.stringify({ username: 'md5', password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' }),
        'password_hash must be bcrypt',
      ],
      [
        JSON.stringify({ username: 'dear', password_hash: `$2b$16$${'a'.repeat(53)}` }),
        'password_hash must have a bcrypt cost from 4 to 15',
      ],
      [
        JSON.stringify({ username: 'status', password: secret, status: 7 }),
        'status must be one of 0, 1',
      ],
      [
        JSON.stringify({ username: 'later', password: secret, created_at: 9e15 }),
        'created_at must not lie in the future',
      ],
      [
        JSON.stringify({ username: 'mail', password: secret, email: 'none' }),
        'email must be an e-mail address',
      ],
      [
        JSON.stringify({ username: 'breaks', password: secret, nick_name: 'a\u0007b' }),
        'nick_name must not contain control characters',
      ],
      [
        JSON.stringify({ username: 'long', description: 'x'.repeat(300_000) }),
        'is longer than 256 KiB',
      ],
      [JSON.stringify({ username: 'last', password }), null],
    ]
    const file = place.file('bad.ndjson', lines.map(([text]) => text).join('\n'))
    const wrong = lines.flatMap(([, reason], index) =>
      reason === null ? [] : [{ line: index + 1, reason }],
    )
    const { code, out, err } = await place.run(['import', appId, file, '--json'])
    expect(code).toBe(1)
    const report = JSON.parse(out)
    expect(report).toMatchObject({ created: 2, failed: wrong.length })
    expect(report.failures).toEqual(
      wrong.map(({ line, reason }) => ({
        line,
        username: expect.any(String),
        reason: expect.stringContaining(reason),
      })),
    )
    const told = await place.run(['import', appId, file])
    expect(told.code).toBe(1)
    expect(told.err.match(/^line \d+/gm)).toEqual(wrong.map(({ line }) => `line ${line}`))
    expect(told.err).toContain(`${wrong.length} lines failed`)
    expect(out + err + told.out + told.err + place.server.output()).not.toContain(secret)
    expect((await place.logIn(appId, 'last')).code).toBe(200)
  })

  test('import names every bad row of CSV by its first line', async () => {
    const appId = await place.newApp()
    const rows = [
      'username,password,nick_name',
      '',
      `"two\nlines",${secret},x`,
      'short,row',
      `"quo"ted,${secret},x`,
      `good,${password},x`,
      `"open,${secret},x`,
      'lost,,x',
    ]
    const file = place.file('bad.csv', rows.join('\n'))
    const { code, out, err } = await place.run(['import', appId, file, '--json'])
    expect(code).toBe(1)
    const { created, failures } = JSON.parse(out)
    expect(created).toBe(1)
    expect(failures).toEqual([
      { line: 3, username: 'two\nlines', reason: expect.stringContaining('username') },
      { line: 5, username: '', reason: 'has another number of columns than the header' },
      { line: 6, username: '"quo"ted', reason: expect.stringContaining('username') },
      {
        line: 8,
        username: '',
        reason: 'begins a quoted field that does not end; nothing after it was read',
      },
    ])
    expect(out + err).not.toContain(secret)
  })

  test.each([
    ['username,passwort\na,b\n', 'unknown columns: passwort'],
    ['username,Username\na,b\n', 'twice: username'],
    ['password\nabc\n', 'no column username'],
  ])('import refuses the header of %j', async (text, message) => {
    const result = await place.run(['import', await place.newApp(), place.file('header.csv', text)])
    expect(result).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) })
  })

  test('import refuses a file or an application that is not there', async () => {
    const file = place.ndjson([{ username: 'a1' }])
    expect(await place.run(['import', 'nowhere', file])).toEqual({
      code: 1,
      out: '',
      err: 'hermod: app_id does not exist\n',
    })
    expect((await place.run(['import', 'nowhere', join(place.folder.path, 'none')])).err).toContain(
      'none cannot be read',
    )
  })

  test.each(['ndjson', 'csv'])(
    'import says so when a file of %s cannot be read',
    async (format) => {
      const folder = join(place.folder.path, `folder.${format}`)
      mkdirSync(folder, { recursive: true })
      const { code, out, err } = await place.run(['import', await place.newApp(), folder])
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^hermod: .*folder\.\w+ cannot be read: EISDIR[^\n]*\n$/)
    },
  )

  test('import makes e-mail addresses unique without regard to case', async () => {
    const appId = await place.newApp()
    const users = [
      { username: 'upper', email: 'Same@Example.org' },
      { username: 'lower', email: 'same@example.org' },
    ]
    const { code, out } = await place.run(['import', appId, place.ndjson(users), '--json'])
    expect(code).toBe(1)
    expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({
      created: 1,
      failed: 1,
      failures: [{ line: 2, username: 'lower' }],
    })
    expect((await place.run(['export', appId])).out).toMatch(/"email":"Same@Example.org"/)
  })
}

function manyUsers(place: Place): void {
  test('import makes many users in one command, and export writes them all', async () => {
    const appId = await place.newApp()
    const users = Array.from({ length: manyUserCount }, (_, index) => ({
      username: `user_${index}`,
      password_hash: cheapHash,
      nick_name: `Number ${index}`,
      email: `${index}@example.org`,
    }))
    const file = place.ndjson(users)
    expect(await place.json(['import', appId, file])).toEqual({
      ...nothing,
      created: manyUserCount,
    })
    expect(await place.json(['import', appId, file])).toEqual({ ...nothing, exists: manyUserCount })
    const { out } = await place.run(['export', appId])
    const names = out.trimEnd().split('\n')
    expect(names.map((line) => JSON.parse(line).username)).toEqual(
      users.map(({ username }) => username),
    )
    expect((await place.logIn(appId, `user_${manyUserCount - 1}`)).code).toBe(200)
  })
}

function moving(place: Place): void {
  const users = [
    {
      username: 'alice',
      password,
      nick_name: ' "A", =1+1',
      description: 'two,\r\n"lines"',
      email: 'a@example.org',
      mobile: '+15550000001',
      created_at: 1_400_000_000_000,
    },
    {
      username: '李雷',
      password_hash: cheapHash,
      public_info: '{"a":[1,2]}',
      private_info: 'x'.repeat(8192),
    },
    { username: 'off', password, status: 1 },
    { username: 'silent' },
  ]

  test.each(['ndjson', 'csv'])(
    'what export --hashes writes as %s makes the same users elsewhere, with their passwords',
    async (format) => {
      const [from, to] = [await place.newApp(), await place.newApp()]
      await place.json(['import', from, place.ndjson(users)])
      const exported = async (appId: string) => {
        const { code, out, err } = await place.run([
          'export',
          appId,
          '--hashes',
          '--format',
          format,
        ])
        expect({ code, err }).toEqual({ code: 0, err: '' })
        return out
      }
      const text = await exported(from)
      expect(await place.json(['import', to, place.file(`export.${format}`, text)])).toMatchObject({
        created: 4,
        failed: 0,
      })
      const withoutIds = (exportText: string) => exportText.replaceAll(/^(\{"user_id":)?\d+,/gm, '')
      expect(withoutIds(await exported(to))).toBe(withoutIds(text))
      for (const name of ['alice', 'a@example.org', '李雷'])
        expect((await place.logIn(to, name)).code).toBe(200)
      await expectCode(place.logIn(to, 'off'), 'user_disabled')
      await expectCode(place.logIn(to, 'alice', 'wrong password'), 'password_incorrect')
      expect(await place.profile(to, 'alice')).toMatchObject({
        nick_name: users[0]?.nick_name,
        description: users[0]?.description,
      })
    },
  )

  test('export shows hashes only when asked, and list shows no more than a few columns', async () => {
    const appId = await place.newApp()
    await place.json(['import', appId, place.ndjson(users)])
    for (const format of ['ndjson', 'csv']) {
      const { out } = await place.run(['export', appId, '--format', format])
      expect(out).toContain('alice')
      expect(out).not.toContain('$argon2id$')
      expect(out).not.toContain('password_hash')
    }
    const list = await place.run(['list', appId, '--limit', '2'])
    expect(list.out).toMatch(/^\d+ +李雷 .* normal$/m)
    expect(list.out).not.toContain('off')
    const next = /--after (\d+)/.exec(list.out)?.[1] ?? ''
    const rest = await place.json(['list', appId, '--after', next])
    expect(rest.map(({ username, status }: Json) => [username, status])).toEqual([
      ['off', 1],
      ['silent', 0],
    ])
  })
}

function foreignHashes(place: Place): void {
  const salt = randomBytes(16)
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const scrypt = `$scrypt$ln=10,r=8,p=1$${unpadded(salt)}$${unpadded(scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 }))}`

  test.each([
    ['bcrypt', bcrypt.hashSync(password, 4).replace('$2b$', '$2y$')],
    ['scrypt', scrypt],
    ['argon2i', argon2.hashSync(password, { algorithm: 1, memoryCost: 1024, timeCost: 1 })],
    ['a cheaper argon2id', cheapHash],
  ])(
    'the first login with a hash of %s replaces it by one of the service, also when several logins come at once',
    async (_, hash) => {
      const appId = await place.newApp()
      await place.json([
        'import',
        appId,
        place.ndjson([{ username: 'alice', password_hash: hash }]),
      ])
      await expectCode(place.logIn(appId, 'alice', 'wrong password'), 'password_incorrect')
      expect(await place.storedHash(appId, 'alice')).toBe(hash)
      const codes = await Promise.all(
        Array.from({ length: 4 }, async () => (await place.logIn(appId, 'alice')).code),
      )
      expect(codes).toEqual([200, 200, 200, 200])
      const upgraded = await place.storedHash(appId, 'alice')
      expect(upgraded).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect((await place.logIn(appId, 'alice')).code).toBe(200)
      await expectCode(place.logIn(appId, 'alice', 'wrong password'), 'password_incorrect')
      expect(await place.storedHash(appId, 'alice')).toBe(upgraded)
    },
  )
}

function oneUser(place: Place): void {
  const anAlice = async () => {
    const appId = await place.newApp()
    await place.json(['create', appId, 'alice', '--password-stdin'], password)
    const { data } = await place.logIn(appId, 'alice')
    const call = async () =>
      (await place.server.api.as(data.token).call('GET', '/user/profile', { appId })).code
    expect(await call()).toBe(200)
    return { appId, id: String(data.user_id), call }
  }

  test('disable ends logins and tokens until enable, and both may be repeated', async () => {
    const { appId, id, call } = await anAlice()
    const disabled = { user_id: Number(id), username: 'alice', status: 1 }
    expect(await place.json(['disable', appId, 'alice'])).toEqual(disabled)
    expect(await place.json(['disable', appId, id])).toEqual(disabled)
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(place.logIn(appId, 'alice'), 'user_disabled')
    expect((await place.run(['disable', appId, id])).out).toMatch(/^status +disabled$/m)
    for (const who of ['ALICE', id])
      expect(await place.json(['enable', appId, who])).toEqual({ ...disabled, status: 0 })
    expect((await place.logIn(appId, 'alice')).code).toBe(200)
  })

  test('delete ends the user, tells of a repeat, and frees the username', async () => {
    const { appId, id, call } = await anAlice()
    expect(await place.json(['delete', appId, 'alice'])).toEqual({
      user_id: Number(id),
      deleted: true,
    })
    expect(await place.json(['delete', appId, id])).toEqual({ user_id: Number(id), deleted: false })
    expect(await place.run(['delete', appId, id])).toMatchObject({
      code: 0,
      out: `User ${id} of ${appId} was deleted before.\n`,
    })
    expect(await place.run(['delete', appId, 'alice'])).toMatchObject({
      code: 1,
      err: 'hermod: user does not exist\n',
    })
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(place.logIn(appId, 'alice'), 'user_not_found')
    expect(JSON.parse((await place.run(['enable', appId, id, '--json'])).err)).toMatchObject({
      code: answerCode.user_deleted,
    })
    expect(
      await place.json(['import', appId, place.ndjson([{ username: 'alice' }])]),
    ).toMatchObject({ created: 1 })
  })

  test('reset-password sets or makes a password and ends the tokens', async () => {
    const { appId, id, call } = await anAlice()
    const secret = 'a brand new password'
    const result = await place.run(['reset-password', appId, 'alice', '--password-stdin'], secret)
    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).not.toContain(secret)
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(place.logIn(appId, 'alice'), 'password_incorrect')
    expect((await place.logIn(appId, 'alice', secret)).code).toBe(200)
    const made = await place.json(['reset-password', appId, id])
    expect((await place.logIn(appId, 'alice', made.password)).code).toBe(200)
    await expectCode(place.logIn(appId, 'alice', secret), 'password_incorrect')
    const weak = await place.run(
      ['reset-password', appId, 'alice', '--password-stdin', '--json'],
      'weak',
    )
    expect(JSON.parse(weak.err)).toMatchObject({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('password must have'),
    })
    expect(place.server.output()).not.toContain(secret)
  })
}

function operations(place: Place): void {
  test('the operations name what is wrong with a call', async () => {
    const appId = await place.newApp()
    const user = { app_id: appId, user_id: 1, username: 'alice' }
    for (const path of ['disable', 'enable', 'delete', 'reset_password']) {
      for (const body of [user, { app_id: appId }]) {
        const { code, envelope } = await place.operate(path, body)
        expect([path, code, envelope.message]).toEqual([
          path,
          answerCode.invalid_parameter,
          'invalid request parameter: give either user_id or username',
        ])
      }
      await expectCode(place.operate(path, { app_id: appId, user_id: 1 }), 'user_not_found')
      await expectCode(place.operate(path, { app_id: 'nowhere', user_id: 1 }), 'app_not_found')
    }
    const users = Array.from({ length: 501 }, (_, index) => ({ username: `u${index}` }))
    expect((await place.operate('import', { app_id: appId, users })).envelope.message).toContain(
      'users must have at most 500 items',
    )
    expect(
      (await place.operate('import', { app_id: appId, users: [] })).envelope.message,
    ).toContain('users must not be empty')
    const operator = place.server.api.as(place.server.operatorToken)
    const page = await operator.call('GET', '/operator/v1/user/export', {
      query: { app_id: appId, cursor: 'x' },
    })
    expect(page.envelope.message).toContain('cursor must be one that a page before has returned')
  })

  test('an import answers for each entry, in order, and its first of two namesakes wins', async () => {
    const appId = await place.newApp()
    const users = [
      { username: 'a1', email: 'a@example.org' },
      { username: 7 },
      { username: 'A1' },
      { username: 'b1', email: 'a@example.org' },
      'text',
    ]
    const { data } = await place.operate('import', { app_id: appId, users })
    const id = data[0].user_id
    expect(data).toEqual([
      { username: 'a1', result: 'created', user_id: expect.any(Number) },
      {
        username: '',
        result: 'failed',
        reason: 'invalid request parameter: username must be a string',
      },
      { username: 'A1', result: 'exists', user_id: id },
      { username: 'b1', result: 'failed', reason: 'e-mail address is taken' },
      { username: '', result: 'failed', reason: expect.stringContaining('must be an object') },
    ])
  })
}

function waysToReach(place: Place, backend: Backend): void {
  test('--url works from anywhere with the operator token', async () => {
    const appId = await place.newApp()
    using elsewhere = new TempFolder('elsewhere')
    const settings = {
      HERMOD_DATA_DIR: elsewhere.path,
      HERMOD_OPERATOR_TOKEN: place.server.operatorToken,
    }
    const run = (args: readonly string[]) =>
      callHermod(['user', ...args, '--url', place.server.url], settings)
    expect((await run(['import', appId, place.ndjson([{ username: 'far', password }])])).code).toBe(
      0,
    )
    expect((await run(['export', appId])).out).toContain('"username":"far"')
    expect((await place.logIn(appId, 'far')).code).toBe(200)
  })

  test('without a server the users are made in the database itself', async () => {
    await using database = await backend.createDatabase()
    using folder = new TempFolder('alone')
    const settings = { HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: database.url }
    const run = (...args: string[]) => callHermod(args, settings)
    expect(await run('app', 'create', '--id', 'alone')).toMatchObject({ code: 0 })
    const users = Array.from({ length: 1200 }, (_, index) => ({
      username: `u${index}`,
      password_hash: cheapHash,
    }))
    expect(
      printed(await run('user', 'import', 'alone', place.ndjson(users), '--json')),
    ).toMatchObject({ created: 1200 })
    expect(printed(await run('user', 'disable', 'alone', 'u7', '--json'))).toMatchObject({
      status: 1,
    })
    expect((await run('user', 'export', 'alone')).out.split('\n')).toHaveLength(1201)
  })

  test('without a server a deletion erases the texts of the user before the command ends', async () => {
    await using watched = await WatchedServer.start(backend)
    const { api, appId } = watched.server
    const alice = await api.newSession('alice')
    const bob = await api.newSession('bob')
    const carol = await api.newSession('carol')
    for (const one of [alice, bob])
      await one.api.succeed('POST', '/user/authmode', { body: { value: 1 } })
    for (const [from, to] of [
      [alice, bob],
      [carol, alice],
      [carol, bob],
    ] as const) {
      const body = { user_id: to.id, reason: `${from.username} to ${to.username}` }
      await from.api.succeed('POST', '/roster/apply', { body })
    }
    const reasons = async () =>
      (await recordedEvents(watched.sql, 'contact.applied')).map(({ content }) => content)
    expect(await reasons()).toEqual(['alice to bob', 'carol to alice', 'carol to bob'])
    expect(await watched.server.stop()).toMatchObject({ code: 0 })

    const deletion = ['user', 'delete', appId, 'alice']
    expect(await callHermod(deletion, watched.settings)).toMatchObject({ code: 0, err: '' })
    expect(await reasons()).toEqual(['', '', 'carol to bob'])
    expect(await watched.sql.run('select kind, outcome from jobs order by kind')).toEqual([
      { kind: 'contact_removal', outcome: '' },
      { kind: 'text_erasure', outcome: 'done' },
    ])
  })
}
