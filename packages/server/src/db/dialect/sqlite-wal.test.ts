import { closeSync, copyFileSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyAgain } from './sqlite-wal.js'

let folder: string
let path: string
let database: InstanceType<typeof DatabaseSync>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-wal-'))
  path = join(folder, 'test.db')
  database = new DatabaseSync(path)
  for (const pragma of ['journal_mode = wal', 'wal_autocheckpoint = 0', 'cache_size = 0'])
    database.exec(`pragma ${pragma}`)
  database.exec('create table texts (number integer primary key, text text)')
})

afterEach(() => {
  database.close()
  rmSync(folder, { recursive: true })
})

function write(version: string): void {
  const statement = database.prepare('insert or replace into texts values (?, ?)')
  for (let number = 0; number < 200; number++) statement.run(number, version.repeat(1000))
}

function checkpoint(): { readonly log: number; readonly checkpointed: number } {
  return database.prepare('pragma wal_checkpoint(passive)').get() as never
}

/** As if the system had lost all pages that it had not written out. */
function losePages(descriptor: number): void {
  writeSync(descriptor, Buffer.alloc(4096 * 20), 0, 4096 * 20, 4096)
}

function copy(work: (descriptor: number) => void): void {
  const descriptor = openSync(path, 'r+')
  work(descriptor)
  // Only here: it takes away the locks of this process, and nobody else uses the file.
  closeSync(descriptor)
}

test('pages that were lost after a checkpoint are in the file again, in their last version', () => {
  write('a')
  write('b')
  const { log, checkpointed } = checkpoint()
  expect(checkpointed).toBe(log)
  copy((descriptor) => {
    losePages(descriptor)
    copyAgain(database, `${path}-wal`, descriptor)
  })
  database.close()
  database = new DatabaseSync(path)
  expect(database.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  const texts = database.prepare('select distinct text from texts').all()
  expect(texts).toEqual([{ text: 'b'.repeat(1000) }])
})

test('what no checkpoint has copied yet stays in the log alone', () => {
  write('a')
  checkpoint()
  // The log begins again with this.
  write('b')
  copy((descriptor) => copyAgain(database, `${path}-wal`, descriptor))
  const withoutLog = join(folder, 'copy.db')
  copyFileSync(path, withoutLog)
  const reader = new DatabaseSync(withoutLog)
  expect(reader.prepare('select distinct text from texts').all()).toEqual([
    { text: 'a'.repeat(1000) },
  ])
  reader.close()
  expect(database.prepare('select distinct text from texts').all()).toEqual([
    { text: 'b'.repeat(1000) },
  ])
})
