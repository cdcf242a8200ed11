/** `hermod export --move`, `hermod import` and `hermod digest`, on and between both databases. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  type Backend,
  isFullRun,
  memoryDisk,
  PostgresCluster,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { checkImport, importData } from '../../dist/context/database/import-data.js'
import { Database } from '../../dist/db/database.js'
import { listMigrations, migrate } from '../../dist/db/migrations/migrate.js'
import { lockFolder } from '../../dist/lib/system/folder-lock.js'
import { lineTypes } from '../../dist/transfer/lines.js'
import { openDialect } from '../support/database/database-place.js'
import { laterRelease } from '../support/database/later-migration.js'
import { fetchAs, fileTypes, png, sendFile } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { integrityCast } from '../support/integrity/cast.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'
import { direct, SyncClient, syncPage } from '../support/messaging/sync-client.js'
import { fillTables } from '../support/transfer/filled-tables.js'
import { digestOf, Installation, secretKey, succeed } from '../support/transfer/installations.js'
import { WatchedServer } from '../support/watched-server.js'

const [sqlite] = testBackends() as [Backend]

/** An embedded database with rows in every table. */
async function filled(): Promise<Installation> {
  const source = await Installation.create(sqlite)
  source.makeFolder()
  await using database = new Database(openDialect(source))
  await migrate(database)
  await fillTables(database)
  return source
}

function exported(source: Installation, ...more: readonly string[]): Promise<unknown> {
  const args = ['export', '--move', '--to', source.exportFolder, '--json', ...more]
  return succeed(source.hermod(...args))
}

describe.each(testBackends())('a move to $name', (backend) => {
  it('and back keeps every row of every table: the digests are equal', async () => {
    await using source = await filled()
    await using there = await Installation.create(backend)
    await using back = await Installation.create(sqlite)
    const digest = await digestOf((...args) => source.hermod(...args))
    expect(Object.keys(digest).sort()).toEqual(lineTypes.move.map(({ name }) => name).sort())
    await exported(source, '--drop-undelivered')
    await succeed(there.hermod('import', source.exportFolder, '--json'))
    expect(await digestOf((...args) => there.hermod(...args))).toEqual(digest)
    there.makeFolder()
    await exported(there, '--drop-undelivered')
    await succeed(back.hermod('import', there.exportFolder, '--json'))
    expect(await digestOf((...args) => back.hermod(...args))).toEqual(digest)
    const [lines, again] = [source, there].map(({ exportFolder }) =>
      lineTypes.move
        .map(({ name }) => readFileSync(join(exportFolder, 'lines', `${name}.ndjson`), 'utf8'))
        .map((text) => text.split('\n').sort()),
    )
    expect(again).toEqual(lines)
  })

  it('keeps tokens, files and positions: clients continue, and the check finds no fault', {
    timeout: 60_000,
  }, async () => {
    const from = testBackends().find(({ name }) => name !== backend.name) ?? sqlite
    const env = { HERMOD_SECRET_KEY: secretKey, HERMOD_OUTBOUND_ALLOW: '127.0.0.1,::1' }
    await using watched = await WatchedServer.start(from, { env })
    const { server } = watched
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    await integrityCast(server)
    const ticket = { to_id: bob.id, to_type: 1, file_type: fileTypes.picture }
    const address = await sendFile(alice.api, ticket, png)
    await sendText(alice.api, bob.id, 'a picture', { attachment: JSON.stringify({ url: address }) })
    const client = new SyncClient(alice.api)
    await client.syncToEnd({ list: true })
    const events = { query: { consumer: 'backend' } }
    await server.api.admin().succeed('GET', '/events', events)
    await sendText(bob.api, alice.id, 'before the move')
    await allHandled(watched)
    const args = ['export', '--move', '--to', join(watched.server.dataDir, 'export'), '--json']
    const running = await callHermod(args, { ...watched.settings, ...env })
    expect(running.err).toMatch(/is in use by process|uses? the database; stop them/)
    const digest = await digestOf((...args) => callHermod(args, watched.settings))

    // Nothing of users changes in maintenance, so the service may run on.
    await succeed(callHermod(['maintenance', 'on', '--json'], watched.settings))
    await using there = await Installation.create(backend)
    const settings = { ...watched.settings, ...env }
    expect(await callHermod(args, settings)).toMatchObject({
      code: 1,
      err: expect.stringContaining('events for the reader backend of test (1)'),
    })
    const report = await succeed(callHermod([...args, '--drop-undelivered'], settings))
    expect(report).toMatchObject({
      dropped: [{ what: 'events for the reader backend of test', count: 1 }],
      files: { store: 'folder', count: 1, bytes: png.length, missing: 0 },
    })
    await server.stop()
    await succeed(there.hermod('import', String(args[3]), '--json'))
    expect(await digestOf((...command) => there.hermod(...command))).toEqual(digest)

    const { appId, adminToken, operatorToken } = server
    await using moved = await startServer({
      ...{ appId, adminToken, operatorToken, env, dataDir: there.dataDir },
      ...(there.databaseUrl === undefined ? {} : { databaseUrl: there.databaseUrl }),
    })
    const aliceThere = moved.api.as(alice.token)
    const page = await syncPage(aliceThere, { after: client.pos })
    expect(page.reset ?? false).toBe(false)
    const clientThere = new SyncClient(aliceThere)
    clientThere.pos = client.pos
    for (const [name, log] of client.logs) clientThere.logs.set(name, log)
    await clientThere.sync()
    await sendText(moved.api.as(bob.token), alice.id, 'after the move')
    await clientThere.sync()
    const held = clientThere.held(direct(alice.id, bob.id))
    const messages = [...(held?.messages.values() ?? [])].map(({ seq, content }) => [seq, content])
    expect(messages).toEqual([
      [1, 'a picture'],
      [2, 'before the move'],
      [3, 'after the move'],
    ])
    const moveUrl = address.replace(server.url, moved.url)
    expect(await fetchAs(moved.api, bob.token, moveUrl)).toEqual(png)
    const { data } = await moved.api.admin().succeed('GET', '/events', events)
    expect(data.events).toMatchObject([{ data: { content: 'after the move' } }])
    expect(await integrityFaults(moved)).toEqual([])
  })
})

describe.each(testBackends())('an export from $name', (backend) => {
  it('is refused while the data of a deleted user is not removed, and leaves out only jobs that change no data', async () => {
    await using source = await Installation.create(backend)
    source.makeFolder()
    await using database = new Database(openDialect(source))
    await migrate(database)
    const job = { app_id: 'app', payload: '{}', run_at: 0, created_at: 0, updated_at: 0 }
    const longJob = { params: '{}', state: 'running', created_at: 0 }
    await database.transaction(async (tx) => {
      const jobs = ['push.send', 'text_erasure', 'reaction_removal', 'long_job', 'long_job']
      for (const [at, kind] of jobs.entries())
        await tx
          .insertInto('jobs')
          .values({ ...job, job_id: at, kind })
          .execute()
      for (const [at, kind] of ['user_erase', 'backup_create'].entries())
        await tx
          .insertInto('long_jobs')
          .values({ ...longJob, job_id: at, slot: at, kind })
          .execute()
    })
    const args = ['export', '--move', '--to', source.exportFolder, '--drop-undelivered', '--json']
    const refused = await source.hermod(...args)
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining('not done (reaction_removal, text_erasure, user_erase)'),
    ])
    expect(existsSync(source.exportFolder)).toBe(false)
    await database.transaction(async (tx) => {
      const removals = ['text_erasure', 'reaction_removal']
      await tx.updateTable('jobs').set({ outcome: 'done' }).where('kind', 'in', removals).execute()
      await tx
        .updateTable('long_jobs')
        .set({ state: 'done' })
        .where('kind', '=', 'user_erase')
        .execute()
    })
    expect(await succeed(source.hermod(...args))).toMatchObject({
      dropped: [
        { what: 'jobs of the kind backup_create', count: 1 },
        { what: 'jobs of the kind push.send', count: 1 },
      ],
    })
  })
})

describe('an export of a backup', () => {
  it('becomes data that is restored: users are served after hermod restore finish', async () => {
    const env = { HERMOD_SECRET_KEY: secretKey }
    await using watched = await WatchedServer.start(sqlite, { env })
    const { server } = watched
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    await sendText(alice.api, bob.id, 'hello')
    await using there = await Installation.create(sqlite)
    const target = join(server.dataDir, '..', `backups-${alice.id}`)
    const backup = ['backup', 'create', '--to', target]
    const made = await callHermod(backup, { ...watched.settings, ...env })
    expect([made.code, made.err]).toEqual([0, expect.any(String)])
    const [name] = readdirSync(target).filter((each) => existsSync(join(target, each, 'COMPLETE')))
    const settings = {
      ...env,
      HERMOD_DATA_DIR: join(target, String(name)),
      HERMOD_FILES_DIR: join(target, 'files'),
    }
    const to = there.exportFolder
    const before = readdirSync(settings.HERMOD_DATA_DIR)
    await succeed(
      callHermod(['export', '--move', '--drop-undelivered', '--to', to, '--json'], settings),
    )
    expect(readdirSync(settings.HERMOD_DATA_DIR)).toEqual(before)
    expect(await succeed(there.hermod('import', to, '--json'))).toMatchObject({ restored: true })
    expect((await there.hermod('maintenance')).out).toContain('hermod restore finish')
    rmSync(target, { recursive: true })
  })
})

describe('exports and imports', () => {
  const backend = sqlite
  let sound: Installation

  beforeAll(async () => {
    sound = await filled()
    await exported(sound, '--drop-undelivered')
  })
  afterAll(() => sound[Symbol.asyncDispose]())

  it('an export is refused while a service runs, without its key, and into a folder with files', async () => {
    await using source = await filled()
    const to = source.exportFolder
    const args = ['export', '--move', '--to', to, '--drop-undelivered']
    const attempt = (settings: object, more = args) =>
      callHermod(more, { ...source.settings, ...settings })
    expect((await attempt({ HERMOD_SECRET_KEY: undefined })).err).toContain(
      'needs the secret key of the installation',
    )
    expect((await attempt({}, ['export', '--to', to, '--drop-undelivered'])).err).toContain(
      '--drop-undelivered belongs to --move',
    )
    expect((await attempt({}, ['export', '--move', '--app', 'app1'])).err).toContain(
      'leave out --portable and --app',
    )
    expect((await attempt({ HERMOD_DATA_DIR: to })).err).toContain('there is no')
    const { err } = await attempt({}, ['export', '--move', '--to', to])
    expect(err).toContain('not everything is delivered')
    expect(existsSync(to)).toBe(false)
    const lock = lockFolder(source.dataDir)
    expect((await attempt({})).err).toContain('is in use by process')
    lock.release()
    mkdirSync(to)
    writeFileSync(join(to, 'mine.txt'), '')
    expect((await attempt({})).err).toContain('has other files, such as mine.txt')
    rmSync(join(to, 'mine.txt'))
    expect((await attempt({})).code).toBe(0)
    expect((await attempt({})).err).toContain('has a complete export already')
  })

  it.each<[string, (folder: string) => void, string]>([
    ['without its mark', (folder) => rmSync(join(folder, 'COMPLETE')), 'has no complete export'],
    [
      'with another manifest',
      (folder) => change(folder, 'manifest.json', '"kind": "move"', '"kind": "all"'),
      'manifest.json of the export in',
    ],
    [
      'with a cut file',
      (folder) => truncateSync(join(folder, 'lines/users.ndjson'), 100),
      'lines/users.ndjson of the export in',
    ],
    [
      'with a changed byte',
      (folder) => change(folder, 'lines/users.ndjson', 'app1', 'app2'),
      'cut off or changed',
    ],
    ['without a file', (folder) => rmSync(join(folder, 'lines/users.ndjson')), 'is missing'],
    [
      'of a newer format',
      (folder) => rewrite(folder, (manifest) => ({ ...manifest, format: 2, version: '9.0.0' })),
      'was made by Hermod 9.0.0 in a newer format',
    ],
    [
      'of a newer schema',
      (folder) =>
        rewrite(folder, (manifest) => ({
          ...manifest,
          schema: { number: 99, name: '099-later' },
          version: '9.0.0',
        })),
      'it has the schema 99, and this version knows schemas up to 1; import it with Hermod 9.0.0',
    ],
    [
      'of another key',
      (folder) => rewrite(folder, (each) => ({ ...each, secret_key_fingerprint: 'abcdefgh' })),
      'need the secret key abcdefgh',
    ],
    [
      'with a list of files that is no part of it',
      (folder) =>
        rewrite(folder, (each) => ({
          ...each,
          parts: each.parts.filter(({ name }) => name !== 'files.ndjson'),
        })),
      'manifest.json of the export in',
    ],
    ...[2 ** 53 - 1, Date.now() - Date.UTC(2015, 0, 1) + 25 * 3_600_000].map(
      (until): [string, (folder: string) => void, string] => [
        `with IDs up to ${until}`,
        (folder) => rewrite(folder, (each) => ({ ...each, ids_reserved_until: until })),
        'which is after the time of this machine',
      ],
    ),
    [
      'with a part of another version',
      (folder) => {
        writeFileSync(join(folder, 'lines/orders.ndjson'), '')
        rewrite(folder, (each) => ({
          ...each,
          parts: [...each.parts, asItIs(folder)({ name: 'lines/orders.ndjson' })],
        }))
      },
      'the export has lines/orders.ndjson, which no export has in this version',
    ],
    [
      'with a part twice',
      (folder) =>
        rewrite(folder, (each) => ({
          ...each,
          parts: [...each.parts, asItIs(folder)({ name: 'lines/users.ndjson' })],
        })),
      'the export lists lines/users.ndjson twice',
    ],
    [
      'with an emptied list of files',
      (folder) => {
        writeFileSync(join(folder, 'files.ndjson'), '')
        rewrite(folder, (each) => ({
          ...each,
          files: { store: 'folder', count: 3, bytes: 9, missing: 0 },
          parts: each.parts.map(asItIs(folder)),
        }))
      },
      'has 0 files of 0 bytes, and manifest.json says 3 of 9',
    ],
    [
      'with a listed file that is missing',
      (folder) => {
        const file = { key: 'app1/aa', size: 3, content_type: '', sha256: 'a'.repeat(64) }
        writeFileSync(join(folder, 'files.ndjson'), `${JSON.stringify(file)}\n`)
        rewrite(folder, (each) => ({ ...each, parts: each.parts.map(asItIs(folder)) }))
      },
      'files/app1/aa of the export in',
    ],
    [
      'with a FIFO',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        rmSync(path)
        execFileSync('mkfifo', [path])
      },
      'is no regular file',
    ],
    [
      'with a row twice',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        writeFileSync(path, readFileSync(path, 'utf8').replace(/^.*\n/, '$&$&'))
        rewrite(folder, (each) => ({ ...each, parts: each.parts.map(asItIs(folder)) }))
      },
      'one of the lines 1 to 4 of lines/users.ndjson cannot be written: two rows have one key',
    ],
    [
      'with a row without a member',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        writeFileSync(path, without(readFileSync(path, 'utf8'), 'username'))
        rewrite(folder, (each) => ({ ...each, parts: each.parts.map(asItIs(folder)) }))
      },
      'cannot be written: a member that every row has is missing',
    ],
    [
      'with bytes that are no UTF-8',
      (folder) => {
        const path = join(folder, 'lines/users.ndjson')
        const bytes = readFileSync(path)
        bytes[bytes.indexOf('"nick_name":"') + '"nick_name":"'.length] = 0xff
        writeFileSync(path, bytes)
        rewrite(folder, (each) => ({ ...each, parts: each.parts.map(asItIs(folder)) }))
      },
      'has bytes that are no UTF-8',
    ],
    [
      'with half of a surrogate pair',
      (folder) => {
        change(folder, 'lines/users.ndjson', '"nick_name":"', '"nick_name":"\\ud800')
        rewrite(folder, (each) => ({ ...each, parts: each.parts.map(asItIs(folder)) }))
      },
      'line 1 of lines/users.ndjson has half a character in nick_name',
    ],
    [
      'with a file whose key leads out of its folder',
      (folder) => {
        const bytes = 'out'
        writeFileSync(join(folder, 'files', 'inside'), bytes)
        writeFileSync(join(folder, 'outside'), bytes)
        const sha256 = createHash('sha256').update(bytes).digest('hex')
        const file = { size: bytes.length, content_type: '', sha256 }
        const lines = ['inside', '../outside'].map((key) => JSON.stringify({ key, ...file }))
        writeFileSync(join(folder, 'files.ndjson'), `${lines.join('\n')}\n`)
        rewrite(folder, (manifest) => ({
          ...manifest,
          parts: manifest.parts.map(asItIs(folder)),
        }))
      },
      'line 2 of files.ndjson of the export has a bad field key',
    ],
    [
      'with another digest',
      (folder) =>
        rewrite(folder, (each) => ({
          ...each,
          digest: { ...each.digest, users: { ...each.digest.users, count: 4 } },
        })),
      'the database does not have what the export has (users: 3 of 4 rows)',
    ],
  ])('an export %s is refused', async (_, damage, text) => {
    await using there = await Installation.create(backend)
    cpSync(sound.exportFolder, there.exportFolder, { recursive: true })
    damage(there.exportFolder)
    const { code, err } = await there.hermod('import', there.exportFolder)
    expect([code, err]).toEqual([1, expect.stringContaining(text)])
    expect(existsSync(join(there.dataDir, 'outside'))).toBe(false)
    const started = await there.hermod('check')
    expect([started.code, started.err]).toEqual([1, expect.any(String)])
  })

  it('an import needs an empty database', async () => {
    await using there = await Installation.create(backend)
    const { exportFolder } = sound
    await succeed(there.hermod('import', exportFolder, '--json'))
    const again = await there.hermod('import', exportFolder)
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringContaining('is not empty (it has apps)'),
    ])
    const checked = await there.hermod('import', exportFolder, '--check')
    expect(checked.err).toContain('is not empty')
  })

  it('an import leaves the database of an earlier version as it is', async () => {
    await using there = await Installation.create(backend)
    there.makeFolder()
    await using database = new Database(openDialect(there))
    await migrate(database)
    const log = pino({ level: 'silent' })
    const settings = { HERMOD_DATA_DIR: there.dataDir, HERMOD_SECRET_KEY: secretKey }
    const options = { ...loadConfig(settings), log, release: laterRelease() }
    const from = { from: sound.exportFolder }
    const text = 'is not empty (it has the schema 1 of an earlier version)'
    await expect(importData(options, from, {})).rejects.toThrow(text)
    await expect(checkImport(options, from, {})).rejects.toThrow(text)
    expect((await listMigrations(database, options.release)).map((each) => each.isApplied)).toEqual(
      [true, false],
    )
  })

  it('a check counts, names what cannot be imported, and writes nothing', async () => {
    await using there = await Installation.create(backend)
    const folder = there.exportFolder
    cpSync(sound.exportFolder, folder, { recursive: true })
    const check = () => there.hermod('import', folder, '--check', '--json')
    expect(await succeed(check())).toMatchObject({
      counts: { users: 3, messages: 3, groups: 3 },
      problems: 0,
      samples: [],
    })
    expect(existsSync(there.dataDir)).toBe(false)
    change(folder, 'lines/operator_tokens.ndjson', '"created_at":', '"made_at":')
    change(folder, 'lines/users.ndjson', '"nick_name":"', '"nick_name":"\\u0000')
    rewrite(folder, (manifest) => ({ ...manifest, parts: manifest.parts.map(asItIs(folder)) }))
    const { code, out, err } = await check()
    expect([code, err]).toEqual([1, expect.stringContaining('2 lines cannot be imported')])
    expect(JSON.parse(out)).toMatchObject({
      problems: 2,
      samples: [
        { type: 'operator_tokens', line: 1, reason: expect.stringContaining('made_at') },
        { type: 'users', line: 1, reason: 'has U+0000 in nick_name, which no database stores' },
      ],
    })
    const imported = await there.hermod('import', folder)
    expect(imported.err).toContain('line 1 of lines/operator_tokens.ndjson has a member made_at')
    // What was written before stays for a repaired export, and no service uses it.
    expect((await there.hermod('check')).err).toContain('has an unfinished import')
    const another = await there.hermod('import', sound.exportFolder)
    expect(another.err).toContain('has an unfinished import of another export')
  })
})

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  it('an export reads a standby while nodes run on its primary', { timeout: 120_000 }, async () => {
    await using primary = await PostgresCluster.start({
      folder: memoryDisk(),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    const database = await primary.createDatabase()
    const env = { HERMOD_SECRET_KEY: secretKey }
    await using node = await startServer({ databaseUrl: database.url, env })
    const [alice, bob] = [await node.api.newSession(), await node.api.newSession()]
    await sendText(alice.api, bob.id, 'hello')
    await using standby = await primary.startStandby()
    await primary.waitForStandby(standby)
    await using there = await Installation.create(sqlite)
    const settings = {
      ...{ ...env, HERMOD_DATA_DIR: node.dataDir },
      HERMOD_DATABASE_URL: standby.urlOf(new URL(database.url).pathname.slice(1)),
    }
    const args = ['export', '--move', '--drop-undelivered', '--to', there.exportFolder, '--json']
    await succeed(callHermod(args, settings))
    await succeed(there.hermod('import', there.exportFolder, '--json'))
    expect((await digestOf((...each) => there.hermod(...each))).messages?.count).toBe(1)
    // The primary has gone on.
    expect((await there.hermod('maintenance')).out).toContain('hermod restore finish')
  })

type Manifest = Record<string, never> & {
  readonly parts: readonly { readonly name: string }[]
  readonly digest: Readonly<Record<string, object>>
}

/** Replaces the first such text in a file of an export. */
function change(folder: string, name: string, from: string, to: string): void {
  const path = join(folder, name)
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
}

/** Returns lines of JSON, of which the first one does not have a member. */
function without(lines: string, member: string): string {
  const [first = '', ...rest] = lines.split('\n')
  return [JSON.stringify({ ...JSON.parse(first), [member]: undefined }), ...rest].join('\n')
}

/** Writes another manifest, with its mark. */
function rewrite(folder: string, edit: (manifest: Manifest) => object): void {
  const path = join(folder, 'manifest.json')
  const text = JSON.stringify(edit(JSON.parse(readFileSync(path, 'utf8'))))
  writeFileSync(path, text)
  writeFileSync(join(folder, 'COMPLETE'), createHash('sha256').update(text).digest('hex'))
}

/** The entry of a part as its file is now. */
function asItIs(folder: string): (part: { readonly name: string }) => object {
  return ({ name }) => {
    const bytes = readFileSync(join(folder, name))
    return { name, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  }
}

/** Waits until no consumer and no job has work left. */
async function allHandled({ sql }: WatchedServer): Promise<void> {
  const isHandled = async () => {
    const jobs = await sql.run("select 1 from jobs where outcome = ''")
    const behind = await sql.run(`select 1 from outbox_positions p
      join outbox_heads h on h.app_id = p.app_id where h.position > p.position`)
    return jobs.length + behind.length === 0
  }
  await waitFor(isHandled, { what: 'the end of the work of consumers', timeoutMs: 20_000 })
}
