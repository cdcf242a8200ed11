import {
  type Backend,
  type BackendDatabase,
  startServer,
  TempFolder,
  testBackends,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lineTypes } from '../../dist/transfer/lines.js'
import { type DataPlace, openSql, type Sql, type SqlRow } from '../support/database/sql.js'
import { callHermod } from '../support/hermod-command.js'

interface Table {
  /** By name: the family of its type, whether it may be null, and its default. */
  readonly columns: Readonly<Record<string, string>>
  readonly primaryKey: string
  /** Such as `unique (app_id, email)`, without the primary key. */
  readonly indexes: readonly string[]
  /** Such as `app_id -> apps.app_id`. */
  readonly foreignKeys: readonly string[]
}

type Introspect = (sql: Sql, table: string) => Promise<Table>

const listTables: Readonly<Record<Backend['name'], string>> = {
  sqlite: `select name from sqlite_master where type = 'table'`,
  postgres: `select tablename as name from pg_tables where schemaname = 'public'`,
}

const introspectTable: Readonly<Record<Backend['name'], Introspect>> = {
  async sqlite(sql, table) {
    const columns = await sql.run(
      `select name, type, "notnull" = 0 as nullable, dflt_value as preset, pk from pragma_table_info('${table}') order by pk`,
    )
    const indexes: string[] = []
    for (const index of await sql.run(
      `select i.name, i."unique" as is_unique, m.sql as text from pragma_index_list('${table}') i
        left join sqlite_master m on m.name = i.name where i.origin <> 'pk'`,
    )) {
      const parts = await sql.run(
        `select name from pragma_index_info('${index.name}') order by seqno`,
      )
      // An expression has no name; all there is of it is the statement that made the index.
      const isNamed = parts.every(({ name }) => name !== null)
      const [, given = ''] = /\((.*)\)$/.exec(String(index.text)) ?? []
      indexes.push(indexForm(index, isNamed ? names(parts) : given))
    }
    const keys = await sql.run(
      `select "from" || ' -> ' || "table" || '.' || "to" as name from pragma_foreign_key_list('${table}')`,
    )
    const primaryKey = columns.filter(({ pk }) => pk !== 0)
    return {
      columns: columnForms(columns),
      primaryKey: names(primaryKey),
      indexes: indexes.sort(),
      foreignKeys: list(keys),
    }
  },
  async postgres(sql, table) {
    const columns = await sql.run(
      `select column_name as name, data_type as type, is_nullable = 'YES' as nullable, column_default as preset
        from information_schema.columns where table_schema = 'public' and table_name = '${table}'`,
    )
    const indexes = await sql.run(
      `select i.indisunique as is_unique, i.indisprimary as is_primary, (
          select string_agg(replace(pg_get_indexdef(i.indexrelid, place, true), '"', ''), ', ' order by place)
          from generate_series(1, i.indnatts) as place) as columns
        from pg_index i where i.indrelid = 'public.${table}'::regclass`,
    )
    const keys = await sql.run(
      `select a.attname || ' -> ' || c.confrelid::regclass || '.' || b.attname as name from pg_constraint c
        join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
        join pg_attribute b on b.attrelid = c.confrelid and b.attnum = any(c.confkey)
        where c.contype = 'f' and c.conrelid = 'public.${table}'::regclass`,
    )
    const others = indexes
      .filter(({ is_primary }) => !is_primary)
      .map((index) => indexForm(index, String(index.columns)))
    const primary = indexes.find(({ is_primary }) => is_primary)
    return {
      columns: columnForms(columns),
      primaryKey: String(primary?.columns),
      indexes: others.sort(),
      foreignKeys: list(keys),
    }
  },
}

function names(rows: readonly SqlRow[]): string {
  return rows.map(({ name }) => name).join(', ')
}

function list(rows: readonly SqlRow[]): string[] {
  return rows.map(({ name }) => String(name)).sort()
}

function indexForm({ is_unique }: SqlRow, columns: string): string {
  return `${is_unique ? 'unique ' : ''}(${columns})`
}

function columnForms(columns: readonly SqlRow[]): Table['columns'] {
  const forms = columns.map(({ name, type, nullable, preset }) => {
    const family = /int/i.test(String(type)) ? 'integer' : String(type).toLowerCase()
    const initial = preset === null ? '' : ` default ${String(preset).replace('::text', '')}`
    return [String(name), `${family}${nullable ? '' : ' not null'}${initial}`]
  })
  return Object.fromEntries(forms)
}

/**
 * The schema in a form that is the same for the same schema on every engine, and what the
 * migrations wrote into it.
 */
async function introspect(engine: Backend['name'], place: DataPlace) {
  await using sql = await openSql(place)
  // The tables of the migrator and of the engine are their own business.
  const tables = list(await sql.run(listTables[engine])).filter(
    (name) => !/^(kysely|sqlite)_/.test(name),
  )
  const schema: Record<string, Table> = {}
  for (const table of tables) schema[table] = await introspectTable[engine](sql, table)
  const slots = tables.includes('id_slots')
    ? await sql.run('select * from id_slots order by slot')
    : []
  return { schema, slots }
}

const backends = testBackends()
const opened: { folder: TempFolder; database: BackendDatabase }[] = []

async function emptyPlace(backend: Backend): Promise<DataPlace> {
  const folder = new TempFolder('schema')
  const database = await backend.createDatabase()
  opened.push({ folder, database })
  return { dataDir: folder.path, databaseUrl: database.url }
}

async function migrate(place: DataPlace, ...options: string[]) {
  const settings = { HERMOD_DATA_DIR: place.dataDir, HERMOD_DATABASE_URL: place.databaseUrl }
  const { code, out, err } = await callHermod(['migrate', ...options], settings)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

const states = (out: string) => JSON.parse(out).migrations as { name: string; state: string }[]

afterAll(async () => {
  for (const { folder, database } of opened) {
    folder[Symbol.dispose]()
    await database[Symbol.asyncDispose]()
  }
})

for (const backend of backends) {
  describe(`migrations on ${backend.name}`, () => {
    it('are listed with their state, which changes nothing', async () => {
      const place = await emptyPlace(backend)
      const pending = states(await migrate(place, '--status', '--json'))
      expect(pending.length).toBeGreaterThan(0)
      expect(new Set(pending.map(({ state }) => state))).toEqual(new Set(['pending']))
      expect(pending.map(({ name }) => name)).toEqual(pending.map(({ name }) => name).toSorted())
      expect((await introspect(backend.name, place)).schema).toEqual({})
      expect(await migrate(place, '--status')).toContain('pending')
      await migrate(place)
      expect(states(await migrate(place, '--status', '--json'))).toEqual(
        pending.map(({ name }) => ({ name, state: 'applied' })),
      )
      expect(await migrate(place, '--status')).toContain('up to date')
    })

    it('make every key of portable rows one of an application', async () => {
      const place = await emptyPlace(backend)
      await migrate(place)
      const { schema } = await introspect(backend.name, place)
      const keys = lineTypes.portable.flatMap(({ name }) => {
        const { primaryKey = '', indexes = [] } = schema[name] ?? {}
        return [primaryKey, ...indexes.filter((index) => index.startsWith('unique'))]
      })
      expect(keys.length).toBeGreaterThan(lineTypes.portable.length)
      expect(keys.filter((key) => !/\bapp_id\b/.test(key))).toEqual([])
    })

    it('change nothing when they run again', async () => {
      const place = await emptyPlace(backend)
      const first = states(await migrate(place, '--json'))
      expect(new Set(first.map(({ state }) => state))).toEqual(new Set(['appliedNow']))
      const before = await introspect(backend.name, place)
      expect(Object.keys(before.schema)).toContain('messages')
      // One for each of the nodes that may share a database.
      expect(before.slots).toHaveLength(63)
      expect(states(await migrate(place, '--json'))).toEqual(
        first.map(({ name }) => ({ name, state: 'applied' })),
      )
      expect(await introspect(backend.name, place)).toEqual(before)
    })

    it('are run by a server that starts, and leave nothing for the command', async () => {
      const byCommand = await emptyPlace(backend)
      await migrate(byCommand)
      const byServer = await emptyPlace(backend)
      const { databaseUrl } = byServer
      const server = await startServer({
        dataDir: byServer.dataDir,
        ...(databaseUrl === undefined ? {} : { databaseUrl }),
      })
      await server.stop()
      expect((await introspect(backend.name, byServer)).schema).toEqual(
        (await introspect(backend.name, byCommand)).schema,
      )
      expect(new Set(states(await migrate(byServer, '--json')).map(({ state }) => state))).toEqual(
        new Set(['applied']),
      )
    })
  })
}

describe.skipIf(backends.length < 2)('the schema', () => {
  const forms: Awaited<ReturnType<typeof introspect>>[] = []

  beforeAll(async () => {
    for (const backend of backends) {
      const place = await emptyPlace(backend)
      await migrate(place)
      forms.push(await introspect(backend.name, place))
    }
  })

  it('is the same on every database', () => {
    const [first, ...others] = forms
    expect(others.length).toBeGreaterThan(0)
    for (const other of others) expect(other).toEqual(first)
  })

  it('gives every table a primary key that holds no null', () => {
    for (const { schema } of forms)
      for (const [name, { columns, primaryKey }] of Object.entries(schema)) {
        expect(primaryKey, name).not.toBe('')
        for (const column of primaryKey.split(', '))
          expect(columns[column], `${name}.${column}`).toContain('not null')
      }
  })
})
