import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder, makeFolderSync } from './make-folder.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hermod-make-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const ways = {
  makeFolder,
  makeFolderSync: async (folder: string) => makeFolderSync(folder),
}

describe.each(Object.entries(ways))('%s', (_, make) => {
  it('makes folders for this user alone, and finds those that exist', async () => {
    const deep = join(root, 'a', 'b')
    await make(deep)
    await make(deep)
    for (const path of [join(root, 'a'), deep]) expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  it('ends with an error where there can be no folder', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    await expect(make(file)).rejects.toThrow(`${file} is a file`)
    await expect(make(join(file, 'a', 'b'))).rejects.toThrow('ENOTDIR')
    await expect(make('/proc/hermod/data')).rejects.toThrow('no folder can be made in /proc')
  })
})
