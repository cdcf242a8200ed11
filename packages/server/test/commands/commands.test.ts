import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  Api,
  anyBackend,
  type Backend,
  freePort,
  isFullRun,
  type ServerProcess,
  startServer,
  TempFolder,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { answerCode, expectCode } from '../support/answer-codes.js'
import {
  type CommandResult,
  callHermod,
  hermodEnvironment,
  hermodScript,
  runHermod,
} from '../support/hermod-command.js'
import { WatchedServer } from '../support/watched-server.js'

type Settings = Readonly<Record<string, string | undefined>>

describe.each(anyBackend())('on $name', (backend) => {
  describe('beside a running server', () => {
    const place = usePlace(backend, true)
    appCommands(place)
    tokenCommands(place)
    checkCommand(place)
    refusals(place)
    effectsAtOnce(place)
    scopeCommands(place)
    remoteCommands(place)
    runningMigration(place, backend)
  })

  describe('without a server', () => {
    const place = usePlace(backend, false)
    appCommands(place)
    if (isFullRun) tokenCommands(place)
    if (isFullRun) checkCommand(place)
    migrateCommand(backend)
    restarts(backend)
  })
})

/** One data folder and database for the tests of a group, with a server on it or after one has left it. */
class Place {
  watched!: WatchedServer

  constructor(
    private readonly backend: Backend,
    readonly isRunning: boolean,
  ) {}

  async start(): Promise<void> {
    this.watched = await WatchedServer.start(this.backend)
    if (!this.isRunning) await this.server.stop()
  }

  end(): Promise<void> {
    return this.watched[Symbol.asyncDispose]()
  }

  get server(): ServerProcess {
    return this.watched.server
  }

  get settings(): Settings {
    return this.watched.settings
  }

  run(...args: string[]): Promise<CommandResult> {
    return callHermod(args, this.settings)
  }

  /** The value that a command prints for scripts. */
  async json(...args: string[]) {
    return printedJson(await this.run(...args, '--json'))
  }

  /** Behind the server's back. */
  async tamper(statement: string): Promise<void> {
    await this.watched.sql.run(statement)
  }
}

function usePlace(backend: Backend, isRunning: boolean): Place {
  const place = new Place(backend, isRunning)
  beforeAll(() => place.start())
  afterAll(() => place.end())
  return place
}

function printedJson({ code, out, err }: CommandResult) {
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.split('\n')).toHaveLength(2)
  return JSON.parse(out)
}

/** What a script reads of a failure. */
function toldFailure({ code, out, err }: CommandResult) {
  expect({ code, out }).toEqual({ code: 1, out: '' })
  return JSON.parse(err)
}

function appCommands(place: Place): void {
  test('app create, list and update make, show and change an application', async () => {
    const created = await place.json('app', 'create', '--id', 'shop', '--name', 'Shop')
    expect(created).toEqual({
      app_id: 'shop',
      name: 'Shop',
      admin_token: expect.stringMatching(/^hma_[A-Za-z0-9]{32,}$/),
    })
    const listed = (await place.json('app', 'list')).find(
      (app: { app_id: string }) => app.app_id === 'shop',
    )
    expect(listed).toMatchObject({
      app_id: 'shop',
      name: 'Shop',
      status: 0,
      open_registration: true,
      created_at: expect.any(Number),
    })
    const changes = [
      '--name',
      'Corner Shop',
      '--status',
      'disabled',
      '--open-registration',
      'false',
    ]
    const more = [
      '--registration-secret',
      'between us',
      '--set',
      'recall_seconds=600',
      '--set',
      'recall_enabled=false',
    ]
    const settings = { ...listed.settings, recall_seconds: 600, recall_enabled: false }
    const changed = {
      ...listed,
      name: 'Corner Shop',
      status: 1,
      open_registration: false,
      has_registration_secret: true,
      settings,
    }
    expect(await place.json('app', 'update', 'shop', ...changes, ...more)).toEqual(changed)
    expect(await place.json('app', 'list')).toContainEqual(changed)
    const refused = await place.run('app', 'update', 'shop', '--set', 'no_such=1')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('settings.no_such')
    expect((await place.run('app', 'list')).out).toMatch(
      /^shop +Corner Shop +disabled +no +\d{4}-\d\d-\d\dT/m,
    )
  })
}

function tokenCommands(place: Place): void {
  test('token create, list and revoke make, show and end an Admin token; the list never shows the token', async () => {
    await place.run('app', 'create', '--id', 'tokens')
    const created = await place.json(
      'token',
      'create',
      '--app',
      'tokens',
      '--name',
      'ci',
      '--expires',
      '90d',
    )
    expect(created).toMatchObject({
      app_id: 'tokens',
      name: 'ci',
      token: expect.stringMatching(/^hma_[A-Za-z0-9]{32,}$/),
    })
    const list = () => place.run('token', 'list', '--app', 'tokens', '--json')
    const { out } = await list()
    expect(out).not.toContain(created.token)
    const entry = {
      token_id: created.token_id,
      app_id: 'tokens',
      name: 'ci',
      scopes: ['all'],
      created_at: expect.any(Number),
      expires_at: created.expires_at,
      revoked_at: 0,
    }
    const before = JSON.parse(out)
    expect(before).toHaveLength(2)
    expect(before).toContainEqual(entry)
    expect(await place.json('token', 'revoke', String(created.token_id), '--app', 'tokens')).toBe(
      true,
    )
    const after = printedJson(await list())
    const revoked = after.find((token: { token_id: number }) => token.token_id === created.token_id)
    expect(revoked.revoked_at).toBeGreaterThan(0)
    expect(after.filter((token: { revoked_at: number }) => token.revoked_at === 0)).toHaveLength(1)
  })
}

/** Scopes narrow and widen a token at once; lists that say nothing clear are refused by name. */
function scopeCommands(place: Place): void {
  test('token create --scopes and token update limit an Admin token at once', async () => {
    const { api, appId } = place.server
    const create = ['token', 'create', '--app', appId, '--name', 'limited']
    const { token, token_id: tokenId, scopes } = await place.json(...create, '--scopes', 'push,app')
    expect(scopes).toEqual(['push', 'app'])
    const listUsers = () => api.as(token).call('GET', '/user/list')
    await expectCode(listUsers(), 'no_permission')
    const update = (given: string) =>
      place.json('token', 'update', String(tokenId), '--app', appId, '--scopes', given)
    expect(await update('users:read, push')).toMatchObject({ scopes: ['users:read', 'push'] })
    expect((await listUsers()).code).toBe(200)
    expect(await update('push')).toMatchObject({ token_id: tokenId, scopes: ['push'] })
    await expectCode(listUsers(), 'no_permission')
    expect(await update('all')).toMatchObject({ scopes: ['all'] })
    expect((await listUsers()).code).toBe(200)
    const { out } = await place.run('token', 'list', '--app', appId)
    expect(out).toMatch(/ limited +all /)
    const ofToken = [String(tokenId), '--app', appId, '--json']
    expect((await place.run('token', 'revoke', ...ofToken)).code).toBe(0)
    expect(toldFailure(await place.run('token', 'update', ...ofToken, '--scopes', 'push'))).toEqual(
      {
        code: answerCode.token_not_found,
        message: expect.stringContaining('revoked'),
      },
    )
  })

  test.each([
    ['push,pull', '--scopes[1] must be one of users:read,'],
    ['', '--scopes[0] must be one of users:read,'],
    ['push,app,push', '--scopes has push twice'],
    ['push,all', '--scopes has all, which stands alone'],
  ])('token create --scopes %j is refused', async (scopes, message) => {
    const { appId } = place.server
    const run = await place.run(
      ...['token', 'create', '--app', appId, '--name', 'x', '--scopes', scopes, '--json'],
    )
    expect(toldFailure(run)).toEqual({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining(message),
    })
  })
}

function checkCommand(place: Place): void {
  test('check succeeds on sound data and names what was changed behind the back of the service', async () => {
    const server = place.isRunning ? place.server : await place.watched.startAgain()
    const [from, to] = [await server.api.newSession(), await server.api.newSession()]
    for (const content of ['one', 'two']) {
      await from.api.succeed('POST', '/message/send', {
        body: { content, content_type: 0, type: 1, targets: [to.id] },
      })
    }
    if (!place.isRunning) await server.stop()
    expect(await place.json('check')).toEqual({
      checked: expect.any(Number),
      faults: [],
      truncated: false,
      service: { state: 'serving', text: '', since: 0 },
    })
    await place.tamper('update conversations set seq = seq + 1')
    const wrong = await place.run('check', '--json')
    expect(wrong.code).toBe(1)
    const { faults } = JSON.parse(wrong.out)
    expect(faults).toContainEqual(
      expect.objectContaining({ check: 'conversation_end', app_id: server.appId }),
    )
    expect(wrong.err).toContain('wrong')
    await place.tamper('update conversations set seq = seq - 1')
    expect((await place.json('check')).faults).toEqual([])
  })
}

function refusals(place: Place): void {
  test('app create chooses an app_id where none is given, and tells people to keep the token', async () => {
    const { code, out } = await place.run('app', 'create')
    expect(code).toBe(0)
    expect(out).toMatch(/^app_id +[a-z0-9_-]{2,32}$/m)
    expect(out).toMatch(/^admin_token +hma_\w+$/m)
    expect(out).toContain('Keep the Admin token now: it is not shown again.')
  })

  test('app says what is wrong with what it cannot do', async () => {
    await place.run('app', 'create', '--id', 'twice')
    expect(toldFailure(await place.run('app', 'create', '--id', 'twice', '--json'))).toEqual({
      code: answerCode.app_exists,
      message: 'app_id is taken',
    })
    const bad = toldFailure(await place.run('app', 'create', '--id', 'No Good', '--json'))
    expect(bad).toEqual({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('app_id'),
    })
    const { code, err } = await place.run('app', 'update', 'nowhere', '--name', 'x')
    expect({ code, err }).toEqual({ code: 1, err: 'hermod: app_id does not exist\n' })
  })

  test('token says what is wrong with what it cannot do', async () => {
    const unknown = await place.run('token', 'revoke', '1', '--app', place.server.appId, '--json')
    expect(toldFailure(unknown)).toEqual({
      code: answerCode.token_not_found,
      message: 'token does not exist',
    })
    expect(
      toldFailure(await place.run('token', 'revoke', '1', '--app', 'nowhere', '--json')).code,
    ).toBe(answerCode.app_not_found)
    expect(toldFailure(await place.run('token', 'list', '--app', 'nowhere', '--json'))).toEqual({
      code: answerCode.app_not_found,
      message: 'app_id does not exist',
    })
    expect(
      toldFailure(await place.run('token', 'create', '--app', 'nowhere', '--name', 'x', '--json'))
        .code,
    ).toBe(answerCode.app_not_found)
  })

  test('token revoke cannot end a token through another application', async () => {
    await place.run('app', 'create', '--id', 'neighbour')
    const { token_id: tokenId } = await place.json(
      'token',
      'create',
      '--app',
      place.server.appId,
      '--name',
      'mine',
    )
    expect(
      toldFailure(
        await place.run('token', 'revoke', String(tokenId), '--app', 'neighbour', '--json'),
      ).code,
    ).toBe(answerCode.token_not_found)
  })
}

function effectsAtOnce(place: Place): void {
  test('a token works as soon as it is made and not a moment after it is revoked', async () => {
    const { api, appId } = place.server
    const { token, token_id: tokenId } = await place.json(
      'token',
      'create',
      '--app',
      appId,
      '--name',
      'short-lived',
    )
    await api.as(token).succeed('GET', '/user/list')
    await place.run('token', 'revoke', String(tokenId), '--app', appId)
    await expectCode(api.as(token).call('GET', '/user/list'), 'token_expired')
  })

  test('an application that is disabled refuses every call until it is normal again', async () => {
    const { admin_token: token } = await place.json('app', 'create', '--id', 'switched')
    const list = async () =>
      (await place.server.api.call('GET', '/user/list', { appId: 'switched', token })).code
    expect(await list()).toBe(200)
    await place.run('app', 'update', 'switched', '--status', 'disabled')
    expect(await list()).toBe(answerCode.app_inactive)
    await place.run('app', 'update', 'switched', '--status', 'normal')
    expect(await list()).toBe(200)
  })

  test('closed registration lets only the Admin token register users', async () => {
    const { admin_token: token } = await place.json('app', 'create', '--id', 'closed')
    await place.run('app', 'update', 'closed', '--open-registration', 'false')
    const register = (username: string, given: string | null) =>
      place.server.api.call('POST', '/user/register/v2', {
        appId: 'closed',
        token: given,
        body: { username, password: 'correct horse' },
      })
    await expectCode(register('stranger', null), 'registration_closed')
    expect((await register('guest', token)).code).toBe(200)
  })
}

function remoteCommands(place: Place): void {
  test('--url works from anywhere with the operator token', async () => {
    using elsewhere = new TempFolder('elsewhere')
    const settings = {
      HERMOD_DATA_DIR: elsewhere.path,
      HERMOD_OPERATOR_TOKEN: place.server.operatorToken,
    }
    const run = (...args: string[]) =>
      callHermod([...args, '--url', place.server.url, '--json'], settings)
    printedJson(await run('app', 'create', '--id', 'remote'))
    const { token } = printedJson(await run('token', 'create', '--app', 'remote', '--name', 'far'))
    const api = new Api({ url: place.server.url, appId: 'remote', adminToken: token })
    await api.admin().succeed('GET', '/user/list')
    api.close()
    expect(printedJson(await run('token', 'list', '--app', 'remote'))).toHaveLength(2)
    expect(printedJson(await run('check'))).toMatchObject({ truncated: false })
    expect(await place.json('app', 'list')).toContainEqual(
      expect.objectContaining({ app_id: 'remote' }),
    )
  })

  test('--url says what is wrong with the token or the address', async () => {
    using elsewhere = new TempFolder('elsewhere')
    const run = (url: string, operatorToken?: string) =>
      callHermod(['app', 'list', '--url', url], {
        HERMOD_DATA_DIR: elsewhere.path,
        HERMOD_OPERATOR_TOKEN: operatorToken,
      })
    const { url, operatorToken, adminToken } = place.server
    expect(await run(url)).toMatchObject({
      code: 1,
      err: expect.stringContaining('HERMOD_OPERATOR_TOKEN'),
    })
    const wrong = await run(url, `hmo_${'w'.repeat(40)}`)
    expect(wrong).toMatchObject({ code: 1, out: '', err: 'hermod: access-token is invalid\n' })
    expect(await run('example', operatorToken)).toMatchObject({
      code: 1,
      err: expect.stringContaining('--url must be an http or https URL'),
    })
    const gone = await run(`http://127.0.0.1:${await freePort()}`, operatorToken)
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('cannot be reached') })
    expect(await run(url, adminToken)).toMatchObject({
      code: 2,
      err: expect.stringContaining('HERMOD_OPERATOR_TOKEN must be'),
    })
  })
}

function runningMigration(place: Place, { name }: Backend): void {
  if (name === 'sqlite')
    test('migrate leaves the folder to the server that uses it', async () => {
      const { code, err } = await place.run('migrate')
      expect(code).toBe(1)
      expect(err).toContain(`${place.server.dataDir} is in use by process ${place.server.pid}`)
    })
  else
    test('migrate needs no data folder on PostgreSQL', async () => {
      const { code, out } = await place.run('migrate')
      expect(code).toBe(0)
      expect(out).toContain('The schema is up to date.')
    })
}

function migrateCommand(backend: Backend): void {
  test('migrate makes the schema once; --status only looks', async () => {
    await using database = await backend.createDatabase()
    using folder = new TempFolder('migrate')
    const settings = { HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: database.url }
    const run = async (...args: string[]) =>
      printedJson(await callHermod(['migrate', ...args, '--json'], settings))
    const states = ({ migrations }: { migrations: { state: string }[] }) => [
      ...new Set(migrations.map(({ state }) => state)),
    ]
    expect(states(await run('--status'))).toEqual(['pending'])
    expect(states(await run('--status'))).toEqual(['pending'])
    expect(states(await run())).toEqual(['appliedNow'])
    expect(states(await run())).toEqual(['applied'])
    expect(states(await run('--status'))).toEqual(['applied'])
    expect((await callHermod(['migrate'], settings)).out).toContain('The schema is up to date.')
  })
}

function restarts(backend: Backend): void {
  test('what is made before the first start and after a kill is there when the server starts', async (test) => {
    await using database = await backend.createDatabase()
    using folder = new TempFolder('before')
    const settings = { HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: database.url }
    const early = printedJson(
      await callHermod(['app', 'create', '--id', 'early', '--json'], settings),
    )
    const where = {
      dataDir: folder.path,
      ...(database.url === undefined ? {} : { databaseUrl: database.url }),
    }
    const server = await startServer({ ...where, test })
    await server.api.succeed('GET', '/user/list', { appId: 'early', token: early.admin_token })
    // Its control socket stays behind.
    await server.kill9()
    const late = printedJson(
      await callHermod(['token', 'create', '--app', 'early', '--name', 'late', '--json'], settings),
    )
    const again = await server.startAgain({ test })
    await again.api.succeed('GET', '/user/list', { appId: 'early', token: late.token })
  })
}

describe('hermod', () => {
  test.each([
    [[], 'Usage: hermod'],
    [['nonsense'], "unknown command 'nonsense'"],
    [['app', 'create', '--bogus'], "unknown option '--bogus'"],
    [['app', 'update', 'demo'], 'nothing to change'],
    [['token', 'create'], "required option '--app <app_id>' not specified"],
    [['token', 'revoke', 'first', '--app', 'demo'], 'It must be a positive integer'],
    [['config', '--reference', '--json'], 'cannot be used with'],
  ])('%j is wrong usage and exits with code 2', async (args, message) => {
    const { code, out, err } = await callHermod(args, { HERMOD_DATA_DIR: '/nonexistent/hermod' })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })

  test('--version prints the version of the package and --help names every command', async () => {
    expect(await runHermod(['--version'])).toEqual({
      code: 0,
      out: `${packageJson.version}\n`,
      err: '',
    })
    const { code, out } = await runHermod(['--help'])
    expect(code).toBe(0)
    for (const command of ['serve', 'app', 'token', 'user', 'config', 'migrate', 'check'])
      expect(out).toMatch(new RegExp(`^ +${command}\\b`, 'm'))
  })

  test('a command ends without a stack trace when nothing reads its output, and not as if its work was done', async () => {
    const child = spawn(process.execPath, [hermodScript, '--help'], { env: hermodEnvironment({}) })
    child.stdout.destroy()
    const [errors] = await Promise.all([text(child.stderr), once(child, 'close')])
    expect({ code: child.exitCode, errors }).toEqual({ code: 141, errors: '' })
  })

  test('config prints what holds and where it comes from, and no secret', async () => {
    using folder = new TempFolder('config')
    const file = join(folder.path, 'hermod.json')
    writeFileSync(file, JSON.stringify({ HERMOD_PORT: 9000, HERMOD_LOG_LEVEL: 'warn' }))
    const settings = {
      HERMOD_CONFIG: file,
      HERMOD_LOG_LEVEL: 'debug',
      HERMOD_DATABASE_URL: 'postgres://hermod:hunter2@127.0.0.1/hermod',
      HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}`,
      HERMOD_OPERATOR_TOKEN: `hmo_${'x'.repeat(40)}`,
    }
    const result = await runHermod(['config', '--json'], settings)
    expect(result.err).toMatch(/^hermod: the database of HERMOD_DATABASE_URL .* cannot be used: /)
    const shown = printedJson({ ...result, err: '' })
    expect(shown).toContainEqual({ name: 'HERMOD_PORT', value: '9000', source: 'file' })
    expect(shown).toContainEqual({
      name: 'HERMOD_LOG_LEVEL',
      value: 'debug',
      source: 'environment',
    })
    expect(shown).toContainEqual({ name: 'HERMOD_HOST', value: '127.0.0.1', source: 'default' })
    const text = await callHermod(['config'], settings)
    const everything = result.out + result.err + text.out + text.err
    for (const secret of ['hunter2', 'kkkk', 'xxxx']) expect(everything).not.toContain(secret)
  })

  test('config --reference describes every setting that config shows', async () => {
    const { code, out } = await callHermod(['config', '--reference'])
    expect(code).toBe(0)
    const names: string[] = printedJson(await callHermod(['config', '--json'])).map(
      ({ name }: { name: string }) => name,
    )
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) expect(out).toContain(`\n## ${name}\n`)
  })

  test('a bad configuration stops every command, with all errors for scripts too', async () => {
    const { code, out, err } = await runHermod(['app', 'list', '--json'], {
      HERMOD_PROT: '1',
      HERMOD_PORT: 'x',
    })
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(JSON.parse(err)).toMatchObject({
      code: null,
      violations: [expect.stringContaining('HERMOD_PROT'), expect.stringContaining('HERMOD_PORT')],
    })
  })
})
