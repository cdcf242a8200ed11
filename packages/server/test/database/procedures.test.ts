/**
 * Statements that a procedure issues without waiting for one another, and the transactions around
 * statements.
 */
import { testBackends } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Queryable, Tx } from '../../dist/db/database.js'
import type { Procedure } from '../../dist/db/procedure.js'
import { DatabasePlace } from '../support/database/database-place.js'

type Mark = readonly [mark: number, note: string | null]

// The thread of the embedded database loads it too, and so it is no TypeScript.
const { href } = new URL('../support/database/marks-procedure.mjs', import.meta.url)
type WriteMarks = Procedure<readonly Mark[], readonly number[], null>
type ReadSetting = Procedure<string, unknown, null>
const { writeMarks, writeLastMarks, readSetting } = (await import(href)) as {
  readonly writeMarks: WriteMarks
  readonly writeLastMarks: WriteMarks
  readonly readSetting: ReadSetting
}
/**
 * Whether a transaction waits for the disk, where each database says so:
 * https://www.sqlite.org/pragma.html#pragma_synchronous
 */
const syncSettings = {
  sqlite: { from: 'synchronous as setting from pragma_synchronous', waits: 2 },
  postgres: {
    from: "current_setting('synchronous_commit') as setting",
    waits: 'on',
  },
} as const

describe.each(testBackends())('procedures on $name', (backend) => {
  let place: DatabasePlace

  beforeEach(async () => {
    place = await DatabasePlace.create(backend)
    const { writer, dialect } = place.database
    await sql`create table marks (mark bigint primary key, note text${sql.raw(
      dialect.name === 'postgres' ? ', check (mark >= 0)' : '',
    )})`.execute(writer)
    // As a full disk does.
    if (dialect.name === 'sqlite')
      await sql`create trigger no_negative before insert on marks when new.mark < 0
          begin select raise(rollback, 'negative'); end`.execute(writer)
  })
  afterEach(() => place[Symbol.asyncDispose]())

  const write = (...marks: readonly Mark[]) => place.database.procedure(writeMarks, marks, null)

  async function stored(): Promise<Mark[]> {
    const { rows } = await sql<{ mark: number; note: string | null }>`
        select mark, note from marks order by mark`.execute(place.database.reader)
    return rows.map(({ mark, note }) => [mark, note])
  }

  it('store what their statements write, whatever the texts are', async () => {
    const texts = ['', 'null', '{}', 'a,b', '"', '\\', '\\"{,}\n', 'é 😀', null]
    const marks = texts.map((text, index): Mark => [index, text])
    expect(await write(...marks)).toEqual(texts.map(() => 1))
    expect(await stored()).toEqual(marks)
  })

  it('reads that fail are promises that are rejected, also where they run at once', async () => {
    const { database } = place
    const broken = database.prepared((db) => db.selectFrom('nowhere' as never).selectAll())
    const begun = [
      broken.all(database.reader, {}),
      database.read((db) => broken.first(db, {})),
      database.read((): number => {
        throw new Error('at once')
      }),
    ]
    const ended = await Promise.allSettled(begun)
    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  })

  it('store nothing when one of their statements fails, not even what comes after it', async () => {
    await expect(write([1, 'before'], [-1, 'fails'], [2, 'after'])).rejects.toThrow(
      /negative|check/,
    )
    expect(await stored()).toEqual([])
    await expect(write([-1, 'fails at once'], [2, 'after'])).rejects.toThrow(/negative|check/)
    expect(await stored()).toEqual([])
    expect(await write([1, 'again'], [2, 'and again'])).toEqual([1, 1])
  })

  it('store all or nothing also when their last statements go with the commit, and leave a connection that works', async () => {
    const { database } = place
    const writeLast = (...marks: readonly Mark[]) => database.procedure(writeLastMarks, marks, null)
    for (let round = 0; round < 20; round++) {
      const mark = 10 * round
      await expect(writeLast([mark, 'a'], [mark + 1, 'b'], [-1, 'fails'])).rejects.toThrow(
        /negative|check/,
      )
      expect(await writeLast([mark, 'a'], [mark + 1, 'b'], [mark + 2, 'c'])).toEqual([1, 1, 1])
      expect(await writeLast([mark + 3, 'd'])).toEqual([1])
      const undone = database.transaction(async (tx) => {
        await sql`delete from marks`.execute(tx)
        throw new Error('undone')
      })
      await expect(undone).rejects.toThrow('undone')
      expect(await stored()).toHaveLength(4 * (round + 1))
    }
  })

  it('wait for the disk', async () => {
    const { from, waits } = syncSettings[backend.name]
    const setting = await place.database.procedure(readSetting, `(select 1 as mark, ${from})`, null)
    expect(setting).toBe(waits)
  })

  it('fail with an unknown table as often as they are tried, and work once it is there', async () => {
    await sql`alter table marks rename to others`.execute(place.database.writer)
    for (let attempt = 0; attempt < 6; attempt++)
      await expect(write([1, ''])).rejects.toThrow(/marks/)
    await sql`alter table others rename to marks`.execute(place.database.writer)
    for (let mark = 0; mark < 6; mark++) expect(await write([mark, ''])).toEqual([1])
  })

  it('leave a transaction without statements, or that fails before the first one, without effect', async () => {
    const { database } = place
    expect(await database.transaction(async () => 'nothing')).toBe('nothing')
    const failing = database.transaction(async () => {
      throw new Error('before the first statement')
    })
    await expect(failing).rejects.toThrow('before the first statement')
    expect(await write([1, ''])).toEqual([1])
  })

  it('go together in a transaction too, all or nothing', async () => {
    const { database } = place
    const insertAll = (...marks: readonly number[]) =>
      database.transaction(async (tx) => {
        await Promise.all(
          marks.map((mark) => sql`insert into marks values (${mark}, '')`.execute(tx)),
        )
      })
    await expect(insertAll(1, -1, 2)).rejects.toThrow(/negative|check/)
    expect(await stored()).toEqual([])
    const all = Array.from({ length: 50 }, (_, mark) => mark)
    await insertAll(...all)
    expect(await stored()).toEqual(all.map((mark) => [mark, '']))
  })

  it('are refused by a transaction that is over', async () => {
    const late: Tx[] = []
    await place.database.transaction(async (tx) => {
      late.push(tx)
      await sql`insert into marks values (1, '')`.execute(tx)
    })
    const [tx] = late as [Tx]
    await expect(sql`insert into marks values (2, '')`.execute(tx)).rejects.toThrow('is over')
    expect(await stored()).toEqual([[1, '']])
  })

  const insert = (db: Queryable, mark: number) =>
    sql`insert into marks values (${mark}, '')`.execute(db)

  it('are a transaction by themselves where they are asked for so, once each, and tell when they are stored', async () => {
    const { database } = place
    const told: number[] = []
    const insertOne = (...marks: readonly number[]) =>
      database.statement(async (tx) => {
        for (const mark of marks) {
          await insert(tx, mark)
          tx.afterCommit(() => told.push(mark))
        }
      })
    await insertOne(1)
    expect(await stored()).toEqual([[1, '']])
    await expect(insertOne(-1)).rejects.toThrow(/negative|check/)
    await expect(insertOne(2, 3)).rejects.toThrow('is over')
    await insertOne(4)
    await database.statement(async (tx) => tx.afterCommit(() => told.push(5)))
    expect(told).toEqual([1, 2, 4])
    expect((await stored()).map(([mark]) => mark)).toEqual([1, 2, 4])
  })

  it('do not get into the transactions of others when they are transactions by themselves', async () => {
    const { database } = place
    const rounds = Array.from({ length: 50 }, (_, index) => 10 * index)
    await Promise.all(
      rounds.flatMap((first) => [
        database
          .transaction(async (tx) => {
            await insert(tx, first)
            await insert(tx, first + 1)
            throw new Error('undone')
          })
          .catch(() => {}),
        database.statement((tx) => insert(tx, first + 2)),
        write([first + 3, '']),
        database.statement((tx) => insert(tx, -1)).catch(() => {}),
        database.transaction((tx) => insert(tx, first + 4)),
      ]),
    )
    const expected = rounds.flatMap((first) => [first + 2, first + 3, first + 4])
    expect((await stored()).map(([mark]) => mark)).toEqual(expected)
  })

  it('are not seen by a snapshot that has begun before them', async () => {
    await write([1, ''])
    const count = sql<{ count: number }>`select count(*) as count from marks where mark > ${0}`
    const counts = await place.database.snapshot(async (db) => {
      const before = await count.execute(db)
      await write([2, ''])
      const after = await count.execute(db)
      return [before, after].map(({ rows }) => Number(rows[0]?.count))
    })
    expect(counts).toEqual([1, 1])
  })
})
