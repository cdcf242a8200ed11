import { resolve } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from './config.js'
import { optionKeys, optionOf } from './options.js'

const adminToken = `hma_${'a'.repeat(32)}`
const operatorToken = `hmo_${'B'.repeat(40)}`

function files(contents: Record<string, unknown>) {
  return (path: string) => {
    if (!(path in contents)) throw new Error(`ENOENT: no such file, open '${path}'`)
    const content = contents[path]
    return typeof content === 'string' ? content : JSON.stringify(content)
  }
}

function violationsOf(
  env: NodeJS.ProcessEnv,
  contents: Record<string, unknown> = {},
): readonly string[] {
  try {
    loadConfig(env, files(contents))
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).violations
  }
}

describe('loadConfig', () => {
  it('runs on one machine without any setting', () => {
    const { config, secrets, sources } = loadConfig({ PATH: '/nowhere' })
    expect(config).toEqual({
      dataDir: resolve('data'),
      storage: { kind: 'sqlite', dataDir: resolve('data') },
      migrate: 'auto',
      backup: { folder: null, everyMs: 21_600_000, daily: 7, weekly: 4, logBytes: null },
      http: {
        host: '127.0.0.1',
        port: 8080,
        publicUrl: null,
        trustProxy: false,
        corsOrigins: '*',
        statusMode: 'envelope',
        shutdownTimeoutMs: 20_000,
        drainMs: 10_000,
        keepAliveMs: 72_000,
        bounds: {
          connections: 20_000,
          addressConnections: 10_000,
          connectionRequests: 16,
          waitingRequests: 10_000,
          unreadBytes: 67_108_864,
          connectionUnreadBytes: 1_048_576,
          bodyBytes: 67_108_864,
          stallMs: 15_000,
        },
      },
      gateway: {
        connections: 18_000,
        addressConnections: 9_000,
        unopened: 2_000,
        userSessions: 32,
        pingMs: 25_000,
      },
      log: { level: 'info' },
      checkAnswers: false,
      rateLimit: {
        enabled: true,
        address: { perSecond: 2000, burst: 4000 },
        user: { perSecond: 100, burst: 200 },
        userCalls: 32,
        userFiles: { perSecond: 4 * 2 ** 20, burst: 2 ** 30 },
        bot: { perSecond: 1000, burst: 2000 },
        botCalls: 256,
        app: { perSecond: 5000, burst: 10_000 },
      },
      logins: {
        userFailures: 5,
        addressFailures: 20,
        maxWaitMs: 60_000,
        forgetMs: 900_000,
        maxWaitingPasswords: 200,
        maxWaitingPasswordsOfApp: 2000,
      },
      accounts: {
        userTokenTtlMs: 30 * 86_400_000,
        passwordMinLength: 6,
        reservedUsernamePrefixes: [],
        devicesPerUser: 20,
      },
      streams: {
        silentMs: 30_000,
        longestMs: 1_800_000,
        appendIntervalMs: 200,
        appendBurst: 20,
        perSender: 10,
        perBot: 200,
      },
      messages: { maxMessageBytes: 65_536, maxTargets: 500, transactionTtlMs: 86_400_000 },
      outbox: { maxLagMs: 604_800_000 },
      outbound: { allow: [], proxy: null },
      alerts: { url: null },
      push: { traceMs: 7 * 86_400_000, taskMs: 90 * 86_400_000 },
      files: {
        store: { kind: 'folder', folder: resolve('data/files'), isShared: false },
        ffmpeg: null,
        freeDiskBytes: 536_870_912,
      },
      writer: { batchMessages: 256, queueMessages: 20_000, queueBytes: 67_108_864 },
      sameOnNodes: expect.objectContaining({
        HERMOD_PUBLIC_URL: 'not set',
        HERMOD_USER_TOKEN_DAYS: '30',
      }),
      bootstrap: { appId: null, adminTokenScopes: null, tokens: 'print' },
    })
    expect({ ...secrets }).toEqual({
      databaseUrl: null,
      secretKey: null,
      secretKeyOld: null,
      bootstrapAdminToken: null,
      operatorToken: null,
      alertSecret: null,
      backupPassphrase: null,
      s3SecretAccessKey: null,
    })
    expect(new Set(Object.values(sources))).toEqual(new Set(['default']))
  })

  it('names the settings that nodes have alike, and none that is a secret or of one machine', () => {
    const secrets = {
      HERMOD_DATABASE_URL: 'postgres://hermod:hunter2@127.0.0.1/hermod',
      HERMOD_OPERATOR_TOKEN: `hmo_${'x'.repeat(40)}`,
    }
    const { sameOnNodes } = loadConfig(secrets).config
    expect(Object.keys(sameOnNodes).length).toBeGreaterThan(30)
    for (const name of ['PORT', 'DATA_DIR', 'DATABASE_URL', 'SECRET_KEY', 'OPERATOR_TOKEN'])
      expect(sameOnNodes).not.toHaveProperty(`HERMOD_${name}`)
    expect(JSON.stringify(sameOnNodes)).not.toContain('hunter2')
  })

  it('puts the environment over the file and the file over the defaults', () => {
    const file = {
      HERMOD_PORT: 9000,
      HERMOD_HOST: '0.0.0.0',
      HERMOD_RATE_LIMIT: false,
      HERMOD_CORS_ORIGINS: ['https://a.example'],
    }
    const { config, sources } = loadConfig(
      { HERMOD_CONFIG: 'h.json', HERMOD_PORT: '0', HERMOD_HOST: '' },
      files({ 'h.json': file }),
    )
    expect(config.http).toMatchObject({
      port: 0,
      host: '0.0.0.0',
      corsOrigins: ['https://a.example'],
    })
    expect(config.rateLimit.enabled).toBe(false)
    expect(sources).toMatchObject({
      port: 'environment',
      host: 'file',
      rateLimit: 'file',
      dataDir: 'default',
      config: 'environment',
    })
  })

  it('refuses all errors of all sources together, each with a name and an accepted example', () => {
    const env = {
      HERMOD_CONFIG: 'h.json',
      HERMOD_PROT: '1',
      HERMOD_PORT: '70000',
      HERMOD_NATS_URL: 'nats://x',
      HERMOD_LOG_LEVEL: 'loud',
    }
    const file = { HERMOD_HOSTS: 'x', HERMOD_CONFIG: 'other.json', HERMOD_TRUST_PROXY: [1] }
    expect(violationsOf(env, { 'h.json': file })).toEqual([
      'h.json: HERMOD_HOSTS is not a known setting; the nearest known one is HERMOD_HOST, for example "HERMOD_HOST": "0.0.0.0"',
      'h.json: HERMOD_CONFIG belongs in the environment, not in the file that it names',
      'h.json: HERMOD_TRUST_PROXY must be on (every address), off, or IP addresses and CIDR ranges separated by commas; the shortest prefix is /1, not [1]; for example "HERMOD_TRUST_PROXY": "10.0.0.0/8,192.0.2.7"',
      'HERMOD_PROT is not a known setting; the nearest known one is HERMOD_PORT, for example HERMOD_PORT=8080',
      'HERMOD_PORT must be an integer from 0 to 65535, not "70000"; for example HERMOD_PORT=8080',
      expect.stringMatching(
        /^HERMOD_NATS_URL is not a known setting; the nearest known one is HERMOD_\w+, for example HERMOD_/,
      ),
      'HERMOD_LOG_LEVEL must be one of fatal, error, warn, info, debug, trace, silent, not "loud"; for example HERMOD_LOG_LEVEL=info',
    ])
  })

  it('ignores the variables that Kubernetes sets for services', () => {
    const { config, sources } = loadConfig({
      HERMOD_PORT: 'tcp://10.0.0.1:8080',
      HERMOD_SERVICE_HOST: '10.0.0.1',
      HERMOD_SERVICE_PORT: '8080',
      HERMOD_SERVICE_PORT_HTTP: '8080',
      HERMOD_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      HERMOD_PORT_8080_TCP_PROTO: 'tcp',
      HERMOD_PORT_8080_TCP_PORT: '8080',
      HERMOD_PORT_8080_TCP_ADDR: '10.0.0.1',
      HERMOD_DB_SERVICE_HOST: '10.0.0.2',
      HERMOD_DB_PORT: 'tcp://10.0.0.2:5432',
    })
    expect(config.http.port).toBe(8080)
    expect(sources.port).toBe('default')
  })

  it('reads a file that begins with a byte order mark', () => {
    const { config } = loadConfig(
      { HERMOD_CONFIG: 'h.json' },
      files({ 'h.json': '\ufeff{"HERMOD_PORT": 9000}' }),
    )
    expect(config.http.port).toBe(9000)
  })

  it('names the cause when a database URL is refused, without its password', () => {
    expect(violationsOf({ HERMOD_DATABASE_URL: 'postgres://u:hunter2/x@db/hermod' })).toEqual([
      'HERMOD_DATABASE_URL has a raw /, # or ? in its user or password; write %2F, %23 or %3F; for example HERMOD_DATABASE_URL=postgres://hermod:password@127.0.0.1:5432/hermod',
    ])
  })

  it('names every wrong setting in the message of the error', () => {
    expect(() => loadConfig({ HERMOD_PORT: 'x', HERMOD_HTTP_STATUS: 'y' })).toThrow(
      /refused:\n {2}- HERMOD_PORT must .*\n {2}- HERMOD_HTTP_STATUS must /,
    )
  })

  it.each([
    [
      'a missing file',
      {},
      "h.json (HERMOD_CONFIG) cannot be read: ENOENT: no such file, open 'h.json'",
    ],
    [
      'broken JSON',
      { 'h.json': '{"HERMOD_SECRET_KEY": hush}' },
      "h.json (HERMOD_CONFIG) is not valid JSON: Unexpected token 'h'",
    ],
    [
      'a list',
      { 'h.json': [] },
      'h.json (HERMOD_CONFIG) must hold one JSON object, for example {"HERMOD_PORT": 8080}',
    ],
  ])('says what is wrong with %s', (_case, contents, text) => {
    expect(violationsOf({ HERMOD_CONFIG: 'h.json' }, contents)).toEqual([text])
  })

  it('refuses a queue that is shorter than a batch', () => {
    expect(violationsOf({ HERMOD_QUEUE_MESSAGES: '100', HERMOD_BATCH_MESSAGES: '200' })).toEqual([
      'HERMOD_QUEUE_MESSAGES (100) must not be below HERMOD_BATCH_MESSAGES (200); for example HERMOD_QUEUE_MESSAGES=200',
    ])
  })

  it('refuses a previous secret key without a new one, or that is the new one', () => {
    const key = 'k'.repeat(32)
    expect(violationsOf({ HERMOD_SECRET_KEY_OLD: key })).toEqual([
      'HERMOD_SECRET_KEY_OLD is set without HERMOD_SECRET_KEY; set HERMOD_SECRET_KEY to the new key, for example HERMOD_SECRET_KEY=$(openssl rand -hex 32)',
    ])
    expect(violationsOf({ HERMOD_SECRET_KEY_OLD: key, HERMOD_SECRET_KEY: key })).toEqual([
      'HERMOD_SECRET_KEY_OLD and HERMOD_SECRET_KEY are the same key; set HERMOD_SECRET_KEY to the new key, or remove HERMOD_SECRET_KEY_OLD',
    ])
  })

  it('refuses an address of alerts without a secret, and a secret that signs nothing', () => {
    const url = { HERMOD_ALERT_URL: 'https://alerts.example.org/hermod?room=1' }
    const secret = { HERMOD_ALERT_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}` }
    expect(violationsOf({ ...url, ...secret })).toEqual([])
    expect(violationsOf(url)).toEqual([
      'HERMOD_ALERT_URL needs HERMOD_ALERT_SECRET; for example HERMOD_ALERT_SECRET=whsec_$(openssl rand -hex 32)',
    ])
    expect(violationsOf(secret)).toEqual([
      'HERMOD_ALERT_SECRET needs HERMOD_ALERT_URL; for example HERMOD_ALERT_URL=https://alerts.example.org/hermod',
    ])
    for (const text of ['whsec_', 'whsec_a b', `whsec_${'a'.repeat(33)}`, 'a'.repeat(44)])
      expect(violationsOf({ ...url, HERMOD_ALERT_SECRET: text })[0]).toContain('whsec_ and the')
    expect(violationsOf({ ...secret, HERMOD_ALERT_URL: 'https://me@example.org' })[0]).toContain(
      'without user',
    )
  })

  it('refuses scopes without the Admin token that has them', () => {
    expect(violationsOf({ HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES: 'push' })).toEqual([
      'HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES needs HERMOD_BOOTSTRAP_ADMIN_TOKEN; for example HERMOD_BOOTSTRAP_ADMIN_TOKEN=hma_$(openssl rand -hex 32)',
    ])
    expect(
      violationsOf({
        HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES: 'x',
        HERMOD_BOOTSTRAP_ADMIN_TOKEN: adminToken,
      }),
    ).toEqual([
      'HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES must be all, or scopes separated by commas, each once: users:read, users:write, tokens:issue, messages:read, messages:send, groups, push, app, not "x"; for example HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES=users:read,tokens:issue',
    ])
  })

  it('freezes the configuration in depth', () => {
    const { config } = loadConfig({ HERMOD_TRUST_PROXY: '::1' })
    for (const part of [config, config.http, config.storage, config.http.trustProxy])
      expect(Object.isFrozen(part)).toBe(true)
  })
})

describe('secrets', () => {
  const env = {
    HERMOD_DATABASE_URL: 'postgres://hermod:hunter2@db/hermod',
    HERMOD_SECRET_KEY: 'k'.repeat(32),
    HERMOD_BOOTSTRAP_ADMIN_TOKEN: adminToken,
    HERMOD_OPERATOR_TOKEN: operatorToken,
  }

  it('are handed out apart from the configuration', () => {
    const { config, secrets } = loadConfig(env)
    expect(secrets.databaseUrl).toBe(env.HERMOD_DATABASE_URL)
    expect(secrets.operatorToken).toBe(operatorToken)
    expect(config.storage).toEqual({
      kind: 'postgres',
      redactedUrl: 'postgres://hermod:***@db/hermod',
      maxConnections: 10,
      deadlineMs: 5_000,
    })
  })

  it('never appear in logs, JSON or the effective settings', () => {
    const loaded = loadConfig(env)
    const printed = inspect(loaded, { depth: 9 }) + JSON.stringify(loaded)
    for (const secret of ['hunter2', 'kkk', adminToken, operatorToken])
      expect(printed).not.toContain(secret)
    const shown = Object.fromEntries(loaded.settings.map(({ name, value }) => [name, value]))
    expect(shown).toMatchObject({
      HERMOD_SECRET_KEY: 'set',
      HERMOD_OPERATOR_TOKEN: 'set',
      HERMOD_PUBLIC_URL: 'not set',
    })
  })

  it('never appear in refusals', () => {
    const violations = violationsOf({
      HERMOD_DATABASE_URL: 'mysql://u:hunter2@db',
      HERMOD_SECRET_KEY: 'short-key',
      HERMOD_BOOTSTRAP_APP_ID: adminToken,
      HERMOD_OPERATOR_TOKEN: `${adminToken}!`,
    })
    expect(
      violationsOf({ HERMOD_CONFIG: 'h.json' }, { 'h.json': { HERMOD_SECRET_KEY: 'hush' } }),
    ).toEqual([
      'h.json: HERMOD_SECRET_KEY must be 32 to 256 printable characters without spaces; for example "HERMOD_SECRET_KEY": "<output of openssl rand -hex 32>"',
    ])
    expect(violations).toHaveLength(4)
    for (const secret of ['hunter2', 'short-key', adminToken])
      expect(violations.join()).not.toContain(secret)
    expect(violations[3]).toBe(
      'HERMOD_OPERATOR_TOKEN must be hmo_ and 32 or more letters and digits; for example HERMOD_OPERATOR_TOKEN=hmo_$(openssl rand -hex 32)',
    )
  })
})

describe('options', () => {
  it.each<[string, string, unknown]>([
    ['HERMOD_PORT', '65535', 65535],
    ['HERMOD_PORT', '-1', undefined],
    ['HERMOD_PORT', '80.5', undefined],
    ['HERMOD_PORT', '1e3', undefined],
    ['HERMOD_PORT', '99999999999999999999', undefined],
    ['HERMOD_HOST', '::', '::'],
    ['HERMOD_HOST', '::1', '::1'],
    ['HERMOD_HOST', 'fe80::1%eth0', 'fe80::1%eth0'],
    ['HERMOD_HOST', 'chat.example.org', 'chat.example.org'],
    ['HERMOD_HOST', 'http://x', undefined],
    ['HERMOD_HOST', '[::1]', undefined],
    ['HERMOD_HOST', '127.0.0.1:8080', undefined],
    ['HERMOD_RATE_LIMIT', 'off', false],
    ['HERMOD_RATE_LIMIT', 'yes', undefined],
    ['HERMOD_TRUST_PROXY', 'on', true],
    ['HERMOD_TRUST_PROXY', '10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ['HERMOD_TRUST_PROXY', '10.0.0.0/33', undefined],
    ['HERMOD_TRUST_PROXY', '0.0.0.0/0', undefined],
    ['HERMOD_TRUST_PROXY', 'proxy.example', undefined],
    ['HERMOD_CORS_ORIGINS', 'off', []],
    [
      'HERMOD_CORS_ORIGINS',
      'https://a.example,capacitor://localhost',
      ['https://a.example', 'capacitor://localhost'],
    ],
    ['HERMOD_CORS_ORIGINS', 'https://a.example/path', undefined],
    ['HERMOD_CORS_ORIGINS', '*.example', undefined],
    ['HERMOD_PUBLIC_URL', 'https://a.example/im/', 'https://a.example/im'],
    ['HERMOD_PUBLIC_URL', 'https://a.example/?x', undefined],
    ['HERMOD_PUBLIC_URL', 'ftp://a.example', undefined],
    ['HERMOD_RESERVED_USERNAME_PREFIXES', 'Admin, root_,admin', ['admin', 'root_']],
    ['HERMOD_RESERVED_USERNAME_PREFIXES', 'a-b', undefined],
    ['HERMOD_DATABASE_URL', 'postgresql://db/x', 'postgresql://db/x'],
    ['HERMOD_DATABASE_URL', 'mysql://db/x', undefined],
    ['HERMOD_BOOTSTRAP_APP_ID', 'my-app_1', 'my-app_1'],
    ['HERMOD_BOOTSTRAP_APP_ID', 'My', undefined],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN', `hma_${'a'.repeat(31)}`, undefined],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN', adminToken, adminToken],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'all', ['all']],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'push, app', ['push', 'app']],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'push,pull', undefined],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'push,', undefined],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'push,app,push', undefined],
    ['HERMOD_BOOTSTRAP_ADMIN_TOKEN_SCOPES', 'push,all', undefined],
  ])('%s=%s', (name, input, value) => {
    const option = optionKeys.map(optionOf).find((candidate) => candidate.name === name)
    expect(option?.decode(input)).toEqual(value)
  })

  it.each(optionKeys.map(optionOf))('$name accepts its own example and default', (option) => {
    const example = option.example.replace('$(openssl rand -hex 32)', 'a1'.repeat(32))
    expect(option.decode(example)).toBeDefined()
    expect(option.name).toMatch(/^HERMOD_[A-Z0-9_]+$/)
    expect(option.text).toMatch(/^[A-Za-z].*\.$/)
    const neverGiven =
      option.default === null || (Array.isArray(option.default) && option.default.length === 0)
    if (!neverGiven) expect(option.decode(option.encode(option.default))).toEqual(option.default)
  })
})
