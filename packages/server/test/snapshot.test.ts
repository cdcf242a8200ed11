/** A long read sees one state of the data, whatever is written meanwhile. */
import { stopSharedCluster, testBackends } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { DatabasePlace } from './support/database-place.js'

afterAll(stopSharedCluster)

describe.each(testBackends())('a snapshot on $name', (backend) => {
  it('does not see what is committed after it has begun', async () => {
    await using place = await DatabasePlace.create(backend)
    const { database } = place
    await sql`create table marks (mark integer primary key not null)`.execute(database.writer)
    const write = (mark: number) =>
      database.transaction(async (tx) => {
        await sql`insert into marks (mark) values (${mark})`.execute(tx)
      })
    await write(1)
    const count = sql<{ count: number }>`select count(*) as count from marks where mark > ${0}`
    const counts = await database.snapshot(async (db) => {
      const before = await count.execute(db)
      await write(2)
      const after = await count.execute(db)
      return [before, after].map(({ rows }) => Number(rows[0]?.count))
    })
    expect(counts).toEqual([1, 1])
  })
})
