import type { Database, Queryable } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import { pause } from '../../../lib/concurrency/pause.js'
import { groupBy } from '../../../lib/group-by.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { FileSortKey, FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'
import { fileConsumer } from '../references/file-reference-consumer.js'
import type { FileRemoval } from './file-removal.js'

/** A file whose removal is pending. */
type PendingRemoval = Awaited<ReturnType<FileStore['listPendingRemovals']>>[number]

/** The positions of an app's outbox: its head, and that of a consumer. */
export interface OutboxPositions {
  head(db: Queryable, appId: string): MaybePromise<number>
  positionOf(db: Queryable, consumer: string, appId: string): Promise<number>
}

interface UnreferencedFilesOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly outbox: OutboxPositions
  readonly removal: FileRemoval
  readonly clock: Clock
}

/** The time for which an unreferenced file is kept. */
export const unreferencedLifeMs = dayMs

const filesPerStep = 500
/** Pages of one run; the next run continues there. */
const stepsPerRun = 20
const pauseMs = 20
/** The consumer is seldom further behind; if it is, the next run tries again. */
const catchUpMs = 2_000

/** Removes files that are a day old and unreferenced (rule J7). */
export class UnreferencedFiles {
  /** The end of the last run. */
  #place: { readonly appId: string; readonly after: FileSortKey | null } = {
    appId: '',
    after: null,
  }

  constructor(private readonly options: UnreferencedFilesOptions) {}

  /** Checks a limited number of files, app by app. */
  async run(signal: AbortSignal): Promise<void> {
    const { database, usage } = this.options
    await this.#finishInterrupted(signal)
    const appIds = (await database.read((db) => usage.list(db)))
      .map(({ appId }) => appId)
      .filter((appId) => appId >= this.#place.appId)
    let steps = stepsPerRun
    for (const appId of appIds) {
      let after = appId === this.#place.appId ? this.#place.after : null
      do {
        if (signal.aborted || steps-- === 0) return
        this.#place = { appId, after }
        after = await this.#step(appId, after, signal)
        await pause(pauseMs, signal)
      } while (after)
    }
    this.#place = { appId: '', after: null }
  }

  /** Finishes removals that an earlier run has begun. */
  async #finishInterrupted(signal: AbortSignal): Promise<void> {
    const { database, files } = this.options
    const pending = await database.read((db) => files.listPendingRemovals(db, filesPerStep))
    for (const ofRemoval of groupBy(pending, removalKey).values()) {
      const [{ appId, removalId }] = ofRemoval as [PendingRemoval, ...PendingRemoval[]]
      const fileIds = ofRemoval.map(({ fileId }) => fileId)
      await this.#finish(appId, fileIds, removalId, signal)
    }
  }

  /** @returns the next place; null: the other files are younger, or their references are not known yet */
  async #step(
    appId: string,
    after: FileSortKey | null,
    signal: AbortSignal,
  ): Promise<FileSortKey | null> {
    const { database, files, removal, clock } = this.options
    const before = clock.now() - unreferencedLifeMs
    const page = { after, before, limit: filesPerStep }
    const found = await database.read((db) => files.listOldest(db, appId, page))
    const unreferenced = found
      .filter(({ isReferenced }) => !isReferenced)
      .map(({ fileId }) => fileId)
    if (unreferenced.length > 0) {
      // The consumer may be about to record references to these files; their addresses must not
      // fail until then.
      if (!(await this.#isCaughtUp(appId, signal))) return null
      const removalId = await removal.begin(appId, unreferenced)
      if (!(await this.#finish(appId, unreferenced, removalId, signal))) return null
    }
    return found.length < filesPerStep ? null : (found.at(-1) ?? null)
  }

  /**
   * Keeps files to which texts from before the removal refer.
   * @returns false when those references are not known yet
   */
  async #finish(
    appId: string,
    fileIds: readonly string[],
    removalId: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isFollowed = await this.#isCaughtUp(appId, signal)
    await this.options.removal.finish(appId, fileIds, { removalId, isFollowed })
    return isFollowed
  }

  /** Waits briefly for the consumer. @returns whether it has handled all events up to now */
  async #isCaughtUp(appId: string, signal: AbortSignal): Promise<boolean> {
    const { database, outbox } = this.options
    const head = await database.read((db) => outbox.head(db, appId))
    for (const endsAt = performance.now() + catchUpMs; performance.now() < endsAt; ) {
      const position = await database.read((db) => outbox.positionOf(db, fileConsumer, appId))
      if (position >= head) return true
      if (signal.aborted) return false
      await pause(pauseMs, signal)
    }
    return false
  }
}

function removalKey({ appId, removalId }: PendingRemoval): string {
  return `${appId} ${removalId}`
}
