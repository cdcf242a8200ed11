import type { Database, Queryable } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import { pause } from '../../../lib/concurrency/pause.js'
import { groupBy } from '../../../lib/group-by.js'
import type { FilePlace, FileStore } from '../file-store.js'
import type { FileUsageStore } from '../file-usage-store.js'
import { fileConsumer } from '../references/file-reference-consumer.js'
import type { FileRemoval } from './file-removal.js'

/** A file that a removal is about to take. */
type PendingRemoval = Awaited<ReturnType<FileStore['listPendingRemovals']>>[number]

/** How far the outbox of an app goes, and how far a consumer is in it. */
export interface OutboxPlaces {
  head(db: Queryable, appId: string): Promise<number>
  positionOf(db: Queryable, consumer: string, appId: string): Promise<number>
}

export interface UnreferencedFilesOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly outbox: OutboxPlaces
  readonly removal: FileRemoval
  readonly clock: Clock
}

/** So long a file may wait for something that names it. */
export const unreferencedLifeMs = dayMs

const filesPerStep = 500
/** A run looks at so many pages; the next one goes on there. */
const stepsPerRun = 20
const pauseMs = 20
/** The consumer is seldom further behind than that; if it is, the next run comes. */
const patienceMs = 2_000

/** Removes files that are a day old and that nothing names (rule J7). */
export class UnreferencedFiles {
  /** Where the last run ended. */
  #place: { readonly appId: string; readonly after: FilePlace | null } = { appId: '', after: null }

  constructor(private readonly options: UnreferencedFilesOptions) {}

  /** Looks at a limited number of files, those of one app after those of another. */
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

  /** What the run before has begun when it was killed. */
  async #finishInterrupted(signal: AbortSignal): Promise<void> {
    const { database, files } = this.options
    const leaving = await database.read((db) => files.listPendingRemovals(db, filesPerStep))
    for (const ofRemoval of groupBy(leaving, nameOfRemoval).values()) {
      const [{ appId, removalId }] = ofRemoval as [PendingRemoval, ...PendingRemoval[]]
      const fileIds = ofRemoval.map(({ fileId }) => fileId)
      await this.#finish(appId, fileIds, removalId, signal)
    }
  }

  /** @returns where to go on; null: the other files are younger, or it is not known yet what names them */
  async #step(
    appId: string,
    after: FilePlace | null,
    signal: AbortSignal,
  ): Promise<FilePlace | null> {
    const { database, files, removal, clock } = this.options
    const before = clock.now() - unreferencedLifeMs
    const page = { after, before, limit: filesPerStep }
    const found = await database.read((db) => files.listOldest(db, appId, page))
    const unnamed = found.filter(({ isReferenced }) => !isReferenced).map(({ fileId }) => fileId)
    if (unnamed.length > 0) {
      // What is noted soon is not taken from anybody meanwhile.
      if (!(await this.#isCaughtUp(appId, signal))) return null
      const removalId = await removal.begin(appId, unnamed)
      if (!(await this.#finish(appId, unnamed, removalId, signal))) return null
    }
    return found.length < filesPerStep ? null : (found.at(-1) ?? null)
  }

  /** What was committed while the files could be had keeps those that it names. @returns false: it is not known yet which */
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

  /** Whether all that was written up to now has been followed; waits a little for it. */
  async #isCaughtUp(appId: string, signal: AbortSignal): Promise<boolean> {
    const { database, outbox } = this.options
    const head = await database.read((db) => outbox.head(db, appId))
    for (const endsAt = performance.now() + patienceMs; performance.now() < endsAt; ) {
      const position = await database.read((db) => outbox.positionOf(db, fileConsumer, appId))
      if (position >= head) return true
      if (signal.aborted) return false
      await pause(pauseMs, signal)
    }
    return false
  }
}

function nameOfRemoval({ appId, removalId }: PendingRemoval): string {
  return `${appId} ${removalId}`
}
