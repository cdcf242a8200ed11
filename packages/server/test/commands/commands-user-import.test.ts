/** `hermod user import` and `export`, through files, the command line and what the API then says. */
import { randomBytes, scryptSync } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { anyBackend, isFullRun, type Json, sharedPassword as password } from '@hermod/testkit'
import argon2 from '@node-rs/argon2'
import bcrypt from '@node-rs/bcrypt'
import { describe, expect, test } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { cheapHash, userCommands } from '../support/commands/user-commands.js'
import { runHermod } from '../support/hermod-command.js'

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

describe.concurrent.each(anyBackend())('hermod user import and export on $name', (backend) => {
  const commands = userCommands(backend)

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
    const appId = await commands.newApp()
    const columns = [...new Set(users.flatMap((user) => Object.keys(user)))]
    const quoted = (value: unknown) => `"${String(value ?? '').replaceAll('"', '""')}"`
    const rows = users.map((user) => columns.map((name) => quoted((user as Json)[name])).join(','))
    const file =
      format === 'csv'
        ? commands.file('users.csv', `\ufeff${columns.join(',')}\r\n${rows.join('\r\n')}`)
        : commands.ndjson(users)
    expect(await commands.json(['import', appId, file])).toEqual({
      ...nothing,
      created: 5,
      without_password: 1,
    })
    const before = await commands.sql(
      `select * from users where app_id = '${appId}' order by user_id`,
    )
    expect(await commands.json(['import', appId, file])).toEqual({ ...nothing, exists: 5 })
    expect(
      await commands.sql(`select * from users where app_id = '${appId}' order by user_id`),
    ).toEqual(before)
    expect(before.map((row) => row.username)).toEqual(users.map(({ username }) => username))
    expect(before[3]?.created_at).toBe(1_500_000_000_000)
    expect(await commands.profile(appId, 'plain')).toMatchObject({
      nick_name: 'Pläin "P"',
      avatar: users[0]?.avatar,
      description: 'one,\ntwo',
    })
    const { mobile, email, public_info, private_info } = await commands.profile(
      appId,
      '+15551234567',
    )
    expect({ mobile, email, public_info, private_info }).toMatchObject({
      mobile: '+15551234567',
      email: 'h@example.org',
      public_info: 'p',
      private_info: 'q',
    })
    await expectCode(commands.logIn(appId, 'off'), 'user_disabled')
    expect((await commands.logIn(appId, 'silent', '')).code).not.toBe(200)
  })

  test('import reads standard input, and tells people in words', async () => {
    const appId = await commands.newApp()
    const args = ['user', 'import', appId, '-', '--format', 'csv']
    const run = () => runHermod(args, commands.server.settings, 'username,password_hash\nalice,\n')
    const text =
      '1 created, 0 there already, 0 updated, 0 failed; 1 of the created have no password\n'
    expect(await run()).toEqual({ code: 0, out: text, err: '' })
    expect((await run()).out).toBe('0 created, 1 there already, 0 updated, 0 failed\n')
  })

  test('import --update changes profiles, never passwords or status', async () => {
    const appId = await commands.newApp()
    await commands.json(['import', appId, commands.ndjson(users)])
    const changes = [
      { username: 'PLAIN', password: 'another password', nick_name: 'New', status: 1 },
      { username: 'off', email: 'h@example.org' },
      { username: 'old', email: 'old@example.org' },
      { username: 'fresh', password },
    ]
    const result = await commands.run([
      'import',
      appId,
      commands.ndjson(changes),
      '--update',
      '--json',
    ])
    expect(JSON.parse(result.out)).toMatchObject({
      created: 1,
      updated: 2,
      failed: 1,
      failures: [{ line: 2, username: 'off' }],
    })
    expect(await commands.profile(appId, 'plain')).toMatchObject({
      username: 'plain',
      nick_name: 'New',
      description: 'one,\ntwo',
    })
    expect(await commands.profile(appId, 'old@example.org')).toMatchObject({ username: 'old' })
  })

  test('imports of the same users at the same time make each of them once', async () => {
    const appId = await commands.newApp()
    const many = Array.from({ length: 700 }, (_, index) => ({
      username: `u${index}`,
      password_hash: cheapHash,
      email: `u${index}@example.org`,
    }))
    const runs = [many, many.toReversed(), many].map((each) =>
      commands.json(['import', appId, commands.ndjson(each)]),
    )
    const results = await Promise.all(runs)
    const sum = (name: string) => results.reduce((total, result) => total + result[name], 0)
    expect({ created: sum('created'), exists: sum('exists'), failed: sum('failed') }).toEqual({
      created: 700,
      exists: 1400,
      failed: 0,
    })
    expect(await commands.sql(`select count(*) as n from users where app_id = '${appId}'`)).toEqual(
      [{ n: 700 }],
    )
  })

  test('import fills an application up to its limit of users', async () => {
    const appId = await commands.newApp({ user_limit: 2 })
    const { code, out } = await commands.run([
      'import',
      appId,
      commands.ndjson(users.slice(1)),
      '--json',
    ])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      created: 2,
      failed: 2,
      failures: [{ line: 3, reason: expect.stringContaining('user limit') }, { line: 4 }],
    })
  })

  describe.concurrent('bad lines', () => {
    const secret = 'a secret nobody may read'

    test('import names every bad line of NDJSON, goes on with the rest and fails', async () => {
      const appId = await commands.newApp()
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
      const file = commands.file('bad.ndjson', lines.map(([text]) => text).join('\n'))
      const wrong = lines.flatMap(([, reason], index) =>
        reason === null ? [] : [{ line: index + 1, reason }],
      )
      const { code, out, err } = await commands.run(['import', appId, file, '--json'])
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
      const told = await commands.run(['import', appId, file])
      expect(told.code).toBe(1)
      expect(told.err.match(/^line \d+/gm)).toEqual(wrong.map(({ line }) => `line ${line}`))
      expect(told.err).toContain(`${wrong.length} lines failed`)
      expect(out + err + told.out + told.err + commands.server.output()).not.toContain(secret)
      await expectCode(commands.logIn(appId, 'last'), 'ok')
    })

    test('import names every bad row of CSV by its first line', async () => {
      const appId = await commands.newApp()
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
      const file = commands.file('bad.csv', rows.join('\n'))
      const { code, out, err } = await commands.run(['import', appId, file, '--json'])
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
      const result = await commands.run([
        'import',
        await commands.newApp(),
        commands.file('header.csv', text),
      ])
      expect(result).toMatchObject({ code: 1, out: '', err: expect.stringContaining(message) })
    })

    test('import refuses a file or an application that is not there', async () => {
      const file = commands.ndjson([{ username: 'a1' }])
      expect(await commands.run(['import', 'nowhere', file])).toEqual({
        code: 1,
        out: '',
        err: 'hermod: app_id does not exist\n',
      })
      expect(
        (await commands.run(['import', 'nowhere', join(commands.folder.path, 'none')])).err,
      ).toContain('none cannot be read')
    })

    test.each(['ndjson', 'csv'])(
      'import says so when a file of %s cannot be read',
      async (format) => {
        const folder = join(commands.folder.path, `folder.${format}`)
        mkdirSync(folder, { recursive: true })
        const { code, out, err } = await commands.run(['import', await commands.newApp(), folder])
        expect({ code, out }).toEqual({ code: 1, out: '' })
        expect(err).toMatch(/^hermod: .*folder\.\w+ cannot be read: it is a folder; name a file\n$/)
      },
    )

    test('import makes e-mail addresses unique without regard to case', async () => {
      const appId = await commands.newApp()
      const users = [
        { username: 'upper', email: 'Same@Example.org' },
        { username: 'lower', email: 'same@example.org' },
      ]
      const { code, out } = await commands.run(['import', appId, commands.ndjson(users), '--json'])
      expect(code).toBe(1)
      expect(JSON.parse(out.split('\n')[0] ?? '')).toMatchObject({
        created: 1,
        failed: 1,
        failures: [{ line: 2, username: 'lower' }],
      })
      expect((await commands.run(['export', appId])).out).toMatch(/"email":"Same@Example.org"/)
    })
  })

  test.each(['ndjson', 'csv'])(
    'import links users of %s to the IDs that their own system gave them',
    async (format) => {
      const appId = await commands.newApp()
      const file = (lines: readonly string[], name = 'linked') =>
        commands.file(`${name}.${format}`, lines.join('\n'))
      const lines =
        format === 'csv'
          ? ['username,issuer,subject', 'ann,app,4711', 'ben,app,4712', 'silent,,']
          : [
              '{"username":"ann","issuer":"app","subject":"4711"}',
              '{"username":"ben","identities":[{"issuer":"app","subject":"4712"}]}',
              '{"username":"silent","identities":[]}',
            ]
      const created = { ...nothing, created: 3, without_password: 3 }
      expect(await commands.json(['import', appId, file(lines)])).toEqual(created)
      const again = { ...nothing, exists: 3 }
      expect(await commands.json(['import', appId, file(lines)])).toEqual(again)
      const { out } = await commands.run(['export', appId])
      const users = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(users.map(({ username, identities }: Json) => [username, identities])).toEqual([
        ['ann', [{ issuer: 'app', subject: '4711' }]],
        ['ben', [{ issuer: 'app', subject: '4712' }]],
        ['silent', undefined],
      ])
    },
  )

  test('import refuses identities that are wrong, twice there, or of others', async () => {
    const appId = await commands.newApp()
    const identities = [{ issuer: 'app', subject: '1' }]
    await commands.json([
      'import',
      appId,
      commands.ndjson([{ username: 'ann', identities }, { username: 'ben' }]),
    ])
    const cases: [object, string][] = [
      [{ username: 'x1', issuer: 'app' }, 'identities[0].subject is required'],
      [{ username: 'x2', issuer: 'app', subject: 'ä'.repeat(128) }, 'must have at most 255 bytes'],
      [{ username: 'x3', issuer: 'a\tb', subject: '1' }, 'without control characters'],
      [{ username: 'x4', identities: 'app' }, 'identities that are no list'],
      [
        { username: 'x5', identities: [{ issuer: ['app'], subject: '1' }] },
        'identities that are no list',
      ],
      [
        {
          username: 'x6',
          issuer: 'app',
          subject: '2',
          identities: [{ issuer: 'app', subject: '2' }],
        },
        'identities must not have one twice',
      ],
      [{ username: 'x7', identities }, 'an identity is that of another user'],
      [{ username: 'ben', issuer: 'app', subject: '3' }, 'link it with /user/identity/link'],
      [{ username: 'ben', identities }, 'an identity is that of another user'],
      [{ username: 'x8', issuer: 'app', subject: '4' }, ''],
      [{ username: 'x9', issuer: 'app', subject: '4' }, 'an identity is that of another user'],
    ]
    const { out } = await commands.run([
      'import',
      appId,
      commands.ndjson(cases.map(([user]) => user)),
      '--json',
    ])
    const { failures, created } = JSON.parse(out.split('\n')[0] ?? '') as Json
    expect(created).toBe(1)
    const wrong = cases.flatMap(([, reason], index) =>
      reason === '' ? [] : [[index + 1, expect.stringContaining(reason)]],
    )
    expect(failures.map(({ line, reason }: Json) => [line, reason])).toEqual(wrong)
  })

  test('import makes many users in one command, and export writes them all', async () => {
    const appId = await commands.newApp()
    const users = Array.from({ length: manyUserCount }, (_, index) => ({
      username: `user_${index}`,
      password_hash: cheapHash,
      nick_name: `Number ${index}`,
      email: `${index}@example.org`,
    }))
    const file = commands.ndjson(users)
    expect(await commands.json(['import', appId, file])).toEqual({
      ...nothing,
      created: manyUserCount,
    })
    expect(await commands.json(['import', appId, file])).toEqual({
      ...nothing,
      exists: manyUserCount,
    })
    const { out } = await commands.run(['export', appId])
    const names = out.trimEnd().split('\n')
    expect(names.map((line) => JSON.parse(line).username)).toEqual(
      users.map(({ username }) => username),
    )
    await expectCode(commands.logIn(appId, `user_${manyUserCount - 1}`), 'ok')
  })

  describe.concurrent('moves', () => {
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
      {
        username: 'of_the_shop',
        is_bot: true,
        identities: [
          { issuer: 'shop, "new"', subject: 'ann@shop' },
          { issuer: 'app', subject: '4711' },
        ],
      },
    ]

    test.each(['ndjson', 'csv'])(
      'what export --hashes writes as %s makes the same users elsewhere, with their passwords',
      async (format) => {
        const [from, to] = [await commands.newApp(), await commands.newApp()]
        await commands.json(['import', from, commands.ndjson(users)])
        const exported = async (appId: string) => {
          const { code, out, err } = await commands.run([
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
        expect(
          await commands.json(['import', to, commands.file(`export.${format}`, text)]),
        ).toMatchObject({
          created: 5,
          failed: 0,
        })
        const withoutIds = (exportText: string) =>
          exportText.replaceAll(/^(\{"user_id":)?\d+,/gm, '')
        expect(withoutIds(await exported(to))).toBe(withoutIds(text))
        for (const name of ['alice', 'a@example.org', '李雷'])
          await expectCode(commands.logIn(to, name), 'ok')
        await expectCode(commands.logIn(to, 'off'), 'user_disabled')
        await expectCode(commands.logIn(to, 'alice', 'wrong password'), 'password_incorrect')
        expect(await commands.profile(to, 'alice')).toMatchObject({
          nick_name: users[0]?.nick_name,
          description: users[0]?.description,
        })
      },
    )

    test('export shows hashes only when asked, and list shows no more than a few columns', async () => {
      const appId = await commands.newApp()
      await commands.json(['import', appId, commands.ndjson(users)])
      for (const format of ['ndjson', 'csv']) {
        const { out } = await commands.run(['export', appId, '--format', format])
        expect(out).toContain('alice')
        expect(out).not.toContain('$argon2id$')
        expect(out).not.toContain('password_hash')
      }
      const list = await commands.run(['list', appId, '--limit', '2'])
      expect(list.out).toMatch(/^\d+ +李雷 .* normal$/m)
      expect(list.out).not.toContain('off')
      const next = /--after (\d+)/.exec(list.out)?.[1] ?? ''
      const rest = await commands.json(['list', appId, '--after', next])
      expect(rest.map(({ username, status }: Json) => [username, status])).toEqual([
        ['off', 1],
        ['silent', 0],
        ['of_the_shop', 0],
      ])
      expect(list.out).toMatch(/^\d+ +李雷 .* yes +no +- +normal$/m)
      const { out } = await commands.run(['list', appId])
      expect(out).toMatch(/of_the_shop .* no +yes +app 4711, shop, "new" ann@shop +normal$/m)
    })
  })

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
      const appId = await commands.newApp()
      await commands.json([
        'import',
        appId,
        commands.ndjson([{ username: 'alice', password_hash: hash }]),
      ])
      await expectCode(commands.logIn(appId, 'alice', 'wrong password'), 'password_incorrect')
      expect(await commands.storedHash(appId, 'alice')).toBe(hash)
      const codes = await Promise.all(
        Array.from({ length: 4 }, async () => (await commands.logIn(appId, 'alice')).code),
      )
      expect(codes).toEqual([200, 200, 200, 200])
      const upgraded = await commands.storedHash(appId, 'alice')
      expect(upgraded).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      await expectCode(commands.logIn(appId, 'alice'), 'ok')
      await expectCode(commands.logIn(appId, 'alice', 'wrong password'), 'password_incorrect')
      expect(await commands.storedHash(appId, 'alice')).toBe(upgraded)
    },
  )
})
