import { AppError } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { LongJobRun, LongJobs } from '../long-jobs/long-job-model.js'
import type { UserKey } from '../users/user-model.js'
import type { ErasedCheck } from './erased-check.js'
import { appendErasure, type ErasureLine } from './erasure-log.js'
import {
  type Certificate,
  certificateOf,
  digestOf,
  type ErasureOrder,
  type ErasureResult,
  type ErasureStep,
  userErasure,
} from './erasure-model.js'
import type { ErasureRow, ErasureStore } from './erasure-store.js'
import type { HoldService } from './holds/hold-service.js'
import type { PersonalRowsStore } from './personal-rows-store.js'

interface ErasureServiceOptions {
  readonly database: Database
  readonly store: ErasureStore
  readonly rows: PersonalRowsStore
  readonly holds: Pick<HoldService, 'requireNone'>
  /** The parts of an erasure, in their order; the first one deletes the user. */
  readonly steps: readonly ErasureStep[]
  /**
   * Overwrites what the file of the embedded database keeps of removed rows.
   * @returns false where there is no such file, or it is too large
   */
  readonly scrub: (signal: AbortSignal) => Promise<boolean>
  readonly check: Pick<ErasedCheck, 'remaining'>
  readonly jobs: Pick<LongJobs, 'start'>
  readonly apps: { get(appId: string): Promise<unknown> }
  /** The folder of this node, which has a list of erasures. */
  readonly dataDir: string
  /** Returns the folders of backups, which have such lists too. */
  readonly backupFolders: () => Promise<readonly string[]>
  readonly clock: Clock
}

/** The run of an erasure, by a job or another caller. */
type ErasureProgress = Pick<LongJobRun, 'signal' | 'progress'>

/** Erases everything of persons. */
export class ErasureService {
  constructor(private readonly options: ErasureServiceOptions) {}

  /**
   * Starts the job of an erasure.
   * @returns the ID of the job
   * @throws AppError erasure_held, erasure_unfinished, too_many_jobs
   */
  async start(order: ErasureOrder) {
    const { holds, jobs } = this.options
    await holds.requireNone(order)
    await this.#requireOneMode(order)
    return jobs.start(userErasure, order)
  }

  /**
   * Erases a person, and returns the certificate. A repeat is harmless: one that was killed goes on,
   * and one after the end finds nothing.
   * @throws AppError erasure_held, erasure_unfinished; Error naming what is left
   */
  async erase(order: ErasureOrder, { signal, progress }: ErasureProgress): Promise<ErasureResult> {
    const { database, store, holds, steps, scrub, check, clock } = this.options
    await holds.requireNone(order)
    await this.#requireOneMode(order)
    const begun = await this.#begin(order)
    const total = Object.values(certificateOf(begun).counts).reduce((sum, rows) => sum + rows, 0)
    let done = 0
    const erased = (rows: number) => {
      done = Math.min(done + rows, total)
      progress({ done })
    }
    for (const { text, run } of steps) {
      signal.throwIfAborted()
      progress({ done, total, text })
      await holds.requireNone(order)
      await run(order, { signal, erased })
    }
    signal.throwIfAborted()
    progress({ done, total, text: 'overwriting unused space of the database' })
    const isScrubbed = (await scrub(signal)) ? 1 : 0
    const left = await check.remaining(order, order.messages, signal)
    if (left.length > 0)
      throw new Error(
        `rows of the user are left in ${left.map(({ table }) => table).join(', ')}; order the erasure again`,
      )
    const finishedAt = clock.now()
    const certificate = certificateOf({ ...begun, finishedAt, isScrubbed })
    const finished = { ...certificate, digest: digestOf(certificate) }
    const unlisted = await this.#list(lineOf(finished))
    await database.transaction((tx) =>
      store.finish(tx, begun, { finishedAt, isScrubbed, digest: finished.digest }),
    )
    progress({ done: total, text: 'finished' })
    return { ...finished, unlisted }
  }

  /** Repeats an erasure in a database that was restored from a backup of before it. */
  async repeat(line: ErasureLine, run: ErasureProgress): Promise<ErasureResult> {
    const { app_id: appId, user_id: userId, messages, reason } = line
    return this.erase({ appId, userId, messages, reason }, run)
  }

  /** Lists certificates, the newest first. @throws AppError app_not_found */
  async list(appId: string, userId: UserKey['userId'] | undefined): Promise<Certificate[]> {
    const { database, store, apps } = this.options
    await apps.get(appId)
    const found = await database.read((db) => store.list(db, appId, userId))
    return found.map(certificateOf)
  }

  /**
   * Appends to the lists of erasures.
   * @returns the folders of backups that cannot be written
   * @throws Error when that of this node cannot
   */
  async #list(line: ErasureLine): Promise<string[]> {
    const { dataDir, backupFolders } = this.options
    await appendErasure(dataDir, line)
    const unlisted: string[] = []
    for (const folder of new Set(await backupFolders()))
      await appendErasure(folder, line).catch(() => unlisted.push(folder))
    return unlisted
  }

  /** Returns the unfinished erasure, or begins one with what there is of the person. */
  async #begin({ appId, userId, messages, reason }: ErasureOrder): Promise<ErasureRow> {
    const { database, store, rows, clock } = this.options
    const user = { appId, userId }
    const unfinished = await database.read((db) => store.findUnfinished(db, user))
    if (unfinished) return unfinished
    const { counts, files } = await database.snapshot(async (db) => ({
      counts: await rows.count(db, user, messages),
      files: await rows.countFiles(db, user, messages),
    }))
    const byTable = Object.fromEntries(counts.map(({ table, rows }) => [table, rows]))
    const begun: ErasureRow = {
      ...{ appId, userId, messages, reason, files },
      begunAt: clock.now(),
      counts: JSON.stringify(byTable),
      isScrubbed: 0,
      finishedAt: null,
      digest: '',
    }
    await database.transaction((tx) => store.insert(tx, begun))
    return begun
  }

  /** @throws AppError erasure_unfinished */
  async #requireOneMode(order: ErasureOrder): Promise<void> {
    const { database, store } = this.options
    const unfinished = await database.read((db) => store.findUnfinished(db, order))
    if (unfinished && unfinished.messages !== order.messages)
      throw new AppError('erasure_unfinished', `its mode of messages is ${unfinished.messages}`)
  }
}

function lineOf({ app_id, user_id, finished_at, messages, reason }: Certificate): ErasureLine {
  return { app_id, user_id, at: finished_at, messages, reason }
}
