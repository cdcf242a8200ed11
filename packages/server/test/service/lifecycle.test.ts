import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Answer,
  type Backend,
  type BackendDatabase,
  Child,
  isFullRun,
  type PostgresBackend,
  type ServerOptions,
  type ServerProcess,
  ServerStartError,
  type Session,
  startServer,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, expect, test } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { hermodEnvironment, hermodScript, runHermod } from '../support/hermod-command.js'
import { holdWrites } from '../support/messaging/held-writes.js'
import { Random } from '../support/random.js'

const hasCurl = succeeds(() => execFileSync('curl', ['--version']))
const checked = { HERMOD_CHECK_ANSWERS: 'on' }
/** As a start by hand: the service chooses and makes everything. */
const nothingGiven = {
  ...checked,
  HERMOD_BOOTSTRAP_APP_ID: undefined,
  HERMOD_BOOTSTRAP_ADMIN_TOKEN: undefined,
  HERMOD_OPERATOR_TOKEN: undefined,
}
const patienceMs = 30_000

const backends = testBackends('own')
afterAll(() => Promise.all(backends.map((backend) => backend.end())))

/** The database of the tests whose claims do not depend on it. */
const [backend] = backends as [Backend]

describe.concurrent('a process', () => {
  describe('the first start', () => {
    test('first start: is ready on an empty folder, prints app and tokens once, and lines that work', async (test) => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('first-start')
      const server = await startServer({
        ...serverOptions(folder, database),
        env: nothingGiven,
        test,
      })
      const { appId, adminToken, operatorToken } = printedCredentials(server)
      const admin = { appId, token: adminToken }
      await server.api.succeed('GET', '/user/list', admin)
      await server.api.succeed('POST', '/operator/v1/check', { token: operatorToken, body: {} })
      const line = /^ *(curl .*)$/m.exec(server.output())?.[1] ?? ''
      if (hasCurl)
        expect(
          JSON.parse(execFileSync('sh', ['-c', `${line} --silent`], { encoding: 'utf8' })),
        ).toMatchObject({ code: 200, data: { user_id: expect.any(Number) } })
      const command = /^ *npx hermod (app update .*)$/m.exec(server.output())?.[1] ?? ''
      const { code, err } = await runHermod(command.split(' '), settingsOf(folder, database))
      expect([code, err]).toEqual([0, ''])
      const registration = await server.api.call('POST', '/user/register/v2', {
        appId,
        body: { username: 'alice', password: 'change-me-soon' },
      })
      expect(registration.code).toBe(answerCode.registration_closed)
      await server.stop()
      const again = await server.startAgain({ test })
      expect(again.output()).not.toMatch(/first start|hm[aou]_|curl/)
      await again.api.succeed('GET', '/user/list', admin)
    })

    if (isFullRun)
      test('kills during the first start: the next start works and the operator has access', async (test) => {
        await using database = await backend.createDatabase()
        using folder = new TempFolder('first-start')
        const settings = settingsOf(folder, database)
        const random = new Random(7)
        for (let kills = 0; kills < (isFullRun ? 5 : 2); kills++) {
          const child = new Child([process.execPath, hermodScript, 'serve'], {
            env: hermodEnvironment({ ...settings, HERMOD_PORT: '0' }),
          })
          await sleep(random.next() * 700)
          child.killTree()
          await child.exited
        }
        const server = await startServer({
          ...serverOptions(folder, database),
          env: nothingGiven,
          test,
        })
        const { code, out } = await runHermod(
          ['token', 'create', '--app', 'hermod', '--name', 'rescue', '--json'],
          settings,
        )
        expect(code).toBe(0)
        await server.api.succeed('GET', '/user/list', {
          appId: 'hermod',
          token: JSON.parse(out).token,
        })
      })
  })

  describe('unattended set-up', () => {
    if (isFullRun)
      test('unattended set-up: is ready with the given application and tokens and prints none', async (test) => {
        const server = await backend.startServer({ env: checked, test })
        expect(server.output()).not.toMatch(/hm[aou]_|curl/)
        await server.api.admin().succeed('GET', '/user/list')
        await server.api.succeed('POST', '/operator/v1/check', {
          token: server.operatorToken,
          body: {},
        })
      })

    test('unattended set-up again: changes nothing and adds a new token', async (test) => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('unattended')
      const settings = settingsOf(folder, database)
      const first = await startServer({ ...serverOptions(folder, database), test })
      const tokens = () => listTokens(first.appId, settings)
      const before = await tokens()
      expect(before).toHaveLength(1)
      await first.stop()
      const second = await first.startAgain({ test })
      expect(await tokens()).toEqual(before)
      await second.stop()
      const adminToken = `hma_${'n'.repeat(40)}`
      const third = await second.startAgain({ adminToken, test })
      expect(await tokens()).toHaveLength(2)
      await third.api.admin().succeed('GET', '/user/list')
      await third.api.as(first.adminToken).succeed('GET', '/user/list')
    })

    if (isFullRun)
      test('only an app_id given: creates and prints an Admin token once', async (test) => {
        const env = { ...nothingGiven, HERMOD_BOOTSTRAP_APP_ID: 'chosen' }
        const server = await backend.startServer({ env, test })
        const token = /hma_\w+/.exec(server.output())?.[0] ?? ''
        await server.api.succeed('GET', '/user/list', { appId: 'chosen', token })
        await server.stop()
        const again = await server.startAgain({ env, test })
        expect(again.output()).not.toContain('hma_')
      })

    const named = isFullRun ? ['', 'chosen'] : ['chosen']
    test.for(named)(
      'no tokens wanted, app_id "%s": the first start prints none, and the command makes one',
      async (given, test) => {
        await using database = await backend.createDatabase()
        using folder = new TempFolder('no-tokens')
        const appId = given === '' ? 'hermod' : given
        const env = {
          ...nothingGiven,
          HERMOD_BOOTSTRAP_TOKENS: 'none',
          HERMOD_BOOTSTRAP_APP_ID: given,
        }
        const server = await startServer({ ...serverOptions(folder, database), env, test })
        expect(server.output()).not.toMatch(/first start|hm[aou]_|curl/)
        const settings = settingsOf(folder, database)
        expect(await listTokens(appId, settings)).toEqual([])
        const command = /hermod (token create --app \S+ --name backend)/.exec(server.output())?.[1]
        const { out } = await runHermod([...(command ?? '').split(' '), '--json'], settings)
        const token = JSON.parse(out).token
        await server.api.succeed('GET', '/user/list', { appId, token })
        await server.stop()
        const again = await server.startAgain({ env, test })
        expect(again.output()).not.toContain('token create')
      },
    )

    if (isFullRun)
      test('start by hand with an application: creates no other one', async (test) => {
        const adminToken = `hma_${'c'.repeat(40)}`
        const env = {
          ...nothingGiven,
          HERMOD_BOOTSTRAP_APP_ID: 'chosen',
          HERMOD_BOOTSTRAP_ADMIN_TOKEN: adminToken,
        }
        const server = await backend.startServer({ env, test })
        await server.stop()
        const again = await server.startAgain({ env: nothingGiven, test })
        expect(again.output()).not.toMatch(/first start|hm[aou]_|curl/)
        await again.api.succeed('GET', '/user/list', { appId: 'chosen', token: adminToken })
      })
  })

  describe('SIGTERM', () => {
    test('SIGTERM: accepted sends finish, new ones are refused, exit code 0', async (test) => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('drain')
      const server = await startServer({ ...serverOptions(folder, database), test })
      const [from, to] = [await server.api.newSession(), await server.api.newSession()]
      await using held = await holdWrites({ dataDir: folder.path, databaseUrl: database.url })
      const underWay = await sendsUnderWay(server, from, to)
      await beginStop(server)
      const late = await answerOrClosed(send(from, to, 'late'))
      if (late !== 'closed')
        expect(late).toMatchObject({
          status: 503,
          code: answerCode.unavailable,
          headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
        })
      const probe = await answerOrClosed(server.api.call('GET', '/readyz'))
      if (probe !== 'closed') expect(probe.status).toBe(503)
      await held.release()
      const answers = await Promise.all(underWay.map((each) => each.answer))
      expect(answers.map((answer) => answer.code)).toEqual(underWay.map(() => 200))
      expect(await server.exited).toEqual({ code: 0, signal: null })
      expect(existsSync(join(folder.path, 'control.sock'))).toBe(false)
      const again = await server.startAgain({ test })
      const stored = await contents(again, to.id, from.id)
      expect(stored.sort()).toEqual(underWay.map((each) => each.content).sort())
    })

    if (isFullRun)
      test('SIGTERM twice: ends the process at once', async (test) => {
        await using database = await backend.createDatabase()
        using folder = new TempFolder('impatient')
        const server = await startServer({ ...serverOptions(folder, database), test })
        const [from, to] = [await server.api.newSession(), await server.api.newSession()]
        await using _ = await holdWrites({ dataDir: folder.path, databaseUrl: database.url })
        const underWay = await sendsUnderWay(server, from, to)
        await beginStop(server)
        server.signal('SIGTERM')
        expect((await server.exited).signal).toBe('SIGTERM')
        await Promise.allSettled(underWay.map((each) => each.answer))
      })

    test('SIGTERM: waits for HERMOD_SHUTDOWN_SECONDS at most, exit code 1 when calls were left', async (test) => {
      await using database = await backend.createDatabase()
      using folder = new TempFolder('stuck')
      const server = await startServer({
        ...serverOptions(folder, database),
        env: { ...checked, HERMOD_SHUTDOWN_SECONDS: '1' },
        test,
      })
      const [from, to] = [await server.api.newSession(), await server.api.newSession()]
      await using _ = await holdWrites({ dataDir: folder.path, databaseUrl: database.url })
      const underWay = await sendsUnderWay(server, from, to)
      server.signal('SIGTERM')
      // A thread that waits inside the database cannot be asked to leave, only be killed.
      expect([
        { code: 1, signal: null },
        { code: null, signal: 'SIGKILL' },
      ]).toContainEqual(await server.exited)
      expect(server.output()).toContain('calls are still in progress')
      await Promise.allSettled(underWay.map((each) => each.answer))
    })
  })

  test('SIGTERM: an unfinished request does not delay the stop', async (test) => {
    const server = await backend.startServer({
      env: { ...checked, HERMOD_SHUTDOWN_SECONDS: '10' },
      test,
    })
    const { hostname, port } = new URL(server.url)
    const stalled = connect(Number(port), hostname)
    stalled.on('error', () => {})
    stalled.write(
      `POST /user/register/v2 HTTP/1.1\r\nhost: hermod\r\napp_id: ${server.appId}\r\ncontent-length: 100\r\n\r\n{`,
    )
    // Answered after the other bytes have been read.
    for (let calls = 0; calls < 3; calls++) await server.api.call('GET', '/healthz')
    expect(await server.stop()).toEqual({ code: 0, signal: null })
    stalled.destroy()
  })
})

// On each database: its failures are logged with their causes.
for (const backend of backends)
  test(`no secret is in the log at its finest level on ${backend.name}`, async (test) => {
    await using database = await backend.createDatabase()
    using folder = new TempFolder('secrets')
    const secrets = { databasePassword: 'db-password-4711', secretKey: `key-${'k'.repeat(40)}` }
    const env = {
      ...checked,
      HERMOD_LOG_LEVEL: 'trace',
      HERMOD_SECRET_KEY: secrets.secretKey,
      HERMOD_RATE_LIMIT: 'on',
    }
    const given = withPassword(serverOptions(folder, database), secrets.databasePassword)
    const server = await startServer({ ...given, env, test })
    const used = await useWithSecrets(server)
    if (backend.name === 'postgres')
      await loseDatabase(server, backend as PostgresBackend, used.session)
    await server.stop()
    const output = server.output()
    expect(output).toContain('"msg":"call"')
    const all = {
      ...secrets,
      admin: server.adminToken,
      operator: server.operatorToken,
      ...used.secrets,
    }
    const leaked = Object.entries(all).filter(([, secret]) => output.includes(secret))
    expect(leaked.map(([name]) => name)).toEqual([])
  })

describe.concurrent('the data folder', () => {
  test('data folder: only its owner may read it, also an existing folder', async (test) => {
    using parent = new TempFolder('modes')
    const roomy = join(parent.path, 'roomy')
    mkdirSync(roomy)
    chmodSync(roomy, 0o755)
    for (const dataDir of [join(parent.path, 'fresh'), roomy]) {
      const server = await startServer({
        dataDir,
        env: checked,
        wrapper: ['sh', '-c', 'umask 022; exec "$@"', 'sh'],
        test,
      })
      await send(await server.api.newSession(), await server.api.newSession(), 'hello')
      const open = readdirSync(dataDir).filter(
        (name) => (statSync(join(dataDir, name)).mode & 0o077) !== 0,
      )
      expect(open, `files in ${dataDir} that others may read`).toEqual([])
      if (dataDir !== roomy) expect(statSync(dataDir).mode & 0o777).toBe(0o700)
    }
  })

  test('data folder too deep for a socket: fails the start in a sentence', async () => {
    using folder = new TempFolder('deep')
    const dataDir = join(folder.path, 'x'.repeat(120))
    mkdirSync(dataDir)
    const refused = await startServer({ dataDir }).then(
      () => null,
      (error: unknown) => error,
    )
    expect(refused).toBeInstanceOf(ServerStartError)
    const { exit, output } = refused as ServerStartError
    expect(exit).toEqual({ code: 1, signal: null })
    expect(output).toContain('choose a shorter HERMOD_DATA_DIR')
  })
})

describe.concurrent('what cannot be started', () => {
  test('bad settings: are named together, unknown ones with the nearest known one', async () => {
    using folder = new TempFolder('refused')
    const settings = {
      HERMOD_DATA_DIR: folder.path,
      HERMOD_PROT: '8080',
      HERMOD_LOG_LEVEL: 'loud',
      HERMOD_SHUTDOWN_SECONDS: '0',
      HERMOD_OPERATOR_TOKEN: 'hmo_tooshort',
    }
    const { code, out, err } = await runHermod(['serve'], settings)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(
      'HERMOD_PROT is not a known setting; the nearest known one is HERMOD_PORT',
    )
    expect(err).toContain('HERMOD_LOG_LEVEL must be')
    expect(err).toContain('HERMOD_SHUTDOWN_SECONDS must be')
    expect(err).toContain('HERMOD_OPERATOR_TOKEN must be')
    expect(err).not.toContain('tooshort')
    expect(readdirSync(folder.path)).toEqual([])
  })

  test('first start on a port in use: names the settings; the next start prints the tokens', async (test) => {
    const first = await startServer({ env: checked, test })
    using folder = new TempFolder('port')
    const { port } = new URL(first.url)
    const { code, err } = await runHermod(['serve'], {
      HERMOD_DATA_DIR: folder.path,
      HERMOD_PORT: port,
      HERMOD_LOG_LEVEL: 'silent',
    })
    expect(code).toBe(1)
    expect(err).toContain(`127.0.0.1:${port} is in use; set HERMOD_HOST and HERMOD_PORT`)
    const next = await startServer({ dataDir: folder.path, env: nothingGiven, test })
    const { appId, adminToken: token } = printedCredentials(next)
    await next.api.succeed('GET', '/user/list', { appId, token })
  })

  test('a data folder that is a file is named', async () => {
    const { code, err } = await runHermod(['serve'], {
      HERMOD_DATA_DIR: hermodScript,
      HERMOD_PORT: '0',
    })
    expect(code).toBe(1)
    expect(err).toContain(`the data folder ${hermodScript} cannot be used`)
  })

  test('a database that is not there is named without its password', async () => {
    using folder = new TempFolder('absent')
    const settings = {
      HERMOD_DATA_DIR: folder.path,
      HERMOD_PORT: '0',
      HERMOD_DATABASE_URL: 'postgres://hermod:hunter2@127.0.0.1:1/hermod',
    }
    const { code, out, err } = await runHermod(['serve'], settings)
    expect(code).toBe(1)
    expect(err).toContain('127.0.0.1:1')
    expect(out + err).not.toContain('hunter2')
  })
})

const postgres = backends.find((backend): backend is PostgresBackend => backend.name === 'postgres')

// The quick run has several nodes that start at once in nodes.test.ts.
if (isFullRun)
  test.runIf(postgres)(
    'several nodes start on an empty database: one schema and one first application',
    async (test) => {
      const cluster = await (postgres as PostgresBackend).cluster()
      await using database = await cluster.createDatabase()
      // Nodes that share a database are given one secret key.
      const env = { ...nothingGiven, HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}` }
      const nodes = await Promise.all(
        [1, 2, 3].map(() => startServer({ databaseUrl: database.url, env, test })),
      )
      const printed = nodes.filter((node) => node.output().includes('This is the first start'))
      expect(printed).toHaveLength(1)
      const { appId, adminToken } = printedCredentials(printed[0] as ServerProcess)
      const user = { username: 'everywhere', password: 'correct horse' }
      const { data } = await (nodes[0] as ServerProcess).api.succeed('POST', '/user/register/v2', {
        appId,
        body: user,
      })
      for (const node of nodes) {
        const list = await node.api.succeed('GET', '/user/list', { appId, token: adminToken })
        expect(list.data.map((entry: { user_id: number }) => entry.user_id)).toEqual([data.user_id])
      }
    },
  )

function printedCredentials(server: ServerProcess): {
  appId: string
  adminToken: string
  operatorToken: string
} {
  const value = (label: string) => {
    const found = [...server.output().matchAll(new RegExp(`^ *${label} +(\\S+)$`, 'gm'))]
    expect(found, `printed lines for ${label}`).toHaveLength(1)
    return found[0]?.[1] ?? ''
  }
  return {
    appId: value('app_id'),
    adminToken: value('Admin token'),
    operatorToken: value('operator token'),
  }
}

function settingsOf(
  folder: TempFolder,
  database: BackendDatabase,
): Record<string, string | undefined> {
  return { HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: database.url }
}

function serverOptions(folder: TempFolder, { url }: BackendDatabase): ServerOptions {
  return {
    dataDir: folder.path,
    env: checked,
    ...(url === undefined ? {} : { databaseUrl: url }),
  }
}

function withPassword(options: ServerOptions, password: string): ServerOptions {
  if (options.databaseUrl === undefined) return options
  const url = new URL(options.databaseUrl)
  url.password = password
  return { ...options, databaseUrl: url.href }
}

async function listTokens(
  appId: string,
  settings: Readonly<Record<string, string | undefined>>,
): Promise<unknown[]> {
  const { code, out, err } = await runHermod(['token', 'list', '--app', appId, '--json'], settings)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out)
}

function send(from: Session, to: Session, content: string): Promise<Answer> {
  return from.api.call('POST', '/message/send', {
    body: { content, content_type: 0, type: 1, targets: [to.id] },
  })
}

interface UnderWay {
  readonly content: string
  readonly answer: Promise<Answer>
}

/**
 * While writes are held: makes sends until some wait behind those that are being stored, so that
 * all of them have been accepted.
 */
async function sendsUnderWay(
  server: ServerProcess,
  from: Session,
  to: Session,
): Promise<UnderWay[]> {
  const sends: UnderWay[] = []
  while ((await queued(server, 'messages')) === 0) {
    const content = `under way ${sends.length}`
    const answer = send(from, to, content)
    // The process that ends the server hears of it from the server.
    answer.catch(() => {})
    sends.push({ content, answer })
  }
  // The last one may still be on its way to the server; those that are being stored count too.
  const bytes = sends.reduce((sum, { content }) => sum + content.length, 0)
  await waitFor(async () => (await queued(server, 'bytes')) === bytes, {
    what: 'all sends to be accepted',
    timeoutMs: patienceMs,
  })
  return sends
}

async function queued(server: ServerProcess, unit: 'messages' | 'bytes'): Promise<number> {
  const { text } = await server.api.call('GET', '/metrics')
  return Number(new RegExp(`^hermod_message_queue_${unit} (\\d+)$`, 'm').exec(text)?.[1])
}

async function beginStop(server: ServerProcess): Promise<void> {
  server.signal('SIGTERM')
  await waitFor(() => server.output().includes('"stopping"'), {
    what: 'the begin of the stop',
    timeoutMs: patienceMs,
  })
}

async function answerOrClosed(answer: Promise<Answer>): Promise<Answer | 'closed'> {
  return answer.catch((error: NodeJS.ErrnoException) => {
    if (['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(error.code ?? '')) return 'closed'
    throw error
  })
}

async function contents(
  server: ServerProcess,
  readerId: number,
  peerId: number,
): Promise<string[]> {
  const query = { opposite_id: peerId, limit: 100, msg_id_start: 0 }
  const { data } = await server.api
    .admin({ userId: readerId })
    .succeed('GET', '/message/conversation', { query })
  return data.messages.map((message: { content: string }) => message.content)
}

/** Calls of every kind that carry secrets, accepted and refused ones. */
async function useWithSecrets(
  server: ServerProcess,
): Promise<{ session: Session; secrets: Record<string, string> }> {
  const password = 'user-password-4712'
  const wrongPassword = 'wrong-password-4713'
  const user = await server.api.register('discreet', password)
  const session = await server.api.login(user, 'device-4714')
  const unknownToken = `hmu_${'u'.repeat(43)}`
  const content = 'a private word 4715'
  await server.api.register('discreet', 'second-password-4716').catch(() => {})
  await server.api.call('POST', '/token/id', {
    body: { user_id: user.id, password: wrongPassword },
  })
  await server.api.call('POST', '/token/id', {
    rawBody: `{"user_id":1,"password":"${wrongPassword}"`,
  })
  await server.api.call('GET', '/user/profile', { token: unknownToken })
  await server.api.call('GET', '/user/profile', { token: session.token, appId: 'elsewhere' })
  await server.api.call('GET', '/user/profile', {
    token: session.token,
    query: { token: unknownToken, password: wrongPassword },
  })
  await session.api.succeed('POST', '/message/send', {
    body: { content, content_type: 0, type: 1, targets: [user.id] },
  })
  await server.api.call('GET', '/user/list', { token: `${server.adminToken}x` })
  await server.api.call('POST', '/operator/v1/check', {
    token: `${server.operatorToken}x`,
    body: {},
  })
  const created = await server.api.succeed('POST', '/operator/v1/token/create', {
    token: server.operatorToken,
    body: { app_id: server.appId, name: 'another' },
  })
  const {
    store_token: storeToken,
    access_key_secret: accessKeySecret,
    push_token: pushToken = '',
  } = session.record
  expect(pushToken).not.toBe('')
  const tokens = {
    session: session.token,
    created: created.data.token,
    storeToken,
    accessKeySecret,
    pushToken,
    unknownToken,
  }
  return {
    session,
    secrets: {
      password,
      wrongPassword,
      secondPassword: 'second-password-4716',
      content,
      ...tokens,
    },
  }
}

/** Failures of the database are logged with their causes. */
async function loseDatabase(
  server: ServerProcess,
  backend: PostgresBackend,
  session: Session,
): Promise<void> {
  const cluster = await backend.cluster()
  await cluster.kill9()
  const answer = await server.api.call('POST', '/token/id', {
    body: { user_id: session.id, password: session.password },
  })
  expect(answer.code).toBe(answerCode.storage_failed)
  await expectCode(send(session, session, 'another word'), 'storage_failed')
  await cluster.restart()
  await waitFor(async () => (await send(session, session, 'again')).code === 200, {
    what: 'a send after the outage',
    timeoutMs: patienceMs,
  })
}

function succeeds(work: () => void): boolean {
  try {
    work()
    return true
  } catch {
    return false
  }
}
