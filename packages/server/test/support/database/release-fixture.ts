/**
 * Data of a release, for tests that open it with later builds. A fixture is a folder: `hermod.db.gz`
 * is the embedded database, `hermod.sql.gz` a dump of PostgreSQL, `sqlite/` and `postgres/` have the
 * files, and `sqlite.json` and `postgres.json` say what is in them.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import {
  type Backend,
  findPostgres,
  type ServerProcess,
  startServer,
  waitFor,
} from '@hermod/testkit'
import pg from 'pg'
import { personalData } from '../../../dist/db/personal-data.js'
import { fileTypes, png, sendFile } from '../files/files.js'
import { integrityCast } from '../integrity/cast.js'
import { fixtures } from '../walk/walk-fixtures.js'
import { WalkWorld } from '../walk/walk-world.js'
import { history, sendText } from '../messaging/messaging.js'
import { type DataPlace, openSql } from './sql.js'

/** The contents of a fixture on one database. */
export interface Fixture {
  /** The version that made it. */
  readonly version: string
  readonly secretKey: string
  readonly appId: string
  readonly adminToken: string
  readonly operatorToken: string
  /** Two users with tokens, and their conversation. */
  readonly users: readonly { readonly id: number; readonly token: string }[]
  readonly texts: readonly string[]
  /** The number of rows of each table. */
  readonly rows: Readonly<Record<string, number>>
}

const secretKey = 'the-secret-key-of-fixtures-of-releases'
const texts = ['first', 'second \u{1F600}', 'third']
/** Tables without a row while no import is unfinished; such a database is refused. */
export const emptyTables = ['data_imports']
const jsonOf = (folder: string, { name }: Backend) => join(folder, `${name}.json`)

/** Makes the fixture of this build on one database. */
export async function makeFixture(
  folder: string,
  backend: Backend,
  place: DataPlace,
  version: string,
): Promise<Fixture> {
  mkdirSync(folder, { recursive: true })
  const server = await start(place, {
    HERMOD_SECRET_KEY: secretKey,
    // Later builds use the tokens for years.
    HERMOD_USER_TOKEN_DAYS: '3650',
    // An endpoint of webhooks, which is disabled.
    HERMOD_OUTBOUND_ALLOW: '127.0.0.1,::1',
  })
  const users = await fill(server)
  const { appId, adminToken, operatorToken } = server
  await waitFor(async () => ((await countRows(place)).file_references ?? 0) > 0, {
    what: 'the noted reference of the picture',
    timeoutMs: 10_000,
    everyMs: 100,
  })
  await server.stop()
  const stream = (column: string) =>
    `(select ${column} from message_streams order by app_id, low_id, high_id, msg_id limit 1)`
  await fillEmptyTables(place, {
    app_id: `'${appId}'`,
    user_id: String(users[0]?.id),
    endpoint_id: '(select min(endpoint_id) from webhook_endpoints)',
    'stream_chunks.low_id': stream('low_id'),
    'stream_chunks.high_id': stream('high_id'),
    'stream_chunks.msg_id': stream('msg_id'),
  })
  const fixture = {
    ...{ version, secretKey, appId, adminToken, operatorToken, users, texts },
    rows: await countRows(place),
  }
  writeFileSync(jsonOf(folder, backend), `${JSON.stringify(fixture, null, 2)}\n`)
  cpSync(join(place.dataDir, 'files'), join(folder, backend.name), { recursive: true })
  const { databaseUrl: url } = place
  if (url === undefined)
    writeFileSync(
      join(folder, 'hermod.db.gz'),
      gzipSync(readFileSync(join(place.dataDir, 'hermod.db'))),
    )
  else writeFileSync(join(folder, 'hermod.sql.gz'), gzipSync(dump(url)))
  return fixture
}

/** Puts the data of a fixture into an empty place. */
export async function restoreFixture(
  folder: string,
  backend: Backend,
  { dataDir, databaseUrl }: DataPlace,
): Promise<Fixture> {
  cpSync(join(folder, backend.name), join(dataDir, 'files'), { recursive: true })
  if (databaseUrl === undefined) {
    const bytes = gunzipSync(readFileSync(join(folder, 'hermod.db.gz')))
    writeFileSync(join(dataDir, 'hermod.db'), bytes)
  } else await load(databaseUrl, gunzipSync(readFileSync(join(folder, 'hermod.sql.gz'))).toString())
  return JSON.parse(readFileSync(jsonOf(folder, backend), 'utf8')) as Fixture
}

/** Starts this build on the data of a fixture. */
export function startOnFixture(place: DataPlace, fixture: Fixture): Promise<ServerProcess> {
  const { appId, adminToken, operatorToken } = fixture
  return start(
    place,
    { HERMOD_SECRET_KEY: fixture.secretKey },
    { appId, adminToken, operatorToken },
  )
}

/** The rows of each table that the schema of this build has. */
export async function countRows(place: DataPlace): Promise<Fixture['rows']> {
  await using sql = await openSql(place)
  const counts: [string, number][] = []
  for (const name of Object.keys(personalData)) {
    const [row] = await sql.run(`select count(*) as count from ${name}`)
    counts.push([name, Number(row?.count)])
  }
  return Object.fromEntries(counts)
}

function start(
  { dataDir, databaseUrl }: DataPlace,
  env: Readonly<Record<string, string>>,
  tokens: Partial<Pick<Fixture, 'appId' | 'adminToken' | 'operatorToken'>> = {},
): Promise<ServerProcess> {
  return startServer({
    ...{ dataDir, env, ...tokens },
    ...(databaseUrl !== undefined && { databaseUrl }),
  })
}

/** A small world in which `hermod check` finds no fault. @returns two users who write each other */
async function fill(server: ServerProcess): Promise<Fixture['users']> {
  await integrityCast(server)
  await walk(server)
  // Tokens of the service itself: those that tests issue end after a week.
  const [first, second] = [await server.api.newLogin(), await server.api.newLogin()]
  for (const text of texts) await sendText(first.api, second.id, text)
  const ticket = { to_id: second.id, to_type: 1, file_type: fileTypes.picture }
  const url = await sendFile(first.api, ticket, png)
  await sendText(second.api, first.id, 'a picture', { attachment: JSON.stringify({ url }) })
  return [first, second].map(({ id, token }) => ({ id, token }))
}

/** Calls every operation that takes a token once, in any way that it accepts. */
async function walk(server: ServerProcess): Promise<void> {
  const world = await WalkWorld.create(server)
  const [subject, friend] = [await world.newPerson(), await world.newPerson()]
  for (const { operation, params, needsVictim } of fixtures) {
    const at = needsVictim ? await world.newPerson() : subject
    const given = await params({ world, subject: at, friend })
    const callers = [{ token: at.token }, world.adminFor(at), world.operator]
    for (const caller of callers)
      if (!(await world.call(operation, caller, given)).text.includes('"data":null,"message":"'))
        break
  }
}

/**
 * Inserts a row into each table that is still empty, as those of nodes and logins after a stop.
 * @param known values of columns, as SQL; by the name of the column, or of table and column
 */
async function fillEmptyTables(place: DataPlace, known: Readonly<Record<string, string>>) {
  const rows = await countRows(place)
  await using sql = await openSql(place)
  const empty = Object.keys(rows).filter((name) => rows[name] === 0)
  for (const name of empty.filter((each) => !emptyTables.includes(each))) {
    const columns = await sql.run(
      place.databaseUrl === undefined
        ? `select name, type from pragma_table_info('${name}')`
        : `select column_name::text as name, data_type::text as type from information_schema.columns where table_schema = current_schema() and table_name = '${name}'`,
    )
    const values = columns.map(
      (column) =>
        known[`${name}.${column.name}`] ??
        known[String(column.name)] ??
        (column.type === 'text' ? `'x'` : '1'),
    )
    const names = columns.map((column) => column.name).join(', ')
    await sql.run(`insert into ${name} (${names}) values (${values.join(', ')})`)
  }
  // The fixture has the file without its log.
  if (place.databaseUrl === undefined) await sql.run('pragma wal_checkpoint(truncate)')
}

/** Returns the texts that a user has got from another one. */
export async function textsOf(
  server: ServerProcess,
  { users: [first, second] }: Fixture,
): Promise<string[]> {
  const api = server.api.as(first?.token ?? '')
  return (await history(api, second?.id ?? 0)).map(({ content }) => String(content))
}

function dump(url: string): string {
  const { binDir = '' } = findPostgres() ?? {}
  const args = ['--no-owner', '--no-acl', '--inserts', url]
  return execFileSync(join(binDir, 'pg_dump'), args, {
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  })
}

/** Runs a dump without the commands of psql and the settings that older servers do not know. */
async function load(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(text.replaceAll(/^(?:\\|SET transaction_timeout).*$/gm, ''))
  } finally {
    await client.end()
  }
}

/** The folder of the fixtures of all releases. */
export const releasesFolder = join(import.meta.dirname, '../../fixtures/releases')
