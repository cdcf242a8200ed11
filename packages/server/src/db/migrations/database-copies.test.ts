import {
  readdirSync,
  readFileSync,
  statfsSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { memoryDisk, TempFolder } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyDatabase, removeCopiesBefore, removeOtherCopies } from './database-copies.js'

let folder: TempFolder
let path: string

beforeEach(() => {
  // A disk that shares no blocks between files.
  folder = new TempFolder('copies', memoryDisk())
  path = join(folder.path, 'hermod.db')
  writeFileSync(path, 'first')
})
afterEach(() => folder[Symbol.dispose]())

const names = () => readdirSync(folder.path).sort()

describe('the copy of a database', () => {
  it('is beside it, under the name of the version that changes the schema', async () => {
    const copy = await copyDatabase(path, '0.2.0')
    expect(copy).toBe(`${path}.before-0.2.0`)
    expect(readFileSync(copy, 'utf8')).toBe('first')
  })

  it('takes the place of one of the same upgrade, and of the remains of a killed one', async () => {
    await copyDatabase(path, '0.2.0')
    writeFileSync(`${path}.before-0.2.0.unfinished`, 'fir')
    writeFileSync(path, 'second')
    const copy = await copyDatabase(path, '0.2.0')
    expect(readFileSync(copy, 'utf8')).toBe('second')
    expect(names()).toEqual(['hermod.db', 'hermod.db.before-0.2.0'])
  })

  it('is refused without space, with the bytes and the option, and leaves nothing', async () => {
    const { bavail, bsize } = statfsSync(folder.path)
    const size = bavail * bsize * 2
    truncateSync(path, size)
    await expect(copyDatabase(path, '0.2.0')).rejects.toThrow(
      new RegExp(
        `needs ${size} bytes of free space beside it, and \\d+ are free; .*--without-copy`,
      ),
    )
    expect(names()).toEqual(['hermod.db'])
  })

  it('is removed after its time, and when a later upgrade has finished', async () => {
    const old = await copyDatabase(path, '0.2.0')
    const day = 24 * 3600
    utimesSync(old, Date.now() / 1000 - 8 * day, Date.now() / 1000 - 8 * day)
    await copyDatabase(path, '0.3.0')
    await removeCopiesBefore(path, Date.now() - 7 * day * 1000)
    expect(names()).toEqual(['hermod.db', 'hermod.db.before-0.3.0'])
    await copyDatabase(path, '0.4.0')
    await removeOtherCopies(path, '0.4.0')
    expect(names()).toEqual(['hermod.db', 'hermod.db.before-0.4.0'])
  })
})
