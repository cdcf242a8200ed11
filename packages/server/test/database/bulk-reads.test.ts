/** Bulk reads outside of transactions, which callers at the same time share on PostgreSQL. */
import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database } from '../../dist/db/database.js'
import type { BulkInsert, BulkSelect } from '../../dist/db/dialect/dialect.js'
import { DatabasePlace } from '../support/database/database-place.js'

const shares = { kind: 'text', name: 'text', lease: 'bigint' } as const
const insertShares: BulkInsert = { table: 'node_shares', columns: shares }
const findShares: BulkSelect = {
  table: 'node_shares',
  keys: { kind: 'text', name: 'text' },
  columns: 't.name, t.lease',
}
/** Names that mean something in the literal of an array, or in one of arrays. */
const names = [
  'plain',
  'a"b',
  'a\\',
  '\\"',
  '{1,2}',
  '}',
  ',',
  'null',
  'NULL',
  '',
  ' ',
  '$1',
  "'",
  'é😀',
  '\n\t',
]

describe.each(testBackends())('bulk reads on $name', (backend) => {
  let place: DatabasePlace
  let database: Database

  beforeAll(async () => {
    place = await DatabasePlace.create(backend)
    database = place.database
    const rows = names.map((name, index) => ['kind', name, 2 ** 52 + index])
    await database.transaction((tx) => database.bulk(tx, insertShares, rows))
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  const find = async (wanted: readonly string[]) => {
    const rows = await database.read((db) =>
      database.bulk<{ readonly name: string; readonly lease: number }>(
        db,
        findShares,
        wanted.map((name) => ['kind', name]),
      ),
    )
    return rows.map(({ name, lease }) => [name, lease])
  }
  const expected = (wanted: readonly string[]) =>
    wanted.flatMap((name) => (names.includes(name) ? [[name, 2 ** 52 + names.indexOf(name)]] : []))

  it('at the same time answer each caller with its own rows', async () => {
    const calls = Array.from({ length: 100 }, (_, call) => [
      ...names.slice(call % names.length, (call % names.length) + (call % 7)),
      `absent ${call}`,
    ])
    const answers = await Promise.all([find([]), ...calls.map(find)])
    expect(answers.map((rows) => rows.toSorted())).toEqual(
      [[], ...calls.map(expected)].map((rows) => rows.toSorted()),
    )
  })
})
