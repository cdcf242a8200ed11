import { isAbsolute, resolve } from 'node:path'
import { AppError, type Int64 } from '@hermod/protocol'
import { BackupError } from '../../backup/backup-error.js'
import { readOrderedPassphrase } from '../../backup/encryption/passphrase.js'
import type { BackupRun, BackupSource } from '../../backup/backup-source.js'
import { createBackup } from '../../backup/create.js'
import type { KnownTargets } from '../../backup/known-targets.js'
import { databasePart, type Manifest } from '../../backup/manifest.js'
import { type PruneResult, pruneBackups } from '../../backup/prune.js'
import type { Retention } from '../../backup/retention.js'
import { BackupTarget, type FoundBackup, type TargetOwner } from '../../backup/target.js'
import { type Clock, minuteMs } from '../../lib/clock.js'
import { type LongJobs, longJobKind } from '../long-jobs/long-job-model.js'
import { type BackupState, failedBackup, lateBackup } from './backup-state.js'
import { refused, refusing } from './refusals.js'

/** A backup to make. */
export interface BackupOrder {
  /** Absolute path of the target. */
  readonly folder: string
  /** Only the files. */
  readonly filesOnly: boolean
  /** Backups that are no longer retained are removed after it. */
  readonly prunes: boolean
  /** The file of the passphrase; absent: that of the settings, or none. */
  readonly passphraseFile?: string
}

/** Makes a backup; the result is for operators. */
export const backupCreation = longJobKind<BackupOrder, BackupReport>('backup_create')
/** Removes backups and files that are no longer retained. */
export const backupPruning = longJobKind<
  Pick<BackupOrder, 'folder'>,
  { readonly removed: readonly string[]; readonly removed_files: number }
>('backup_prune')

/** Gets a report of backups. */
export interface BackupObserver {
  made(report: BackupReport): void
  pruned(folder: string, result: PruneResult): void
  failed(folder: string, error: unknown): void
  /** The folder of the schedule cannot be read; no backup has failed. */
  unread(folder: string, error: unknown): void
}

interface BackupServiceOptions {
  /** The folder of the settings; null: none. */
  readonly folder: string | null
  readonly everyMs: number
  readonly retention: Retention
  /** The database is the embedded one. */
  readonly isEmbedded: boolean
  readonly filesKind: 'folder' | 's3' | 'none'
  readonly keySource: 'file' | 'settings'
  readonly known: Pick<KnownTargets, 'list' | 'add'>
  readonly owner: () => Promise<TargetOwner>
  /** The settings have a passphrase. */
  readonly hasPassphrase: boolean
  /** @throws PassphraseFileError */
  readonly source: (
    order: Pick<BackupOrder, 'filesOnly' | 'passphraseFile'>,
  ) => Promise<BackupSource>
  readonly longJobs: Pick<LongJobs, 'start'>
  readonly clock: Clock
  readonly observer: BackupObserver
}

/** The time after a failure in which the schedule starts no backup. */
const retryMs = 15 * minuteMs

/** Makes, lists and removes backups. */
export class BackupService {
  readonly #since: number
  #newestAt: number | null = null
  #isEncrypted = false
  #verifiedAt: number | null = null
  #failure: BackupState['failure'] = null
  /** The folder could not be read. */
  #unread: BackupState['failure'] = null

  constructor(private readonly options: BackupServiceOptions) {
    this.#since = options.clock.now()
  }

  /** Starts the job that makes a backup. @throws AppError backup_refused, too_many_jobs */
  async start(
    given: string | undefined,
    { filesOnly, passphraseFile }: Pick<BackupOrder, 'filesOnly' | 'passphraseFile'>,
  ): Promise<Int64> {
    const { isEmbedded, filesKind, hasPassphrase, longJobs } = this.options
    if (!filesOnly && !isEmbedded)
      throw refused(
        'backups of PostgreSQL are made with its own tools, such as pgBackRest or the snapshots of its provider; hermod backup files copies the files; see the guide docs/guides/backup-postgresql.md',
      )
    if (filesOnly && filesKind !== 'folder')
      throw refused(
        filesKind === 's3'
          ? 'the files are in an S3-compatible store; copy its bucket with the tools of the store'
          : 'this node does not have the folder of the files; run the command on the node that has it',
      )
    if (filesOnly && (hasPassphrase || passphraseFile !== undefined))
      throw refused(
        'a backup of the files alone is not encrypted; hermod backup create encrypts the embedded database and the files, and without HERMOD_BACKUP_PASSPHRASE_FILE and --passphrase-file the files are copied as they are',
      )
    if (passphraseFile !== undefined) await refusing(() => readOrderedPassphrase(passphraseFile))
    // The job makes the folder, so that a refused one leaves none.
    const folder = await refusing(async () => {
      const path = this.#folder(given)
      await BackupTarget.check(path, await this.options.owner(), await this.#isNew(path))
      return path
    })
    return longJobs.start(backupCreation, {
      ...{ folder, filesOnly, prunes: given === undefined },
      ...(passphraseFile !== undefined && { passphraseFile }),
    })
  }

  /** Starts the job that removes backups. @throws AppError backup_refused, too_many_jobs */
  async startPruning(given: string | undefined): Promise<Int64> {
    const { folder } = await refusing(async () =>
      BackupTarget.open(this.#folder(given), await this.options.owner()),
    )
    return this.options.longJobs.start(backupPruning, { folder })
  }

  /** Lists the complete backups, the newest first. @throws AppError backup_refused */
  async list(
    given: string | undefined,
  ): Promise<{ readonly folder: string; readonly backups: FoundBackup[] }> {
    return refusing(async () => {
      const target = await BackupTarget.open(this.#folder(given), await this.options.owner())
      return { folder: target.folder, backups: await target.list() }
    })
  }

  /** Makes a backup: the work of its job. @throws BackupError */
  async create(order: BackupOrder, run: BackupRun): Promise<BackupReport> {
    const { folder, prunes } = order
    const { source, observer, keySource } = this.options
    try {
      const target = await this.#openKnown(folder)
      const { name, manifest } = await createBackup(await source(order), target, run)
      const report = reportOf(manifest, { name, folder, key_source: keySource })
      observer.made(report)
      if (prunes) await this.prune({ folder }, run)
      if (folder === this.options.folder) this.#failure = null
      await this.refresh()
      return report
    } catch (error) {
      if (!run.signal.aborted) this.#failed(folder, error)
      throw error
    }
  }

  /** Removes what is no longer retained: the work of its job. @throws BackupError */
  async prune({ folder }: { readonly folder: string }, { signal }: Pick<BackupRun, 'signal'>) {
    const { retention, clock, observer, owner } = this.options
    const target = await BackupTarget.open(folder, await owner())
    const result = await pruneBackups(target, retention, { now: clock.now(), signal })
    observer.pruned(folder, result)
    return { removed: result.removed, removed_files: result.removedFiles }
  }

  /** Starts a backup when one is due; called once a minute. */
  async runSchedule(): Promise<void> {
    const { folder, everyMs, isEmbedded, longJobs, clock } = this.options
    if (folder === null || !isEmbedded) return
    await this.refresh()
    const now = clock.now()
    const isDue = this.#newestAt === null || this.#newestAt + everyMs <= now
    const isPaused = this.#failure !== null && Math.abs(now - this.#failure.at) < retryMs
    if (!isDue || isPaused) return
    try {
      await longJobs.start(backupCreation, { folder, filesOnly: false, prunes: true })
    } catch (error) {
      // One runs already.
      if (!(error instanceof AppError && error.errorName === 'too_many_jobs')) throw error
    }
  }

  /** The state as of the last backup, or of the last minute; null: there is no folder of backups. */
  get state(): BackupState | null {
    const { folder, everyMs, isEmbedded } = this.options
    if (folder === null) return null
    return {
      everyMs: isEmbedded ? everyMs : null,
      since: this.#since,
      newestAt: this.#newestAt,
      isEncrypted: this.#isEncrypted,
      verifiedAt: this.#verifiedAt,
      failure: this.#failure ?? this.#unread,
    }
  }

  /** Returns what is wrong with the backups of the schedule, for `hermod check`. */
  async faults(): Promise<
    readonly { readonly check: string; readonly subject: string; readonly detail: string }[]
  > {
    await this.refresh()
    const { state } = this
    const { folder, clock } = this.options
    if (folder === null || state === null) return []
    const found = {
      backup_failed: failedBackup(state),
      backup_late: lateBackup(state, clock.now()),
    }
    return Object.entries(found).flatMap(([check, detail]) =>
      detail === null ? [] : [{ check, subject: folder, detail }],
    )
  }

  /** Reads the times of the newest and of the last verified backup of the schedule. */
  async refresh(): Promise<void> {
    const { folder, known, owner } = this.options
    if (folder === null) return
    try {
      // Before the first backup there may be no folder.
      if (!(await known.list()).includes(folder)) return
      const backups = await (await BackupTarget.open(folder, await owner())).list()
      // After the clock was wrong, a backup or verification of the future must not stop the schedule.
      const now = this.options.clock.now()
      const ofDatabase = backups.filter(
        ({ manifest, createdAt }) => manifest?.engine === 'sqlite' && createdAt <= now,
      )
      this.#newestAt = ofDatabase[0]?.createdAt ?? null
      this.#isEncrypted = ofDatabase[0]?.manifest?.encryption !== undefined
      const verified = ofDatabase.map(({ verifiedAt }) => verifiedAt ?? 0).filter((at) => at <= now)
      this.#verifiedAt = Math.max(0, ...verified) || null
      this.#unread = null
    } catch (error) {
      if (this.#unread !== null) return
      this.#unread = { at: this.options.clock.now(), reason: (error as Error).message }
      this.options.observer.unread(folder, error)
    }
  }

  #failed(folder: string, error: unknown): void {
    const { clock, observer } = this.options
    if (folder === this.options.folder)
      this.#failure = { at: clock.now(), reason: (error as Error).message }
    observer.failed(folder, error)
  }

  #folder(given: string | undefined): string {
    if (given !== undefined && !isAbsolute(given))
      throw new BackupError('the field folder must be an absolute path')
    const folder = given ?? this.options.folder
    if (folder === null)
      throw new BackupError(
        'there is no folder of backups; start the service with HERMOD_BACKUP_DIR, or name a folder with --to (field folder)',
      )
    return resolve(folder)
  }

  async #openKnown(folder: string): Promise<BackupTarget> {
    const { known, owner } = this.options
    const isNew = await this.#isNew(folder)
    const target = await BackupTarget.openOrMake(folder, await owner(), isNew)
    await known.add(target.folder)
    return target
  }

  async #isNew(folder: string): Promise<boolean> {
    return !(await this.options.known.list()).includes(folder)
  }
}

interface ReportedBackup {
  readonly name: string
  readonly folder: string
  /** The place of the secret key that the backup needs. */
  readonly key_source: 'file' | 'settings'
}

/** Returns the outcome of a backup, for operators. */
function reportOf({ parts, files, key_inside, encryption }: Manifest, backup: ReportedBackup) {
  const database = parts.find((part) => part.name === databasePart)
  return {
    ...{ ...backup, database_bytes: database?.size ?? 0 },
    ...{ files: files.count, file_bytes: files.bytes, missing_files: files.missing },
    ...{ encrypted: encryption !== undefined, key_inside },
  }
}

/** The outcome of a backup. */
export type BackupReport = ReturnType<typeof reportOf>
