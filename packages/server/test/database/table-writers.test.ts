/** HERMOD_CHECK_ANSWERS finds modules that write a table which another module writes. */
import { existsSync } from 'node:fs'
import { testBackends } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TableWriterCheck, tableWriters } from '../../dist/db/checks/table-writers.js'
import type { Database, Tx } from '../../dist/db/database.js'
import type { BulkInsert, BulkUpdate } from '../../dist/db/dialect/dialect.js'
import type { Procedure } from '../../dist/db/procedure.js'
import { DatabasePlace } from '../support/database/database-place.js'

const here = 'table-writers.test'
const row = { name: 'a', owner: 'b', expires_at: 1 }
const leaseColumns = { name: 'text', owner: 'text', expires_at: 'bigint' } as const
const insertLease: BulkInsert = {
  module: import.meta.url,
  table: 'leases',
  columns: leaseColumns,
  conflict: 'on conflict (name) do nothing',
}
const updateLease: BulkUpdate = {
  module: import.meta.url,
  table: 'leases',
  set: { owner: 'text' },
  keys: { name: 'text' },
}
/** Lives in a file of its own, because the thread of the embedded database loads it too. */
const procedureModule = new URL('../support/database/foreign-writer.mjs', import.meta.url).href
type LeaseProcedure = Procedure<readonly unknown[], number, null>

describe('the stores of tables', () => {
  it('exist', () => {
    const isMissing = (path: string) =>
      ['.js', '-store.js'].every(
        (end) => !existsSync(new URL(`../../dist/${path}${end}`, import.meta.url)),
      )
    expect(Object.values(tableWriters).filter(isMissing)).toEqual([])
  })
})

for (const backend of testBackends()) {
  describe(`the check of the writers of tables on ${backend.name}`, () => {
    let place: DatabasePlace
    let database: Database

    beforeAll(async () => {
      // In this folder this file is a module like any other.
      const writerCheck = new TableWriterCheck({
        root: new URL('./', import.meta.url),
        writers: { ...tableWriters, key_checks: here },
      })
      place = await DatabasePlace.create(backend, { writerCheck })
      database = place.database
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    const leases = () => database.read((db) => db.selectFrom('leases').selectAll().execute())
    const expectRefusal = async (write: Promise<unknown>) => {
      await expect(write).rejects.toThrow(/ writes leases, which only jobs\/lease may$/)
      expect(await leases(), 'nothing is stored').toEqual([])
    }

    it.each<[string, (tx: Tx) => Promise<unknown>]>([
      ['is built', (tx) => tx.insertInto('leases').values(row).execute()],
      ['changes nothing', (tx) => tx.updateTable('leases').set(row).executeTakeFirst()],
      ['is written by hand', (tx) => sql`delete from leases where owner = ${'b'}`.execute(tx)],
      [
        'is part of another one',
        (tx) =>
          tx
            .with('gone', (db) => db.deleteFrom('leases').returning('name'))
            .selectFrom('gone')
            .selectAll()
            .execute(),
      ],
      ['inserts many rows', (tx) => database.bulk(tx, insertLease, [['a', 'b', 1]])],
      ['updates many rows', (tx) => database.bulk(tx, updateLease, [['a', 'b']])],
    ])('refuses a statement that %s', async (_, write) => {
      await expectRefusal(database.transaction(write))
    })

    it('refuses a statement outside of a transaction', async () => {
      await expectRefusal(database.writer.insertInto('leases').values(row).execute())
    })

    it('refuses the procedure of another module', async () => {
      const { writeLease } = (await import(procedureModule)) as { writeLease: LeaseProcedure }
      await expectRefusal(database.procedure(writeLease, ['a', 'b', 1], null))
    })

    it('accepts what the store of the table writes, and what only reads', async () => {
      await database.transaction(async (tx) => {
        await tx.selectFrom('leases').selectAll().execute()
        await tx.insertInto('key_checks').values({ check_id: 1, sealed: 's' }).execute()
        await tx.deleteFrom('key_checks').execute()
      })
      expect(await leases()).toEqual([])
    })
  })
}
