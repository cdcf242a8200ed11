import { AppError, type Int64 } from '@hermod/protocol'
import { readOrderedPassphrase } from '../../backup/encryption/passphrase.js'
import type { FoundBackup } from '../../backup/target.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import { type LongJobRun, type LongJobs, longJobKind } from '../long-jobs/long-job-model.js'
import { refused, refusing } from './refusals.js'

/** A backup to verify: the path of its folder. */
export interface VerificationOrder {
  readonly backup: string
  /** The file of its passphrase; absent: that of the settings, or none. */
  readonly passphraseFile?: string
}

/** Verifies a backup; the result is that of `hermod backup verify --json`. */
export const backupVerification = longJobKind<VerificationOrder, object>('backup_verify')

interface VerificationServiceOptions {
  /** The folder of the settings; null: there is no schedule. */
  readonly folder: string | null
  readonly backups: {
    list(folder?: string): Promise<{
      readonly folder: string
      readonly backups: readonly FoundBackup[]
    }>
  }
  /** Verifies a backup in another process. @throws Error that says what is wrong */
  readonly verify: (order: VerificationOrder, run: LongJobRun) => Promise<object>
  readonly longJobs: Pick<LongJobs, 'start'>
  readonly clock: Clock
}

const intervalMs = 7 * dayMs
/** The time after a failure in which the schedule starts no verification. */
const retryMs = dayMs

/** Verifies backups, by schedule the newest one each week. */
export class VerificationService {
  #startedAt = Number.NEGATIVE_INFINITY
  #failure: { readonly backup: string; readonly at: number; readonly reason: string } | null = null

  constructor(private readonly options: VerificationServiceOptions) {}

  /** Starts the job that verifies a backup. @throws AppError backup_refused, too_many_jobs */
  async start({
    folder: givenFolder,
    backup: given,
    passphraseFile,
  }: {
    readonly folder?: string | undefined
    readonly backup?: string | undefined
    readonly passphraseFile?: string | undefined
  }): Promise<Int64> {
    const { folder, backups } = await this.options.backups.list(givenFolder)
    const found = backups.find(({ name }) => name === (given ?? backups[0]?.name))
    if (!found)
      throw refused(
        given === undefined
          ? `${folder} has no complete backup; make one with hermod backup create`
          : `${folder} has no complete backup ${given}; hermod backup list shows those that exist`,
      )
    if (passphraseFile !== undefined) await refusing(() => readOrderedPassphrase(passphraseFile))
    return this.options.longJobs.start(backupVerification, {
      backup: found.folder,
      ...(passphraseFile !== undefined && { passphraseFile }),
    })
  }

  /** Verifies a backup: the work of its job. */
  async verify(order: VerificationOrder, run: LongJobRun): Promise<object> {
    const { verify, clock } = this.options
    try {
      const result = await verify(order, run)
      this.#failure = null
      return result
    } catch (error) {
      if (!run.signal.aborted)
        this.#failure = { backup: order.backup, at: clock.now(), reason: (error as Error).message }
      throw error
    }
  }

  /** Starts the verification of the newest backup when one is due; called once an hour. */
  async runSchedule(): Promise<void> {
    const { folder, clock, longJobs } = this.options
    const now = clock.now()
    if (folder === null || Math.abs(now - this.#startedAt) < retryMs) return
    const backups = await this.#ofDatabase()
    const times = backups.map((each) => each.verifiedAt ?? 0)
    // A time of the future was noted while the clock was wrong.
    const verifiedAt = Math.max(0, ...times.filter((time) => time <= now))
    const [newest] = backups
    if (!newest || now < verifiedAt + intervalMs) return
    try {
      await longJobs.start(backupVerification, { backup: newest.folder })
      this.#startedAt = now
    } catch (error) {
      if (!isError(error, 'too_many_jobs')) throw error
    }
  }

  /** Returns what is wrong with the verification of backups, for `hermod check`. */
  faults(): readonly {
    readonly check: string
    readonly subject: string
    readonly detail: string
  }[] {
    if (this.#failure === null) return []
    const { backup, at, reason } = this.#failure
    const detail = `its verification of ${new Date(at).toISOString()} failed: ${reason}`
    return [{ check: 'backup_verification', subject: backup, detail }]
  }

  /** The newest first; none for a folder that cannot be used, which the schedule of backups reports. */
  async #ofDatabase(): Promise<readonly FoundBackup[]> {
    try {
      const { backups } = await this.options.backups.list()
      return backups.filter(({ manifest }) => manifest?.engine === 'sqlite')
    } catch (error) {
      if (isError(error, 'backup_refused')) return []
      throw error
    }
  }
}

function isError(error: unknown, name: string): boolean {
  return error instanceof AppError && error.errorName === name
}
