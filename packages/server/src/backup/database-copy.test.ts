import { closeSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyDatabase, recoverCopy } from './database-copy.js'

let folder: string
let path: string
let database: InstanceType<typeof DatabaseSync>
let descriptor: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-copy-'))
  path = join(folder, 'hermod.db')
  database = new DatabaseSync(path)
  for (const pragma of ['journal_mode = wal', 'wal_autocheckpoint = 0'])
    database.exec(`pragma ${pragma}`)
  database.exec('create table texts (number integer primary key, text text)')
  descriptor = openSync(path, 'r')
})
afterEach(() => {
  database.close()
  closeSync(descriptor)
  rmSync(folder, { recursive: true })
})

function write(from: number, to: number): void {
  database.exec('begin')
  const insert = database.prepare('insert into texts values (?, ?)')
  for (let number = from; number < to; number++) insert.run(number, 'x'.repeat(1_000))
  database.exec('commit')
}

/** Copies the database and reads the copy. @returns the number of rows */
function copiedRows(): number {
  copyDatabase({ path, descriptor }, `${path}.copy`, () => {})
  recoverCopy(`${path}.copy`)
  expect(readdirSync(folder).filter((name) => name.startsWith('hermod.db.copy'))).toEqual([
    'hermod.db.copy',
  ])
  const copy = new DatabaseSync(`${path}.copy`, { readOnly: true })
  try {
    expect(copy.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    return Number(
      (copy.prepare('select count(*) as rows from texts').get() as { rows: number }).rows,
    )
  } finally {
    copy.close()
  }
}

describe('the copy of a database beside its writer', () => {
  it('has what the log has, after checkpoints and restarts of the log too', () => {
    write(0, 100)
    expect(copiedRows()).toBe(100)
    database.exec('pragma wal_checkpoint(passive)')
    expect(copiedRows()).toBe(100)
    // The log begins again, and has frames of the earlier one behind those of this one.
    write(100, 110)
    expect(copiedRows()).toBe(110)
    database.exec('pragma wal_checkpoint(truncate)')
    expect(copiedRows()).toBe(110)
  })

  it('has nothing of a transaction that is not committed', () => {
    write(0, 10)
    database.exec('pragma cache_size = 5')
    database.exec('begin')
    const insert = database.prepare('insert into texts values (?, ?)')
    for (let number = 10; number < 500; number++) insert.run(number, 'x'.repeat(1_000))
    // Pages of it are in the log already.
    expect(copiedRows()).toBe(10)
    database.exec('rollback')
    write(10, 20)
    expect(copiedRows()).toBe(20)
  })
})
