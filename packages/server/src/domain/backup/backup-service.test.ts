import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AppError } from '@hermod/protocol'
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { Manifest } from '../../backup/manifest.js'
import { BackupTarget } from '../../backup/target.js'
import { dayMs, hourMs } from '../../lib/clock.js'
import { BackupService } from './backup-service.js'

const manifest: Manifest = {
  ...{ format: 1, created_at: '2027-11-29T16:00:00.000Z', version: '0.1.0', engine: 'sqlite' },
  ...{ schema: { number: 1, name: '001-initial' }, epoch: 'e', secret_key_fingerprint: 'kkkkkkkk' },
  parts: ['hermod.db', 'files.ndjson'].map((name) => ({ name, size: 0, sha256: 'a'.repeat(64) })),
  ...{ positions: {}, newest_message: null, key_inside: false },
  files: { store: 'folder', count: 0, bytes: 0, missing: 0 },
}
const place = mkdtempSync(join(tmpdir(), 'hermod-backups-'))
afterAll(() => rmSync(place, { recursive: true }))
const backups = join(place, 'backups')
const now = Date.UTC(2026, 10, 29, 16)
const everyMs = 6 * hourMs

function aService({
  folder = backups as string | null,
  isEmbedded = true,
  known = [] as string[],
} = {}) {
  const clock = { time: now, now: () => clock.time }
  const start = vi.fn(async () => 1)
  const failed = vi.fn()
  const service = new BackupService({
    ...{ folder, everyMs, retention: { daily: 7, weekly: 4 }, isEmbedded },
    ...{ hasPassphrase: false, filesKind: 'folder', keySource: 'file', longJobs: { start }, clock },
    known: { list: async () => known, add: async () => {} },
    owner: async () => ({ installation: 'x', dataFolders: ['/nonexistent/data'] }),
    source: async () => {
      throw new Error('the database is gone')
    },
    observer: { made: () => {}, pruned: () => {}, failed, unread: failed },
  })
  return { service, clock, start, failed }
}
const run = { signal: new AbortController().signal, progress: () => {} }
const order = { folder: backups, filesOnly: false, prunes: true }

it('a backup that is refused while a job runs leaves no folder', async () => {
  const root = mkdtempSync(join(tmpdir(), 'hermod-refused-'))
  try {
    const { service, start } = aService()
    start.mockRejectedValueOnce(new AppError('too_many_jobs'))
    const refused = service.start(join(root, 'new'), { filesOnly: false })
    await expect(refused).rejects.toThrow('such a job is unfinished')
    expect(readdirSync(root)).toEqual([])
  } finally {
    rmSync(root, { recursive: true })
  }
})

describe('the schedule of backups', () => {
  it('starts a job when no backup is young enough, and none without a folder or on PostgreSQL', async () => {
    const { service, start } = aService()
    await service.runSchedule()
    expect(start).toHaveBeenCalledWith(expect.objectContaining({ name: 'backup_create' }), order)
    for (const other of [aService({ folder: null }), aService({ isEmbedded: false })]) {
      await other.service.runSchedule()
      expect(other.start).not.toHaveBeenCalled()
    }
  })

  it('is not stopped by a backup of the future', async () => {
    const root = mkdtempSync(join(tmpdir(), 'hermod-schedule-'))
    try {
      const folder = join(root, 'backups')
      const owner = { installation: 'x', dataFolders: [] }
      await using locked = await (await BackupTarget.openOrMake(folder, owner, true)).lock()
      await (await locked.begin(now + 365 * dayMs)).complete(manifest)
      const { service, clock, start } = aService({ folder, known: [folder] })
      await service.runSchedule()
      expect(start).toHaveBeenCalledTimes(1)
      clock.time += dayMs
      expect(await service.faults()).toMatchObject([{ check: 'backup_late' }])
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  it('goes on while a job of it is unfinished', async () => {
    const { service, start } = aService()
    start.mockRejectedValueOnce(new AppError('too_many_jobs'))
    await service.runSchedule()
    start.mockRejectedValueOnce(new AppError('storage_failed'))
    await expect(service.runSchedule()).rejects.toThrow()
  })

  it('a failure: is a fault and a state, and pauses the schedule for a quarter of an hour', async () => {
    const { service, clock, start, failed } = aService()
    await expect(service.create(order, run)).rejects.toThrow()
    expect(failed).toHaveBeenCalledTimes(1)
    expect(await service.faults()).toMatchObject([{ check: 'backup_failed' }])
    expect(service.state?.failure).toMatchObject({ at: now })
    await service.runSchedule()
    expect(start).not.toHaveBeenCalled()
    clock.time += 15 * 60_000
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(1)
  })

  it('a failure of the future, from a wrong clock, does not pause the schedule', async () => {
    const { service, clock, start } = aService()
    clock.time += 365 * dayMs
    await expect(service.create(order, run)).rejects.toThrow()
    clock.time -= 365 * dayMs
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(1)
  })

  it('does not take a verification of the future for one', async () => {
    const root = mkdtempSync(join(tmpdir(), 'hermod-schedule-'))
    try {
      const folder = join(root, 'backups')
      const owner = { installation: 'x', dataFolders: [] }
      await using locked = await (await BackupTarget.openOrMake(folder, owner, true)).lock()
      const backup = await locked.begin(now - hourMs)
      await backup.complete(manifest)
      const at = new Date(now + dayMs).toISOString()
      writeFileSync(join(folder, backup.name, 'VERIFIED'), JSON.stringify({ at }))
      const { service, clock } = aService({ folder, known: [folder] })
      await service.refresh()
      expect(service.state?.verifiedAt).toBeNull()
      clock.time += dayMs
      await service.refresh()
      expect(service.state?.verifiedAt).toBe(now + dayMs)
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  it('refuses a file of a passphrase that cannot be read, and names the field', async () => {
    const { service, start } = aService()
    for (const [passphraseFile, problem] of [
      ['passphrase', 'the field passphrase_file must be an absolute path'],
      ['/nonexistent/passphrase', /field passphrase_file.*nonexistent.* cannot be read: ENOENT/],
    ] as const)
      await expect(service.start(backups, { filesOnly: false, passphraseFile })).rejects.toThrow(
        problem,
      )
    expect(start).not.toHaveBeenCalled()
  })

  it('refuses a folder that is not an absolute path', async () => {
    const { service } = aService()
    const refused = 'the field folder must be an absolute path'
    for (const call of [service.start('backups', { filesOnly: false }), service.list('./backups')])
      await expect(call).rejects.toThrow(refused)
  })

  it('a missing backup is a fault once two intervals have passed', async () => {
    const { service, clock } = aService()
    clock.time += 2 * everyMs
    expect(await service.faults()).toEqual([])
    clock.time += dayMs
    expect(await service.faults()).toMatchObject([{ check: 'backup_late' }])
    expect(await aService({ folder: null }).service.faults()).toEqual([])
  })
})
