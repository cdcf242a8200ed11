/** HERMOD_CHECK_ANSWERS finds transactions with statements that nobody waits for. */
import { testBackends } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Database, Tx } from '../../dist/db/database.js'
import type { BulkInsert } from '../../dist/db/dialect/dialect.js'
import type { Procedure } from '../../dist/db/procedure.js'
import { DatabasePlace } from '../support/database/database-place.js'

const insertShare: BulkInsert = {
  table: 'node_shares',
  columns: { kind: 'text', name: 'text', lease: 'bigint' },
  conflict: 'on conflict (kind, name) do nothing',
}
const forgetful: Procedure<null, void, null> = {
  module: import.meta.url,
  name: 'forgetful',
  async run(context) {
    void context.run(insertShare, [['kind', 'a', 1]])
    return { last: [], output() {} }
  },
}
const values = { kind: 'kind', name: 'a', lease: 1 }

describe.each(testBackends())(
  'the check of statements that are not waited for on $name',
  (backend) => {
    let place: DatabasePlace
    let database: Database

    beforeAll(async () => {
      place = await DatabasePlace.create(backend, { checksEnds: true })
      database = place.database
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    const shares = () =>
      database.read((db) => db.selectFrom('node_shares').select('name').execute())
    const insert = (tx: Tx) => tx.insertInto('node_shares').values(values).execute()

    it.each<[string, (tx: Tx) => void]>([
      ['is built', (tx) => void insert(tx)],
      ['is of many rows', (tx) => void database.bulk(tx, insertShare, [['kind', 'a', 1]])],
      [
        'is run before the commit',
        (tx) =>
          tx.beforeCommit(async () => {
            void insert(tx)
            return []
          }),
      ],
    ])('refuses the transaction when the statement %s', async (_, write) => {
      const transaction = database.transaction(async (tx) => write(tx))
      await expect(transaction).rejects.toThrow(/^a statement was not awaited: insert into /)
      expect(await shares(), 'nothing is stored').toEqual([])
    })

    // The thread of the embedded database has run a statement of a procedure when it goes on.
    if (backend.name === 'postgres')
      it('refuses a procedure with a statement that nobody waits for', async () => {
        await expect(database.procedure(forgetful, null, null)).rejects.toThrow(
          /^a statement was not awaited: insert into /,
        )
        expect(await shares(), 'nothing is stored').toEqual([])
      })

    it('accepts statements that run together and are waited for', async () => {
      await database.transaction(async (tx) => {
        await Promise.all([
          insert(tx),
          database.bulk(tx, insertShare, [['kind', 'c', 1]]),
          tx.selectFrom('node_shares').select('name').execute(),
        ])
      })
      expect((await shares()).map(({ name }) => name).sort()).toEqual(['a', 'c'])
    })
  },
)
