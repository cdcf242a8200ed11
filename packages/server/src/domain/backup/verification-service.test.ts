import { AppError } from '@hermod/protocol'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { FoundBackup } from '../../backup/target.js'
import { dayMs } from '../../lib/clock.js'
import { VerificationService } from './verification-service.js'

const run = { jobId: 1, signal: new AbortController().signal, progress() {} }
const start = vi.fn(async () => 7)

let now: number
let backups: FoundBackup[]
let verify: () => Promise<object>
let service: VerificationService

const found = (name: string, verifiedAt: number | null) =>
  ({ name, folder: `/backups/${name}`, verifiedAt, manifest: { engine: 'sqlite' } }) as FoundBackup

beforeEach(() => {
  start.mockClear()
  now = 100 * dayMs
  service = new VerificationService({
    folder: '/backups',
    backups: { list: async () => ({ folder: '/backups', backups }) },
    verify: () => verify(),
    longJobs: { start },
    clock: { now: () => now },
  })
})

describe('the schedule of verifications', () => {
  it('verifies the newest backup when none was verified for a week', async () => {
    backups = [found('b', null), found('a', now - 6 * dayMs)]
    await service.runSchedule()
    expect(start).not.toHaveBeenCalled()
    now += dayMs
    await service.runSchedule()
    expect(start).toHaveBeenCalledWith(expect.anything(), { backup: '/backups/b' })
  })

  it('verifies although a verification has a time of the future', async () => {
    backups = [found('a', now + 1_000 * dayMs)]
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(1)
  })

  it('verifies after the clock was ahead', async () => {
    backups = [found('a', null)]
    now += 1_000 * dayMs
    await service.runSchedule()
    now -= 1_000 * dayMs
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(2)
  })

  it('tries again a day after a failure', async () => {
    backups = [found('a', null)]
    await service.runSchedule()
    now += dayMs - 1
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(1)
    now += 1
    await service.runSchedule()
    expect(start).toHaveBeenCalledTimes(2)
  })
})

describe('a verification', () => {
  it('refuses a backup that does not exist', async () => {
    backups = []
    await expect(service.start({})).rejects.toThrow(AppError)
    backups = [found('a', null)]
    await expect(service.start({ backup: 'b' })).rejects.toThrow('has no complete backup b')
    expect(await service.start({ backup: 'a' })).toBe(7)
  })

  it('refuses a file of a passphrase that cannot be read, and names the field', async () => {
    backups = [found('a', null)]
    await expect(service.start({ passphraseFile: 'passphrase' })).rejects.toThrow(
      'the field passphrase_file must be an absolute path',
    )
    await expect(service.start({ passphraseFile: '/nonexistent/passphrase' })).rejects.toThrow(
      /field passphrase_file.*nonexistent.* cannot be read: ENOENT/,
    )
    expect(start).not.toHaveBeenCalled()
  })

  it('that fails is a fault of hermod check, until one succeeds', async () => {
    verify = async () => {
      throw new Error('a byte differs')
    }
    await expect(service.verify({ backup: '/backups/a' }, run)).rejects.toThrow('a byte differs')
    expect(service.faults()).toEqual([
      {
        check: 'backup_verification',
        subject: '/backups/a',
        detail: expect.stringContaining('failed: a byte differs'),
      },
    ])
    verify = async () => ({})
    await service.verify({ backup: '/backups/a' }, run)
    expect(service.faults()).toEqual([])
  })
})
