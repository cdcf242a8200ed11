import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { TargetLease } from './target-lease.js'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-lease-'))
  path = join(folder, 'hermod-backups.lease')
})
afterEach(() => {
  vi.useRealTimers()
  rmSync(folder, { recursive: true })
})

/** Another process takes the lease over. @returns the text of its file */
function takeOver(): string {
  const text = JSON.stringify({ host: 'other', pid: 7, id: 'of-the-other', at: Date.now() })
  rmSync(path)
  writeFileSync(path, text)
  return text
}

const lostReason = (lease: TargetLease) =>
  vi.waitUntil(() => lease.lost.aborted && (lease.lost.reason as Error).message)

describe('the lease of a backup folder', () => {
  it('ends the work of a process that it was taken from, and leaves the file of the other one', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const lease = await TargetLease.take(folder)
    const text = takeOver()
    vi.advanceTimersByTime(10_000)
    expect(await lostReason(lease)).toContain('process 7 on other has taken over')
    await lease[Symbol.asyncDispose]()
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it('is refused to a step that comes before the next renewal', async () => {
    await using lease = await TargetLease.take(folder)
    await lease.requireHeld()
    takeOver()
    await expect(lease.requireHeld()).rejects.toThrow('has taken over')
    expect(lease.lost.aborted).toBe(true)
  })

  it('does not stay for the next backup when its disk was away at its end', async () => {
    const lease = await TargetLease.take(folder)
    const away = `${folder}-away`
    renameSync(folder, away)
    await lease[Symbol.asyncDispose]()
    renameSync(away, folder)
    expect(readdirSync(folder)).toEqual(['hermod-backups.lease'])
    await using _ = await TargetLease.take(folder)
    await expect(TargetLease.take(folder)).rejects.toThrow(`in progress (process ${process.pid}`)
  })

  it('is renewed while its process has it, and leaves no file', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] })
    {
      await using lease = await TargetLease.take(folder)
      const before = readFileSync(path, 'utf8')
      vi.advanceTimersByTime(10_000)
      await vi.waitUntil(() => readFileSync(path, 'utf8') !== before)
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ host: hostname() })
      expect(lease.lost.aborted).toBe(false)
    }
    expect(readdirSync(folder)).toEqual([])
  })
})
