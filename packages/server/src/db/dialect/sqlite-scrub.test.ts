import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import { scrubPages } from './sqlite-scrub.js'

/** Rows of any length in any order, some of which are changed and deleted. */
function change(database: InstanceType<typeof DatabaseSync>): void {
  const put = database.prepare('insert or replace into texts values (?, ?, ?)')
  const text = (number: number, word: string) => `${word} `.repeat(1 + ((number * 7_919) % 180))
  for (let step = 0; step < 4_000; step++) {
    const number = (step * 6_151) % 1_500
    const word = number % 3 === 0 ? 'gone' : 'kept'
    put.run(`app${number % 7}`, number, text(step, word))
  }
  for (let number = 0; number < 1_500; number += 3)
    database.prepare('delete from texts where number = ?').run(number)
}

it('unused bytes are overwritten, and what the database holds stays as it is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-scrub-'))
  const path = join(folder, 'test.db')
  const database = new DatabaseSync(path)
  const descriptor = openSync(path, 'r+')
  try {
    for (const pragma of ['journal_mode = wal', 'wal_autocheckpoint = 0', 'secure_delete = on'])
      database.exec(`pragma ${pragma}`)
    database.exec(`create table texts (app text, number integer, text text, primary key (app, number))
      without rowid; create index texts_number on texts (number, text)`)
    change(database)
    database.exec('pragma wal_checkpoint(truncate)')
    const rows = () => database.prepare('select * from texts order by app, number').all()
    const before = rows()
    expect(readFileSync(path).includes('gone')).toBe(true)
    for (let from: ReturnType<typeof scrubPages> = 1; typeof from === 'number'; )
      from = scrubPages(descriptor, from)
    expect(readFileSync(path).includes('gone')).toBe(false)
    database.exec('pragma shrink_memory')
    expect(rows()).toEqual(before)
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    change(database)
    expect(database.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(rows()).toEqual(before)
  } finally {
    database.close()
    closeSync(descriptor)
    rmSync(folder, { recursive: true })
  }
})

it('a file of more than 137 GB is left as it is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-scrub-'))
  const descriptor = openSync(join(folder, 'large.db'), 'w+')
  try {
    const head = Buffer.alloc(4_096)
    head.writeUInt16BE(head.length, 16)
    writeSync(descriptor, head)
    ftruncateSync(descriptor, head.length * 2 ** 25)
    expect(scrubPages(descriptor, 1)).toBe(513)
    ftruncateSync(descriptor, head.length * (2 ** 25 + 1))
    expect(scrubPages(descriptor, 1)).toBe('too_large')
  } finally {
    closeSync(descriptor)
    rmSync(folder, { recursive: true })
  }
})
