/** Secrets at rest: how they are stored, and the rotation of their key, on both databases. */
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  anyBackend,
  type Backend,
  isFullRun,
  type Json,
  type ServerProcess,
  startServer,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SecretBox } from '../../dist/lib/secrets/secret-box.js'
import { keyId, SecretKeys } from '../../dist/lib/secrets/secret-keys.js'
import { answerCode } from '../support/answer-codes.js'
import { openSql, type Sql } from '../support/database/sql.js'
import { aGroup, expectSuccess, groupQuery } from '../support/groups/groups.js'
import { callHermod, runHermod } from '../support/hermod-command.js'

const secret = 'between-us-4711'
const manyApps = isFullRun ? 60 : 24
const patience = { what: 'a rotation that is half done', timeoutMs: 60_000, everyMs: 1 }

const newKey = () => randomBytes(32).toString('hex')
const idOf = (key: string) => keyId(Buffer.from(key))

describe.each(anyBackend('durable'))('secrets at rest on $name', (backend) => {
  let database: Awaited<ReturnType<Backend['createDatabase']>>
  let folder: TempFolder
  let server: ServerProcess

  beforeEach(async () => {
    database = await backend.createDatabase()
    folder = new TempFolder('secrets')
  })

  afterEach(async () => {
    await server?.[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  /** Once more on the same data. */
  async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    await server?.[Symbol.asyncDispose]()
    server = await startServer({
      dataDir: folder.path,
      env: { HERMOD_CHECK_ANSWERS: 'on', ...settings },
      operatorToken: `hmo_${'o'.repeat(43)}`,
      ...(database.url === undefined ? {} : { databaseUrl: database.url }),
    })
  }

  const hermod = (
    args: string,
    settings: Readonly<Record<string, string>> = {},
    run = callHermod,
  ) =>
    run(args.split(' '), {
      HERMOD_DATA_DIR: folder.path,
      HERMOD_DATABASE_URL: database.url,
      ...settings,
    })

  function operate(path: string, body: object = {}): Promise<Json> {
    const operator = server.api.as(server.operatorToken)
    return operator.succeed('POST', `/operator/v1/${path}`, { body }).then(({ data }) => data)
  }

  const setSecret = (app_id = server.appId) =>
    operate('app/update', { app_id, registration_secret: secret })

  /** @returns the code of a registration that is signed with the secret */
  async function registerSigned(username: string, appId = server.appId): Promise<number> {
    const sign = createHmac('sha256', secret).update(`${appId}\n${username}`).digest('hex')
    const body = { username, password: 'correct horse', sign }
    return (await server.api.call('POST', '/user/register/push', { appId, body })).code
  }

  async function registerUnsigned(username: string): Promise<number> {
    const body = { username, password: 'correct horse' }
    return (await server.api.call('POST', '/user/register/push', { body })).code
  }

  async function withSql<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    await using sql = await openSql({ dataDir: folder.path, databaseUrl: database.url })
    return await work(sql)
  }

  async function storedKeyIds(sql: Sql): Promise<string[]> {
    const rows = await sql.run(
      'select registration_secret as sealed from apps union all select file_link_key from apps union all select sealed from key_checks',
    )
    const stored = rows.map(({ sealed }) => String(sealed)).filter((sealed) => sealed !== '')
    return stored.map((sealed) => sealed.split(':')[1] ?? '')
  }

  const keyLines = () => readFileSync(join(folder.path, 'secret.key'), 'utf8').split('\n')

  async function faults(): Promise<Json[]> {
    return (await operate('check')).faults
  }

  it('rotation of a running service: seals with the new key, retire ends the old one', async () => {
    await start()
    await setSecret()
    const people = await Promise.all([1, 2, 3].map(() => server.api.register()))
    const [owner, early, late] = people.map(({ id }) => id) as [number, number, number]
    const by = (userId: number) => server.api.admin({ userId })
    const group = await aGroup({ api: by(owner) })
    const qr = async () =>
      expectSuccess(await groupQuery(by(owner), '/group/qrcode/sign', group)).data.qr_info
    const scan = async (userId: number, qr_info: string) =>
      (await by(userId).call('POST', '/group/qrcode/invite', { body: { qr_info } })).code
    const oldCode = await qr()
    const [oldKey = ''] = keyLines()

    const rotated = await hermod('secret rotate')
    expect(rotated).toMatchObject({ code: 0, err: '' })
    expect(rotated.out).toContain('hermod secret retire')
    const [nextKey = '', ...previous] = keyLines()
    expect(previous).toEqual([oldKey])
    expect(nextKey).not.toBe(oldKey)
    for (const key of [oldKey, nextKey]) expect(rotated.out).not.toContain(key)
    expect(statSync(join(folder.path, 'secret.key')).mode & 0o777).toBe(0o600)
    expect(await withSql(storedKeyIds)).toEqual(Array(3).fill(idOf(nextKey)))
    expect(await registerSigned('rotated')).toBe(200)
    expect(await scan(early, oldCode)).toBe(200)

    await start()
    expect(await registerSigned('restarted')).toBe(200)
    const again = JSON.parse((await hermod('secret rotate --json')).out)
    expect(again).toEqual({
      key_id: idOf(nextKey),
      previous_key_id: idOf(oldKey),
      key_source: 'file',
      resealed: 0,
      unreadable: 0,
    })

    const nextCode = await qr()
    expect(await hermod('secret retire')).toMatchObject({ code: 0, err: '' })
    expect(keyLines()).toEqual([nextKey])
    expect(await scan(late, oldCode)).toBe(answerCode.qr_code_invalid)
    expect(await scan(late, nextCode)).toBe(200)
    expect(await registerSigned('retired')).toBe(200)
    await start()
    expect(await registerSigned('restarted_again')).toBe(200)
    expect(await faults()).toEqual([])
  })

  if (isFullRun)
    it('rotation: survives a kill half-way', async () => {
      await start()
      const apps = await Promise.all(
        Array.from({ length: manyApps }, async (): Promise<string> => {
          const { app_id } = await operate('app/create')
          await setSecret(app_id)
          return app_id
        }),
      )
      // The check below opens every secret; a registration costs a hash.
      const tried = apps.filter((_, index) => isFullRun || index % 12 === 0)
      await killHalfWay()
      const [current = '', previous = ''] = keyLines()
      expect(keyLines()).toHaveLength(2)

      await start()
      const ids = await withSql(storedKeyIds)
      expect(new Set(ids)).toEqual(new Set([idOf(current), idOf(previous)]))
      expect(await faults()).toEqual([])
      for (const app of tried) expect(await registerSigned('killed', app)).toBe(200)
      const finished = await operate('secret/rotate')
      expect(finished).toMatchObject({ key_id: idOf(current), unreadable: 0 })
      expect(finished.resealed).toBe(ids.filter((id) => id === idOf(previous)).length)
      expect(await operate('secret/retire')).toMatchObject({ previous_key_id: '', resealed: 0 })
      expect(keyLines()).toEqual([current])
      for (const app of tried) expect(await registerSigned('finished', app)).toBe(200)
    })

  /** A rotation may be over before it is seen half done; then it is begun again. */
  async function killHalfWay(): Promise<void> {
    await using sql = await openSql({ dataDir: folder.path, databaseUrl: database.url })
    const isHalfDone = async () => new Set(await storedKeyIds(sql)).size === 2
    for (;;) {
      let isOver = false
      const rotation = operate('secret/rotate').then(
        () => {
          isOver = true
        },
        () => {},
      )
      if (await waitFor(async () => ((await isHalfDone()) ? 'yes' : isOver && 'no'), patience)) {
        await server.kill9()
        await rotation
        if (await isHalfDone()) return
        await start()
      }
      await operate('secret/retire')
    }
  }

  it('changed or moved secrets: hermod check finds them, and they open nothing', async () => {
    await start()
    await setSecret()
    const { app_id: other } = await operate('app/create')
    await withSql((sql) =>
      sql.run(
        `update apps set registration_secret = (select registration_secret from apps where app_id = '${server.appId}') where app_id = '${other}'`,
      ),
    )
    expect(await faults()).toEqual([
      {
        check: 'stored_secret',
        app_id: other,
        subject: `apps.registration_secret of ${other}`,
        detail: expect.stringContaining('another row'),
      },
    ])
    // The service keeps what it has read of an application until it changes it.
    await operate('app/update', { app_id: other, name: 'Read again' })
    expect(await registerSigned('moved', other)).toBe(answerCode.internal_error)
    expect(await operate('secret/rotate')).toMatchObject({ unreadable: 1 })
    const kept = await hermod('secret retire')
    expect(kept.code).toBe(1)
    expect(keyLines()).toHaveLength(2)
    await setSecret(other)
    expect(await hermod('secret retire')).toMatchObject({ code: 0 })
    expect(await registerSigned('mended', other)).toBe(200)
    await withSql((sql) =>
      sql.run(`update apps set registration_secret = '${secret}' where app_id = '${other}'`),
    )
    expect(await faults()).toMatchObject([{ app_id: other, detail: 'it is not encrypted' }])
  })

  it('secrets of an unknown key: the check of a running service finds them', async () => {
    await start()
    const stranger = new SecretBox(new SecretKeys(Buffer.from(newKey())))
    const place = { column: 'apps.registration_secret', row: server.appId }
    await withSql((sql) =>
      sql.run(`update apps set registration_secret = '${stranger.seal(secret, place)}'`),
    )
    expect(await faults()).toMatchObject([
      { check: 'stored_secret', detail: expect.stringContaining('not known') },
    ])
  })

  it('stored secrets: are encrypted in database and files', async () => {
    await start()
    await setSecret()
    expect(await registerSigned('signed')).toBe(200)
    expect(await registerUnsigned('unsigned')).toBe(answerCode.registration_signature_invalid)
    await withSql(async (sql) => {
      const stored = JSON.stringify(await sql.run('select * from apps'))
      expect(stored).toMatch(/"hs1:[\w-]{8}:[\w-]{16}:[\w-]+"/)
      expect(stored).not.toContain(secret)
    })
    await server.stop()
    const files = readdirSync(folder.path, { recursive: true, withFileTypes: true })
    for (const file of files.filter((each) => each.isFile()))
      expect(readFileSync(join(file.parentPath, file.name), 'latin1')).not.toContain(secret)
  })

  if (isFullRun)
    it('rotation without a running service: works', async () => {
      await start()
      await setSecret()
      const [oldKey] = keyLines()
      await server.stop()
      expect(await hermod('secret rotate', {}, runHermod)).toMatchObject({ code: 0 })
      expect(await hermod('secret retire', {}, runHermod)).toMatchObject({ code: 0 })
      expect(keyLines()).toHaveLength(1)
      expect(keyLines()[0]).not.toBe(oldKey)
      await start()
      expect(await registerSigned('alice')).toBe(200)
    })

  if (isFullRun)
    it('rotation to a key of the settings: seals with it', async () => {
      const [first, second] = [newKey(), newKey()]
      await start({ HERMOD_SECRET_KEY: first })
      await setSecret()
      const refused = await hermod('secret rotate', { HERMOD_SECRET_KEY: first })
      expect(refused.code).toBe(1)
      expect(refused.err).toContain('HERMOD_SECRET_KEY_OLD')

      const both = { HERMOD_SECRET_KEY: second, HERMOD_SECRET_KEY_OLD: first }
      await start(both)
      expect(await registerSigned('before')).toBe(200)
      await expect(start({ HERMOD_SECRET_KEY: second })).rejects.toThrow('HERMOD_SECRET_KEY_OLD')
      await start(both)
      const rotated = await hermod('secret rotate', both)
      expect(rotated.code).toBe(0)
      expect(rotated.out).toContain('Remove HERMOD_SECRET_KEY_OLD')
      expect(await withSql(storedKeyIds)).toEqual(Array(3).fill(idOf(second)))
      await start({ HERMOD_SECRET_KEY: second })
      expect(await registerSigned('after')).toBe(200)
      expect(readdirSync(folder.path)).not.toContain('secret.key')
    })

  if (isFullRun)
    it('start with a wrong key: fails before it serves, also without a stored secret', async () => {
      const [right, wrong] = [newKey(), newKey()]
      await start({ HERMOD_SECRET_KEY: right })
      await server.stop()
      const failure = await start({ HERMOD_SECRET_KEY: wrong }).then(
        () => null,
        (error: Error) => error,
      )
      expect(failure?.message).toContain('HERMOD_SECRET_KEY is not the right key')
      expect(failure?.message).toContain(idOf(right))
      expect(failure?.message).not.toContain('listening')
      for (const key of [right, wrong]) expect(failure?.message).not.toContain(key)
      const command = await hermod('app list', { HERMOD_SECRET_KEY: wrong })
      expect(command).toMatchObject({ code: 1, out: '' })
      await start({ HERMOD_SECRET_KEY: right })
    })

  if (isFullRun)
    it('start with another secret.key: fails, and works with the key as a setting', async () => {
      await start()
      await setSecret()
      await server.stop()
      const [right = ''] = keyLines()
      writeFileSync(join(folder.path, 'secret.key'), newKey())
      await expect(start()).rejects.toThrow(/secret\.key in the data folder is not the right key/)
      await start({ HERMOD_SECRET_KEY: right })
      expect(await registerSigned('alice')).toBe(200)
    })
})
