/** Data of every release since 0.1.0, opened, checked and used by this build. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { anyBackend, type Backend, TempFolder, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { migrateDatabase } from '../../dist/context/database/migration.js'
import type { Release } from '../../dist/db/migrations/migrate.js'
import { createLog } from '../../dist/observability/log.js'
import { laterRelease } from '../support/database/later-migration.js'
import {
  countRows,
  emptyTables,
  type Fixture,
  makeFixture,
  releasesFolder,
  restoreFixture,
  startOnFixture,
  textsOf,
} from '../support/database/release-fixture.js'
import type { DataPlace } from '../support/database/sql.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'

/** Set by scripts/release-fixture.mjs: the release whose fixture is made. */
const made = process.env.HERMOD_RELEASE_FIXTURE
const releases = existsSync(releasesFolder) ? readdirSync(releasesFolder) : []

/** An endpoint of the fixture is disabled, and it has a row of each table. */
const knownFaults = ['lost_history', 'webhook_disabled']

/** Runs work on a folder and an empty database. */
async function withPlace<T>(backend: Backend, work: (place: DataPlace) => Promise<T>): Promise<T> {
  using folder = new TempFolder('release')
  await using database = await backend.createDatabase()
  return await work({ dataDir: folder.path, databaseUrl: database.url })
}

/** Brings the schema up to that of a build, as `hermod migrate` does. @returns its migrations */
async function upgrade({ dataDir, databaseUrl }: DataPlace, release?: Release) {
  const env = {
    HERMOD_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { HERMOD_DATABASE_URL: databaseUrl }),
  }
  const options = { ...loadConfig(env), log: createLog('silent'), ...(release && { release }) }
  return (await migrateDatabase(options, { statusOnly: false })).migrations
}

/** Opens the data with this build, checks it and uses it. */
async function use(place: DataPlace, fixture: Fixture): Promise<void> {
  const server = await startOnFixture(place, fixture)
  try {
    const faults = await integrityFaults(server)
    expect(faults.filter(({ check }) => !knownFaults.includes(check))).toEqual([])
    expect(await textsOf(server, fixture)).toEqual(expect.arrayContaining([...fixture.texts]))
    const [first, second] = fixture.users
    await sendText(server.api.as(second?.token ?? ''), first?.id ?? 0, 'after the upgrade')
    expect(await textsOf(server, fixture)).toContain('after the upgrade')
  } finally {
    await server.stop()
  }
}

describe.each(anyBackend())('this build on $name', (backend) => {
  it('its data is opened, checked and used after a later one has changed its schema', async () => {
    using folder = new TempFolder('fixture')
    await withPlace(backend, async (place) => {
      const { rows } = await makeFixture(folder.path, backend, place, 'this')
      const empty = Object.keys(rows).filter((name) => rows[name] === 0)
      expect(empty).toEqual(emptyTables)
    })
    await withPlace(backend, async (place) => {
      const fixture = await restoreFixture(folder.path, backend, place)
      const migrations = await upgrade(place, laterRelease(1))
      expect(migrations.at(-1)).toEqual({ name: '002-made-up', state: 'appliedNow' })
      expect(await countRows(place)).toEqual(fixture.rows)
      await use(place, fixture)
    })
  })
})

const engines = releases.length > 0 || made ? testBackends() : []
describe.each(engines)('releases on $name', (backend) => {
  it.each(releases)('the data of %s is opened, checked and used', async (release) => {
    await withPlace(backend, async (place) => {
      const fixture = await restoreFixture(join(releasesFolder, release), backend, place)
      await upgrade(place)
      expect(await countRows(place)).toMatchObject(fixture.rows)
      await use(place, fixture)
    })
  })

  if (made)
    it('the fixture of the release is made', async () => {
      const folder = join(releasesFolder, made)
      await withPlace(backend, (place) => makeFixture(folder, backend, place, made))
      await withPlace(backend, async (place) => {
        await use(place, await restoreFixture(folder, backend, place))
      })
    })
})
