import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FolderLockedError, lockFolder, lockNewFolder } from './folder-lock.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A process of its own that locks the folder as lockFolder does, until it is killed. */
async function holdInChild(): Promise<ChildProcess> {
  const sqlite = fileURLToPath(import.meta.resolve('@photostructure/sqlite'))
  const script = `
    import { writeFileSync } from 'node:fs'
    import { DatabaseSync } from ${JSON.stringify(sqlite)}
    globalThis.database = new DatabaseSync(process.argv[1] + '/hermod.lock', { timeout: 0 })
    globalThis.database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    writeFileSync(process.argv[1] + '/hermod.pid', process.pid + '\\n')
    process.stdout.write('locked')
    setInterval(() => {}, 60_000)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

function refusal(): unknown {
  try {
    lockFolder(folder).release()
    return null
  } catch (error) {
    return error
  }
}

describe('lockFolder', () => {
  it('refuses a folder that another process has locked, until that process is killed', async () => {
    const holder = await holdInChild()
    try {
      const error = refusal()
      expect(error).toBeInstanceOf(FolderLockedError)
      expect(error).toMatchObject({ folder, pid: holder.pid })
      expect((error as Error).message).toBe(
        `the data folder ${folder} is in use by process ${holder.pid}; stop that process or set HERMOD_DATA_DIR to another folder`,
      )
    } finally {
      holder.kill('SIGKILL')
      await once(holder, 'exit')
    }
    const lock = lockFolder(folder)
    expect(readFileSync(join(folder, 'hermod.pid'), 'utf8')).toBe(`${process.pid}\n`)
    lock.release()
  })

  it('refuses a second lock of the same process until the first is released', () => {
    const lock = lockFolder(folder)
    expect(refusal()).toMatchObject({ name: 'FolderLockedError', pid: process.pid })
    lock.release()
    lock.release()
    expect(refusal()).toBeNull()
  })

  it('names no process when the pid file is stale', () => {
    const lock = lockFolder(folder)
    writeFileSync(join(folder, 'hermod.pid'), '999999999')
    expect(refusal()).toMatchObject({
      pid: null,
      message: expect.stringContaining('in use by another process'),
    })
    lock.release()
  })

  it('refuses a folder whose lock file was removed while its holder lives', async () => {
    const holder = await holdInChild()
    try {
      rmSync(join(folder, 'hermod.lock'))
      const error = refusal()
      expect(error).toMatchObject({ name: 'FolderLockedError', folder, pid: holder.pid })
      expect((error as Error).message).toContain('hermod.lock is missing')
      expect(existsSync(join(folder, 'hermod.lock'))).toBe(false)
    } finally {
      holder.kill('SIGKILL')
      await once(holder, 'exit')
    }
    expect(refusal()).toBeNull()
  })

  it('takes a folder without a lock file whose pid is that of this process, as in a restarted container', () => {
    writeFileSync(join(folder, 'hermod.pid'), `${process.pid}\n`)
    expect(refusal()).toBeNull()
  })

  it('creates the folder for a service only, and leaves the empty lock file behind', () => {
    const inner = join(folder, 'a', 'b')
    expect(() => lockFolder(inner)).toThrow(
      `there is no data folder ${inner}; hermod serve makes it, or set HERMOD_DATA_DIR`,
    )
    expect(readdirSync(folder)).toEqual([])
    lockNewFolder(inner).release()
    expect(readdirSync(inner)).toEqual(['hermod.lock'])
  })

  it('names the folder that cannot be used, and the cause', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(() => lockNewFolder(file)).toThrow(
      `the data folder ${file} cannot be used: ${file} is a file`,
    )
  })

  it.each(['hermod.db', 'hermod.lock', 'hermod.reserve', 'node.id', 'secret.key', 'files'])(
    'refuses %s as a link and does not follow it',
    (name) => {
      const target = join(folder, 'target')
      writeFileSync(target, 'kept')
      symlinkSync(target, join(folder, name))
      expect(refusal()).toMatchObject({
        message: expect.stringContaining(`${join(folder, name)} is a symbolic link`),
      })
      expect(readFileSync(target, 'utf8')).toBe('kept')
    },
  )

  it('replaces the pid file, also when it is a link', () => {
    const target = join(folder, 'target')
    writeFileSync(target, 'kept')
    symlinkSync(target, join(folder, 'hermod.pid'))
    const lock = lockFolder(folder)
    expect(lstatSync(join(folder, 'hermod.pid')).isFile()).toBe(true)
    expect(readFileSync(target, 'utf8')).toBe('kept')
    lock.release()
  })

  // Only root can give files away.
  it.runIf(process.getuid?.() === 0)('refuses what another user owns, and names both', () => {
    const text = 'belongs to nobody (uid 65534), and this process runs as root (uid 0)'
    const file = join(folder, 'secret.key')
    writeFileSync(file, '')
    chownSync(file, 65534, 65534)
    expect(refusal()).toMatchObject({ message: expect.stringContaining(`${file} ${text}`) })
    chownSync(folder, 65534, 65534)
    expect(refusal()).toMatchObject({ message: expect.stringContaining(`${folder} ${text}`) })
    expect(readdirSync(folder)).toEqual(['secret.key'])
  })

  it('takes a few milliseconds', () => {
    const times = Array.from({ length: 20 }, () => {
      const started = performance.now()
      const lock = lockFolder(folder)
      const elapsedMs = performance.now() - started
      lock.release()
      return elapsedMs
    })
    // Whatever else the machine does, it does not do it all the time.
    expect(Math.min(...times)).toBeLessThan(50)
  })
})
