/** The thread of the embedded database may end by itself, for example when memory runs out. */
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { TempFolder } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Database, type Tx } from '../../dist/db/database.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'

const unavailable = { errorName: 'storage_failed' }
const threads: Worker[] = []
const keep = (worker: Worker) => threads.push(worker)

let folder: TempFolder
let database: Database

beforeEach(async () => {
  process.on('worker', keep)
  folder = new TempFolder('thread')
  database = new Database(sqliteDialect(join(folder.path, 'test.db')))
  await sql`create table marks (mark integer not null)`.execute(database.writer)
})
afterEach(async () => {
  await database[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
  process.off('worker', keep)
})

const endThread = () => threads.at(-1)?.terminate()

const insert = (tx: Tx, mark: number) => sql`insert into marks values (${mark})`.execute(tx)

async function marks(): Promise<number[]> {
  const { rows } = await database.read((db) =>
    sql<{ mark: number }>`select mark from marks order by mark`.execute(db),
  )
  return rows.map(({ mark }) => mark)
}

describe('the thread of the embedded database', () => {
  it('is opened again for the next transaction after an unexpected end', async () => {
    await database.ping()
    await endThread()
    await database.transaction((tx) => insert(tx, 1))
    expect(await marks()).toEqual([1])
  })

  it('takes the transaction that is under way with it, of which nothing is stored', async () => {
    const torn = database.transaction(async (tx) => {
      await insert(tx, 1)
      await endThread()
      await insert(tx, 2).catch(() => {})
      await insert(tx, 3)
    })
    await expect(torn).rejects.toMatchObject(unavailable)
    await database.transaction((tx) => insert(tx, 4))
    expect(await marks()).toEqual([4])
  })

  it('is not opened again after it was closed', async () => {
    const started = threads.length
    const { runProcedure } = database.dialect
    await database[Symbol.asyncDispose]()
    await expect(
      runProcedure?.({ module: 'none', name: 'none', input: null }),
    ).rejects.toMatchObject({ errcode: 10 })
    expect(threads).toHaveLength(started)
  })
})
