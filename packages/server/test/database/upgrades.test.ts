/** Starts of a build that changes the schema: the copy from before, the way back, kills, waiting. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Backend,
  type BackendDatabase,
  freePort,
  isFullRun,
  memoryDisk,
  startServer,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { openContext } from '../../dist/context/context.js'
import { migrateDatabase } from '../../dist/context/database/migration.js'
import { newEpoch } from '../../dist/context/database/new-epoch.js'
import { copyDatabase } from '../../dist/db/migrations/database-copies.js'
import type { Release } from '../../dist/db/migrations/migrate.js'
import { lockFolder } from '../../dist/lib/system/folder-lock.js'
import { version } from '../../dist/lib/version.js'
import { laterRelease } from '../support/database/later-migration.js'
import { type DataPlace, openSql } from '../support/database/sql.js'
import { callHermod, runHermod } from '../support/hermod-command.js'

const opened: { folder: TempFolder; database: BackendDatabase }[] = []

afterAll(async () => {
  for (const { folder, database } of opened) {
    folder[Symbol.dispose]()
    await database[Symbol.asyncDispose]()
  }
})

/** A place with the schema of this build and a row in it. */
async function placeWithData(backend: Backend): Promise<DataPlace> {
  const folder = new TempFolder('upgrade')
  const database = await backend.createDatabase()
  opened.push({ folder, database })
  const place = { dataDir: folder.path, databaseUrl: database.url }
  await migrate(place)
  await insert(
    place,
    `insert into node_shares (kind, name, lease) values ('a', '1', 1), ('a', '9', 1)`,
  )
  return place
}

async function insert(place: DataPlace, statement: string): Promise<void> {
  if (place.databaseUrl !== undefined) return void (await run(place, statement))
  // A prepared statement keeps its connection open until the collector finds it.
  const database = new DatabaseSync(join(place.dataDir, 'hermod.db'))
  database.exec(statement)
  database.close()
}

const settingsOf = ({ dataDir, databaseUrl }: DataPlace) => ({
  HERMOD_DATA_DIR: dataDir,
  ...(databaseUrl !== undefined && { HERMOD_DATABASE_URL: databaseUrl }),
})

interface Start {
  readonly release?: Release
  readonly withoutCopy?: boolean
}

/** Brings the schema up to date as a start does. @returns the log */
async function migrate(place: DataPlace, start: Start = {}) {
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const loaded = loadConfig(settingsOf(place))
  const result = await migrateDatabase({ ...loaded, log, ...start }, { statusOnly: false })
  return { ...result, log: lines.join('') }
}

async function run(place: DataPlace, statement: string) {
  await using sql = await openSql(place)
  return await sql.run(statement)
}

const rows = (place: DataPlace) => run(place, 'select * from node_shares order by name')
const oldRows = ['1', '9'].map((name) => ({ kind: 'a', name, lease: 1 }))
const migrationsOf = async (place: DataPlace) =>
  (await run(place, 'select name from kysely_migration order by name')).length

for (const backend of testBackends()) {
  describe.concurrent(`an upgrade on ${backend.name}`, () => {
    it('that is killed in the middle of a change of data leaves nothing, and a new start does it', async () => {
      const place = await placeWithData(backend)
      const script = resolve(import.meta.dirname, '../support/database/migrating-child.mjs')
      const child = spawn(process.execPath, [script, JSON.stringify(settingsOf(place))], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exit = once(child, 'exit')
      await once(child.stdout, 'data')
      child.kill('SIGKILL')
      await exit
      expect(await rows(place)).toEqual(oldRows)
      expect(await migrationsOf(place)).toBe(1)
      await migrate(place, { release: laterRelease() })
      expect(await rows(place)).toEqual(oldRows.map((row) => ({ ...row, note: 'none' })))
    })
  })
}

describe.concurrent('an upgrade of the embedded database', () => {
  const [sqlite] = testBackends().filter(({ name }) => name === 'sqlite')
  if (!sqlite) return

  it('copies the database first, which the log and the refusal of the way back name', async () => {
    const place = await placeWithData(sqlite)
    const { copy, log } = await migrate(place, { release: laterRelease() })
    const path = join(place.dataDir, 'hermod.db')
    expect(copy).toBe(`${path}.before-9.0.0`)
    expect(log).toContain(`"copy":"${copy}"`)
    await expect(migrate(place)).rejects.toThrow(
      `has the schema 2 of version 9.0.0, and this is version ${version}, which knows schemas up to 1; start version 9.0.0 again, or return to the data from before the upgrade: put ${copy} in the place of ${path}, and run hermod database new-epoch`,
    )
    renameSync(copy as string, path)
    const loaded = loadConfig(settingsOf(place))
    await newEpoch({ ...loaded, log: pino({ level: 'silent' }) })
    expect(await rows(place)).toEqual(oldRows)
  })

  it('copies what a killed service has left in the log', async () => {
    const place = await placeWithData(sqlite)
    const server = await startServer({ dataDir: place.dataDir })
    await server.kill9()
    expect(existsSync(join(place.dataDir, 'hermod.db-wal'))).toBe(true)
    const { copy } = await migrate(place, { release: laterRelease() })
    renameSync(copy as string, join(place.dataDir, 'hermod.db'))
    // The app of the first start.
    expect(await run(place, 'select app_id from apps')).toEqual([{ app_id: 'test' }])
  })

  it('has a copy that is complete or absent after a kill', async () => {
    using folder = new TempFolder('copies', memoryDisk())
    const path = join(folder.path, 'hermod.db')
    const bytes = randomBytes(32 * 1024 * 1024)
    writeFileSync(path, bytes)
    const script = resolve(import.meta.dirname, '../support/database/copying-child.mjs')
    for (let kill = 0; kill < (isFullRun ? 10 : 1); kill++) {
      const child = spawn(process.execPath, [script, path], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exit = once(child, 'exit')
      await once(child.stdout, 'data')
      // A moment within one of the copies.
      await sleep(Math.random() * 100)
      child.kill('SIGKILL')
      await exit
      const copy = `${path}.before-9.0.0`
      if (existsSync(copy)) expect(readFileSync(copy).equals(bytes)).toBe(true)
      expect(await copyDatabase(path, '9.0.0')).toBe(copy)
      expect(readdirSync(folder.path).sort()).toEqual(['hermod.db', 'hermod.db.before-9.0.0'])
    }
  })

  it('makes no copy with --without-copy, and none for a new database', async () => {
    const place = await placeWithData(sqlite)
    const { copy } = await migrate(place, { release: laterRelease(), withoutCopy: true })
    expect(copy).toBeNull()
    expect(existsSync(join(place.dataDir, 'hermod.db.before-9.0.0'))).toBe(false)
    await expect(migrate(place)).rejects.toThrow('or restore the backup from before the upgrade')
  })

  it('is refused by a start where the settings leave it to hermod migrate', async () => {
    using folder = new TempFolder('manual')
    const settings = { HERMOD_DATA_DIR: folder.path, HERMOD_MIGRATE: 'manual', HERMOD_PORT: '0' }
    const { code, err } = await runHermod(['serve'], settings)
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(
        'the database is empty and this build needs the schema 1; run hermod migrate, since HERMOD_MIGRATE is manual',
      ),
    })
    expect((await callHermod(['migrate'], settings)).out).toContain('The schema is up to date.')
    await callHermod(['check'], settings)
  })
})

describe.concurrent('an upgrade of PostgreSQL', () => {
  const [postgres] = testBackends().filter(({ name }) => name === 'postgres')
  if (!postgres) return

  it('tells in the log that only a snapshot leads back', async () => {
    const place = await placeWithData(postgres)
    const { copy, log } = await migrate(place, { release: laterRelease() })
    expect(copy).toBeNull()
    expect(log).toContain('only a snapshot or backup of PostgreSQL from before leads back')
    await expect(migrate(place)).rejects.toThrow(
      'start version 9.0.0 again, or restore the snapshot of PostgreSQL from before the upgrade',
    )
  })

  it('is no work of other commands, which nodes of the earlier build would not expect', async () => {
    const place = await placeWithData(postgres)
    const log = pino({ level: 'silent' })
    const later = { ...loadConfig(settingsOf(place)), log, release: laterRelease() }
    const refusal =
      'the database has the schema 1 and this build needs the schema 2; run hermod migrate, since only that and a start change the schema of PostgreSQL'
    await expect(newEpoch(later)).rejects.toThrow(refusal)
    await expect(openContext({ ...later, isCommand: true })).rejects.toThrow(refusal)
    expect(await migrationsOf(place)).toBe(1)
    const context = await openContext(later)
    await context.stop()
    expect(await migrationsOf(place)).toBe(2)
  })

  it('waits for hermod migrate where the settings say so, alive and not ready', async () => {
    using folder = new TempFolder('manual')
    await using database = await postgres.createDatabase()
    const port = await freePort()
    const starting = startServer({
      dataDir: folder.path,
      databaseUrl: database.url as string,
      port,
      env: { HERMOD_MIGRATE: 'manual' },
    })
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`)
    const ready = await waitFor(() => get('/readyz').catch(() => undefined), {
      what: 'a service that waits for its schema',
      timeoutMs: 20_000,
    })
    expect(ready?.status).toBe(503)
    expect(await ready?.json()).toEqual({
      status: 'not ready',
      reason: expect.stringContaining('run hermod migrate, since HERMOD_MIGRATE is manual'),
    })
    expect((await get('/livez')).status).toBe(200)
    // A command that works when the node wakes has the folder for a while.
    const lock = lockFolder(folder.path)
    await callHermod(['migrate'], { HERMOD_DATABASE_URL: database.url, HERMOD_MIGRATE: 'manual' })
    await waitFor(
      async () =>
        (await (await get('/readyz')).text()).includes('is in use by process') || undefined,
      { what: 'a service that waits for its folder', timeoutMs: 20_000 },
    )
    lock.release()
    const server = await starting
    expect((await get('/readyz')).status).toBe(200)
    await server.stop()
  })
})
