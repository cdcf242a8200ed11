import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { CompiledQuery, Kysely, sql } from '../kysely.js'
import type { BulkInsert } from './dialect.js'
import { postgresDialect } from './postgres.js'

// Nothing is connected before the first statement.
const dialect = postgresDialect({
  url: 'postgres://127.0.0.1:1/none',
  poolSize: 1,
  onError: () => {},
})

const insert: BulkInsert = {
  table: 'marks',
  columns: { app_id: 'text', user_id: 'bigint', flag: 'smallint' },
  conflict: 'on conflict (app_id, user_id) do nothing',
  returning: 'user_id, flag',
}

/** Line breaks and repeated blanks mean nothing in SQL. */
const words = (sql: string) => sql.trim().split(/\s+/).join(' ')

function failure(properties: { code?: string; message?: string }): Error {
  return Object.assign(new Error(properties.message ?? 'failed'), properties)
}

describe('bulk statements of PostgreSQL', () => {
  it('insert any number of rows by one array a column', () => {
    const { sql, parameters } = dialect.bulk(insert)
    expect(words(sql)).toBe(
      'insert into marks as t (app_id, user_id, flag) select * from (select unnest($1::text[]) as app_id, unnest($2::bigint[]) as user_id, unnest($3::smallint[]) as flag) as v (app_id, user_id, flag) on conflict (app_id, user_id) do nothing returning user_id, flag',
    )
    const rows = [
      ['a', 1, 0],
      ['b', 2, 1],
    ]
    expect(parameters(rows)).toEqual(['{"a","b"}', '{1,2}', '{0,1}'])
    expect(parameters([['a', null, 2n ** 63n - 1n]])).toEqual([
      '{"a"}',
      '{null}',
      '{9223372036854775807}',
    ])
    expect(parameters([])).toEqual(['{}', '{}', '{}'])
  })

  it('leave out what is not asked for', () => {
    const { table, columns } = insert
    expect(words(dialect.bulk({ table, columns }).sql)).toBe(
      'insert into marks as t (app_id, user_id, flag) select * from (select unnest($1::text[]) as app_id, unnest($2::bigint[]) as user_id, unnest($3::smallint[]) as flag) as v (app_id, user_id, flag)',
    )
  })

  it('insert only the rows with a property, and lock what decides about them', () => {
    const { table, columns } = insert
    const where: BulkInsert['where'] = (lock) =>
      `exists (select 1 from users u where u.id = v.user_id ${lock('for key share')})`
    expect(words(dialect.bulk({ table, columns, where }).sql)).toContain(
      'as v (app_id, user_id, flag) where exists (select 1 from users u where u.id = v.user_id for key share)',
    )
  })

  it('select by a list of keys', () => {
    const { sql, parameters } = dialect.bulk({
      table: 'marks',
      keys: { app_id: 'text', user_id: 'bigint' },
      columns: 'user_id, seq',
    })
    expect(words(sql)).toBe(
      'select user_id, seq from (select unnest($1::text[]) as key_app_id, unnest($2::bigint[]) as key_user_id) as v join marks as t on t.app_id = v.key_app_id and t.user_id = v.key_user_id',
    )
    expect(parameters([['a', 1]])).toEqual(['{"a"}', '{1}'])
  })

  it('update by a list of new values and keys, also where a key is set', () => {
    const { sql, parameters } = dialect.bulk({
      table: 'marks',
      set: { seq: 'bigint', user_id: 'bigint' },
      keys: { app_id: 'text', user_id: 'bigint' },
    })
    expect(words(sql)).toBe(
      'update marks as t set seq = v.new_seq, user_id = v.new_user_id from (select unnest($1::bigint[]) as new_seq, unnest($2::bigint[]) as new_user_id, unnest($3::text[]) as key_app_id, unnest($4::bigint[]) as key_user_id) as v where t.app_id = v.key_app_id and t.user_id = v.key_user_id',
    )
    const rows = [
      [7, 10, 'a', 1],
      [8, 20, 'b', 2],
    ]
    expect(parameters(rows)).toEqual(['{7,8}', '{10,20}', '{"a","b"}', '{1,2}'])
  })
})

describe('errors of PostgreSQL', () => {
  it.each(['40001', '40P01'])('%s asks for the transaction to be repeated', (code) => {
    expect(dialect.isRetryable(failure({ code }), 10_000)).toBe(true)
    expect(dialect.isUnavailable(failure({ code }))).toBe(false)
  })

  it('lock_not_available asks for the same for three seconds, and means then that the database is not available', () => {
    const error = failure({ code: '55P03' })
    expect([0, 2_999, 3_000].map((afterMs) => dialect.isRetryable(error, afterMs))).toEqual([
      true,
      true,
      false,
    ])
    expect(dialect.isUnavailable(error)).toBe(true)
  })

  it.each([
    ['connection_failure', '08006'],
    ['disk_full', '53100'],
    ['too_many_connections', '53300'],
    ['query_canceled', '57014'],
    ['admin_shutdown', '57P01'],
    ['crash_shutdown', '57P02'],
    ['cannot_connect_now', '57P03'],
    ['io_error', '58030'],
    ['data_corrupted', 'XX001'],
    ['read_only_sql_transaction', '25006'],
    ['idle_in_transaction_session_timeout', '25P03'],
    ['transaction_timeout', '25P04'],
  ])('%s means that the database is not available', (_, code) => {
    expect(dialect.isUnavailable(failure({ code }))).toBe(true)
    expect(dialect.isRetryable(failure({ code }), 0)).toBe(false)
  })

  it.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENOENT',
    'ENOTFOUND',
    'EAI_AGAIN',
  ])('a network that answers %s does so too', (code) => {
    expect(dialect.isUnavailable(failure({ code }))).toBe(true)
  })

  it.each([
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Connection terminated',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
  ])('and so does a driver that says "%s"', (message) => {
    expect(dialect.isUnavailable(failure({ message }))).toBe(true)
  })

  it.each([
    ['unique_violation', '23505'],
    ['syntax_error', '42601'],
    ['undefined_table', '42P01'],
    ['numeric_value_out_of_range', '22003'],
    ['in_failed_sql_transaction', '25P02'],
  ])('%s is an error of the statement', (_, code) => {
    expect(dialect.isUnavailable(failure({ code }))).toBe(false)
    expect(dialect.isRetryable(failure({ code }), 0)).toBe(false)
  })

  it.each([new Error('something else'), 'text', null, undefined])(
    'what is none of PostgreSQL says nothing about it: %s',
    (error) => {
      expect(dialect.isUnavailable(error)).toBe(false)
      expect(dialect.isRetryable(error, 0)).toBe(false)
    },
  )
})

/** The answers to what clients send, one for each time they send something. */
async function scriptedServer(answers: readonly Buffer[]): Promise<Server> {
  const server = createServer((socket) => {
    const left = [...answers]
    socket.on('data', () => socket.write(left.shift() ?? ''))
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

// https://www.postgresql.org/docs/15/protocol-message-formats.html
const message = (type: string, body: string) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + body.length)
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body, 'latin1')])
}
const ready = message('Z', 'I')
const welcome = Buffer.concat([message('R', '\0\0\0\0'), ready])
const begun = Buffer.concat([message('C', 'BEGIN\0'), ready])
const gibberish = message('!', '')
const short = (value: number) => String.fromCharCode(value >> 8, value & 0xff)
const long = (value: number) => short(value >> 16) + short(value & 0xffff)
const textOid = 25
/** An answer of texts; the last row may have more of them than there are columns. */
const answer = (columns: readonly string[], row: readonly string[]) =>
  Buffer.concat([
    message(
      'T',
      short(columns.length) +
        columns
          .map(
            (name) =>
              `${name}\0${long(0)}${short(0)}${long(textOid)}${short(0)}${long(0)}${short(0)}`,
          )
          .join(''),
    ),
    message('D', short(row.length) + row.map((text) => long(text.length) + text).join('')),
    message('C', 'SELECT 1\0'),
    ready,
  ])
const checked = answer(['backend', 'lockTimeout'], ['1', '2s'])

describe('a connection to PostgreSQL', () => {
  let server: Server | undefined

  afterEach(() => {
    server?.close()
  })

  /** The database behind a server whose first answers are those to a new connection. */
  async function dialectWith(...answers: readonly Buffer[]) {
    server = await scriptedServer([welcome, checked, checked, ...answers])
    const { port } = server.address() as AddressInfo
    return postgresDialect({
      url: `postgres://user@127.0.0.1:${port}/none`,
      poolSize: 1,
      onError: () => {},
    })
  }

  it('that fails under a statement means that the database is not available, whatever the driver says', async () => {
    const own = await dialectWith(begun, gibberish)
    const db = new Kysely<never>({ dialect: own.writes })
    const failure = await db
      .transaction()
      .execute((tx) => sql`select 1`.execute(tx))
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ message: expect.stringContaining('invalid response') })
    expect(own.isUnavailable(failure)).toBe(true)
    await db.destroy()
  })

  it('that answers with other columns than it described fails, and the process continues', async () => {
    const own = await dialectWith(answer(['a'], ['1', '2']))
    const failure = await Promise.resolve(own.readNow('select $1', ['1'])).catch(
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(Error)
    expect(own.isUnavailable(failure)).toBe(true)
    await own.close?.()
  })

  it('that PostgreSQL ends is given to no other caller', async () => {
    const own = await dialectWith(message('E', 'SFATAL\0C57P01\0Mends\0\0'), answer(['a'], ['1']))
    const read = async () => own.readNow('select $1', ['1'])
    let connections = 0
    server?.on('connection', () => connections++)
    await expect(read()).rejects.toThrow('ends')
    await expect(read()).rejects.toThrow('ends')
    expect(connections).toBe(2)
    await own.close?.()
  })

  it('gets one query at a time; statements that are issued meanwhile follow together', async () => {
    const done = message('C', 'SELECT 0\0')
    const [first, others] = [
      [done, ready],
      [done, done, done, ready],
    ]
    const own = await dialectWith(Buffer.concat(first), Buffer.concat(others))
    const driver = own.writes.createDriver()
    const connection = await driver.acquireConnection()
    const warnings: string[] = []
    const warned = ({ message }: Error) => void warnings.push(message)
    process.on('warning', warned)
    const statements: Promise<unknown>[] = []
    for (let number = 0; number < 4; number++) {
      statements.push(connection.executeQuery(CompiledQuery.raw('select $1', [number])))
      // The statement has been sent by then, and no answer has come.
      for (let tick = 0; tick < 5; tick++) await new Promise(process.nextTick)
    }
    await Promise.all(statements)
    await driver.releaseConnection(connection)
    await new Promise(setImmediate)
    process.off('warning', warned)
    expect(warnings).toEqual([])
    await own.close?.()
  })
})
