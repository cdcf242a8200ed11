import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { BackupTarget, newestBackup } from './target.js'

let root: string
let dataDir: string
let folder: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hermod-target-'))
  dataDir = join(root, 'data')
  folder = join(root, 'backups')
  mkdirSync(dataDir)
})
afterEach(() => rmSync(root, { recursive: true }))

const modeOf = (path: string) => statSync(path).mode & 0o777
const owner = (installation = 'one') => ({ installation, dataFolders: [dataDir] })
const make = (path = folder, isNew = true) => BackupTarget.openOrMake(path, owner(), isNew)

/** A complete backup, as far as the target looks. */
function addBackup(name: string, files: Readonly<Record<string, string>> = {}): void {
  mkdirSync(join(folder, name))
  for (const [file, text] of Object.entries({ COMPLETE: 'x', ...files }))
    writeFileSync(join(folder, name, file), text)
}

describe('a folder of backups', () => {
  it('is made of a missing or empty folder, and opened again', async () => {
    await make()
    expect(readdirSync(folder)).toEqual(['hermod-backups.json'])
    await make(folder, false)
    await BackupTarget.open(folder, owner())
    const empty = join(root, 'disk')
    mkdirSync(join(empty, 'lost+found'), { recursive: true })
    await make(empty)
  })

  it('of another installation is refused', async () => {
    await make()
    await expect(BackupTarget.open(folder, owner('two'))).rejects.toThrow('another installation')
    await expect(BackupTarget.openOrMake(folder, owner('two'), true)).rejects.toThrow(
      'another installation',
    )
  })

  it('with other contents is refused, and left as it is', async () => {
    mkdirSync(folder)
    writeFileSync(join(folder, 'letter.txt'), 'dear')
    await expect(make()).rejects.toThrow('no folder of backups')
    expect(readdirSync(folder)).toEqual(['letter.txt'])
  })

  it('that had backups and is empty now is not mounted', async () => {
    mkdirSync(folder)
    await expect(make(folder, false)).rejects.toThrow('is not mounted')
    expect(readdirSync(folder)).toEqual([])
  })

  it('in the data folder is refused, also through a link', async () => {
    const link = join(root, 'link')
    symlinkSync(dataDir, link)
    for (const inside of [dataDir, join(dataDir, 'a', 'b'), join(link, 'c')])
      await expect(make(inside)).rejects.toThrow('name a folder on another disk')
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('that is missing or empty has got no backup yet', async () => {
    await expect(BackupTarget.open(folder, owner())).rejects.toThrow('is missing or empty')
    mkdirSync(folder)
    await expect(BackupTarget.open(folder, owner())).rejects.toThrow('is missing or empty')
  })

  it('is made with those above it for this user alone', async () => {
    const deep = join(root, 'a', 'b')
    await make(deep)
    for (const path of [join(root, 'a'), deep]) expect(modeOf(path)).toBe(0o700)
    expect(modeOf(join(deep, 'hermod-backups.json'))).toBe(0o600)
  })

  it('that is a file, below a file, or in /proc is refused with a sentence', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'b')])
      await expect(make(path)).rejects.toThrow(/it is a file, or is below one; name a folder$/)
    await expect(make('/proc/hermod/backups')).rejects.toThrow(
      'the backup folder /proc/hermod/backups cannot be used: no folder can be made in /proc',
    )
  })

  it('lists complete backups, the newest first, and marks damaged ones', async () => {
    const target = await make()
    addBackup('20261128T160000Z-aaaaaa', { VERIFIED: '{"at":"2026-11-28T17:00:00Z"}' })
    addBackup('20261129T160000Z-bbbbbb')
    addBackup('20261130T160000Z-cccccc')
    rmSync(join(folder, '20261130T160000Z-cccccc', 'COMPLETE'))
    mkdirSync(join(folder, '.incoming-20261130T160000Z-dddddd'))
    const found = await target.list()
    expect(found).toMatchObject([
      { name: '20261129T160000Z-bbbbbb', createdAt: Date.UTC(2026, 10, 29, 16), verifiedAt: null },
      { name: '20261128T160000Z-aaaaaa', verifiedAt: Date.UTC(2026, 10, 28, 17), manifest: null },
    ])
    expect(await newestBackup(folder)).toBe('20261129T160000Z-bbbbbb')
  })

  it('has one writer at a time, which removes what killed ones have left', async () => {
    const target = await make()
    addBackup('20261130T160000Z-cccccc')
    rmSync(join(folder, '20261130T160000Z-cccccc', 'COMPLETE'))
    mkdirSync(join(folder, '.incoming-20261130T160000Z-dddddd'))
    {
      await using _ = await target.lock()
      expect(readdirSync(folder).sort()).toEqual(['hermod-backups.json', 'hermod-backups.lease'])
      await expect(target.lock()).rejects.toThrow(`process ${process.pid} on ${hostname()}`)
    }
    await using _ = await target.lock()
  })

  it.each([
    ['a dead process', { host: hostname(), pid: 2 ** 22 + 1, at: Date.now() }],
    ['a process of another machine that ended an hour ago', { host: 'x', pid: 1, at: 1 }],
  ])('takes over the right to write of %s', async (_, holder) => {
    const target = await make()
    writeFileSync(join(folder, 'hermod-backups.lease'), JSON.stringify(holder))
    await using _lease = await target.lock()
  })
})
