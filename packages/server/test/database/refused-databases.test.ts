/** Databases that the service refuses to use, each in a sentence with the remedy, and changes nothing in. */
import {
  type Backend,
  type BackendDatabase,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../dist/config/config.js'
import { migrateDatabase } from '../../dist/context/database/migration.js'
import { version } from '../../dist/lib/version.js'
import { createLog } from '../../dist/observability/log.js'
import { migrateLater } from '../support/database/later-migration.js'
import { countOfWaiting, type DataPlace, openSql } from '../support/database/sql.js'
import { TransactionPooler } from '../support/database/transaction-pooler.js'
import { runHermod } from '../support/hermod-command.js'

const opened: { folder: TempFolder; database: BackendDatabase }[] = []

async function emptyPlace(backend: Backend): Promise<DataPlace> {
  const folder = new TempFolder('refused')
  const database = await backend.createDatabase()
  opened.push({ folder, database })
  return { dataDir: folder.path, databaseUrl: database.url }
}

afterAll(async () => {
  for (const { folder, database } of opened) {
    folder[Symbol.dispose]()
    await database[Symbol.asyncDispose]()
  }
})

/** `hermod migrate` in this process. `serve` opens the database in the same way. */
async function migrate({ dataDir, databaseUrl }: DataPlace) {
  const env = {
    HERMOD_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { HERMOD_DATABASE_URL: databaseUrl }),
  }
  return migrateDatabase({ ...loadConfig(env), log: createLog('silent') }, { statusOnly: false })
}

async function run(place: DataPlace, ...statements: string[]): Promise<void> {
  await using sql = await openSql(place)
  for (const statement of statements) await sql.run(statement)
}

async function migrationNames(place: DataPlace): Promise<string[]> {
  await using sql = await openSql(place)
  return (await sql.run('select name from kysely_migration order by name')).map(({ name }) =>
    String(name),
  )
}

async function refusal(place: DataPlace): Promise<string> {
  return migrate(place).then(
    () => 'accepted',
    (error: Error) => error.message,
  )
}

for (const backend of testBackends()) {
  describe.concurrent(`a database on ${backend.name}`, () => {
    it('is refused when it has the schema of a newer build, which the message numbers', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await migrateLater(place)
      expect(await refusal(place)).toContain(
        `has the schema 2 of version 9.0.0, and this is version ${version}, which knows schemas up to 1; start version 9.0.0 again, or restore the`,
      )
    })

    it('of a newer build is used, and stays as it is, while its schema runs with this build', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await migrateLater(place, 1)
      const states = (await migrate(place)).migrations
      expect(states.map(({ state }) => state)).toEqual(['applied', 'applied'])
      expect(states[1]?.name).toBe('002-made-up')
      // A still later one ends it.
      await run(place, 'update database_identity set runs_with = 2')
      expect(await refusal(place)).toContain('has the schema 2')
    })

    it('is refused when another build before 0.1.0 has made it, and stays as it is', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      for (const list of [
        ["'001-initial'"],
        ["'001-initial'", "'002-one-pass-pushes'"],
        ["'001-initial-0123456789ab'"],
      ]) {
        await run(
          place,
          'delete from kysely_migration',
          `insert into kysely_migration values ${list.map((name) => `(${name}, '2026-01-01T00:00:00.000Z')`).join(', ')}`,
        )
        expect(await refusal(place)).toContain(
          "has the schema of another build before 0.1.0, and such builds do not open one another's data; start the build that made it, or use an empty one",
        )
        expect(await migrationNames(place)).toEqual(list.map((name) => name.slice(1, -1)))
      }
    })

    it('is refused when a migration is missing in its list', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await migrateLater(place)
      await run(place, "delete from kysely_migration where name like '001-%'")
      expect(await refusal(place)).toMatch(
        /has a damaged list of migrations \(table kysely_migration\): it has 002-made-up in place of 001-initial-[0-9a-f]{12}; restore a backup/,
      )
    })

    it('is refused when it holds the tables of another program, and gets none', async () => {
      const place = await emptyPlace(backend)
      await run(place, 'create table orders (id integer)')
      expect(await refusal(place)).toContain(
        'holds tables that no migration of the service has made (orders); use an empty one',
      )
      await run(place, 'drop table orders')
      await migrate(place)
    })

    it('of a released build is brought up to date with its data', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await run(place, `insert into node_shares (kind, name, lease) values ('a', 'kept', 1)`)
      expect(await migrateLater(place)).toEqual(['002-made-up'])
      expect(await migrateLater(place)).toEqual([])
      await using sql = await openSql(place)
      expect(await sql.run('select name, note from node_shares')).toEqual([
        { name: 'kept', note: 'none' },
      ])
    })

    it('keeps its data when a migration fails, which the message names', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      // The column of the migration exists already.
      await run(place, 'alter table node_shares add column note text')
      for (let attempts = 0; attempts < 2; attempts++)
        await expect(migrateLater(place)).rejects.toThrow(
          /could not be brought to 2, since the migration 002-made-up failed: .*; nothing was changed/,
        )
      await run(place, 'alter table node_shares drop column note')
      expect(await migrateLater(place)).toEqual(['002-made-up'])
    })

    it('is brought up to date although an earlier clock was ahead', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await run(place, "update kysely_migration set timestamp = '2090-01-01T00:00:00.000Z'")
      expect(await migrateLater(place)).toEqual(['002-made-up'])
    })
  })
}

for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  describe.concurrent('a PostgreSQL database', () => {
    it('is refused when its encoding is not UTF-8, with a line that creates a usable one', async () => {
      const place = await emptyPlace(backend)
      const url = new URL(place.databaseUrl as string)
      const name = `${url.pathname.slice(1)}_latin`
      await run(place, `create database ${name} template template0 encoding 'LATIN1' locale 'C'`)
      try {
        url.pathname = `/${name}`
        const message = await refusal({ ...place, databaseUrl: url.href })
        expect(message).toContain('HERMOD_DATABASE_URL')
        expect(message).toContain('has the encoding LATIN1')
        expect(message).toContain(
          `createdb --template=template0 --encoding=UTF8 --locale=C --owner=${url.username} ${name}_utf8`,
        )
      } finally {
        await run(place, `drop database ${name}`)
      }
    })

    it('is refused without the schema that the URL names, and keeps its tables there', async () => {
      const place = await emptyPlace(backend)
      const inSchema = {
        ...place,
        databaseUrl: `${place.databaseUrl}?options=-c%20search_path%3Dchat`,
      }
      const problem = 'has none of the schemas of its search_path (chat)'
      expect(await refusal(inSchema)).toContain(problem)
      const config = await runHermod(['config'], { HERMOD_DATABASE_URL: inSchema.databaseUrl })
      expect({ code: config.code, err: config.err }).toEqual({
        code: 1,
        err: expect.stringContaining(problem),
      })
      await migrate(place)
      await run(place, 'create schema chat')
      await migrate(inSchema)
      await run(place, 'select 1 from chat.kysely_migration', 'select 1 from chat.messages')
    })

    it('is brought up to date while others use it: nobody waits longer than a second for the lock that it waits for', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      await using slow = await openSql(place)
      await using reader = await openSql(place)
      const read = 'select 1 from node_shares'
      await slow.run('begin')
      await slow.run(read)
      await expect(migrateLater(place, 1, 0)).rejects.toThrow(
        'other transactions have held its tables for a minute; nothing was changed',
      )
      const later = migrateLater(place, 1)
      await waitFor(async () => (await reader.run(countOfWaiting))[0]?.count === 1, {
        what: 'a migration that waits for its lock',
        timeoutMs: 10_000,
      })
      await reader.run(read)
      await slow.run('commit')
      expect(await later).toEqual(['002-made-up'])
    })

    it('is refused when it only reads', async () => {
      const place = await emptyPlace(backend)
      const { pathname, username } = new URL(place.databaseUrl as string)
      const name = pathname.slice(1)
      await run(place, `alter database ${name} set default_transaction_read_only = on`)
      expect(await refusal(place)).toContain(
        `only reads, since default_transaction_read_only is on; set it to off for the database ${name} or the user ${username}`,
      )
    })

    it.each([
      [true, 'a pooler runs the transactions of one connection on several ones of PostgreSQL'],
      [false, 'PostgreSQL did not get the options of the service, such as lock_timeout'],
    ])(
      'is refused behind a pooler of transactions that passes options: %s',
      async (passesOptions, problem) => {
        const place = await emptyPlace(backend)
        const { pooler, url } = await TransactionPooler.start(place.databaseUrl as string, {
          passesOptions,
        })
        await using _ = pooler
        expect(await refusal({ ...place, databaseUrl: url })).toContain(problem)
      },
    )

    it('is refused when its user may not create tables', async () => {
      const place = await emptyPlace(backend)
      const url = new URL(place.databaseUrl as string)
      const role = `role_${url.pathname.slice(1)}`
      await run(place, `create role ${role} login`)
      try {
        url.username = role
        expect(await refusal({ ...place, databaseUrl: url.href })).toContain(
          `does not let the user ${role} create tables in the schema public; run GRANT CREATE ON SCHEMA public TO ${role}`,
        )
      } finally {
        await run(place, `drop role ${role}`)
      }
    })
  })
}
