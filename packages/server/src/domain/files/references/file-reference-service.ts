import { fileReferenceKind, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { FileReferenceStore } from '../file-reference-store.js'
import type { FileUsageStore } from '../file-usage-store.js'
import {
  distinctReferrers,
  type FileReference,
  type FileReferrer,
  type ReferencingText,
  referenceName,
  referencesOf,
} from './reference-model.js'
import type { ReferencingTextStore } from './referencing-text-store.js'

export interface FileReferenceServiceOptions {
  readonly database: Database
  readonly references: FileReferenceStore
  readonly texts: ReferencingTextStore
  readonly usage: FileUsageStore
}

/** Where what is noted differs from what is named. */
export interface ReferenceDifference {
  /** Named and not noted. */
  readonly missing: readonly FileReference[]
  /** Noted and not named. */
  readonly surplus: readonly FileReference[]
}

const referrersPerStep = 500

/** Notes what names which file, by looking at what is there now: it can be done over at any time, and in any order. */
export class FileReferenceService {
  constructor(private readonly options: FileReferenceServiceOptions) {}

  /** Whether the app has ever given out a ticket: before, nothing can name a file. */
  async areUsedIn(appId: string): Promise<boolean> {
    const { database, usage } = this.options
    return database.read((db) => usage.isKept(db, appId))
  }

  /** Brings what is noted of the referrers up to date. */
  async refresh(appId: string, referrers: readonly FileReferrer[]): Promise<void> {
    const { database, references, usage } = this.options
    if (referrers.length === 0) return
    const different = await database.read((db) => this.#differenceOf(db, appId, referrers))
    if (isNothing(different)) return
    await database.transaction(async (tx) => {
      // One after the other, and not while files are removed: what is read next cannot become old before it is noted.
      await usage.lock(tx, appId)
      const { missing, surplus } = await this.#differenceOf(tx, appId, referrers)
      await references.deleteMany(tx, surplus)
      await references.insertMany(tx, missing)
    })
  }

  /** The shared files of a group of which it is noted that they name files. */
  async sharedIn(appId: string, groupId: Int64): Promise<readonly FileReferrer[]> {
    const { database, references } = this.options
    return database.read((db) => references.listShared(db, appId, groupId))
  }

  /** The messages up to and including one of which it is noted that they name files. */
  async messagesUpTo(
    appId: string,
    last: Omit<FileReferrer, 'kind'>,
  ): Promise<readonly FileReferrer[]> {
    const { database, references } = this.options
    return database.read((db) => references.listMessagesUpTo(db, appId, last))
  }

  /** Notes everything anew, in steps. */
  async rebuild(appId: string): Promise<void> {
    const { database } = this.options
    const read: Read = async (work) => database.read(work)
    for await (const referrers of this.#referrers(read, appId)) await this.refresh(appId, referrers)
  }

  /** All differences of an app, in steps; together with how many referrers were looked at. */
  async *differences(
    db: Queryable,
    appId: string,
  ): AsyncGenerator<ReferenceDifference & { readonly checked: number }> {
    for await (const referrers of this.#referrers((work) => work(db), appId))
      yield { ...(await this.#differenceOf(db, appId, referrers)), checked: referrers.length }
  }

  /** Everything that names files, and everything that is noted to do so; what does both comes twice. */
  async *#referrers(read: Read, appId: string): AsyncGenerator<FileReferrer[]> {
    const { references, texts } = this.options
    for (const kind of Object.values(fileReferenceKind)) {
      let after: FileReferrer | null = null
      do {
        const page: ReferencingText[] = await read((db) =>
          texts.list(db, appId, { kind, after, limit: referrersPerStep }),
        )
        const naming = page.filter((text) => referencesOf(appId, text).length > 0)
        if (naming.length > 0) yield naming.map(({ referrer }) => referrer)
        after = page.length < referrersPerStep ? null : (page.at(-1)?.referrer ?? null)
      } while (after)
    }
    let after: FileReference | null = null
    do {
      const page: FileReference[] = await read((db) =>
        references.list(db, appId, after, referrersPerStep),
      )
      if (page.length > 0) yield distinctReferrers(page)
      after = page.length < referrersPerStep ? null : (page.at(-1) ?? null)
    } while (after)
  }

  async #differenceOf(
    db: Queryable,
    appId: string,
    referrers: readonly FileReferrer[],
  ): Promise<ReferenceDifference> {
    const { references, texts } = this.options
    const noted = await references.findOf(db, appId, referrers)
    const naming = await texts.findOf(db, appId, referrers)
    const named = naming.flatMap((text) => referencesOf(appId, text))
    return { missing: without(named, noted), surplus: without(noted, named) }
  }
}

type Read = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>

function isNothing({ missing, surplus }: ReferenceDifference): boolean {
  return missing.length === 0 && surplus.length === 0
}

function without(
  references: readonly FileReference[],
  others: readonly FileReference[],
): FileReference[] {
  const names = new Set(others.map(referenceName))
  return references.filter((reference) => !names.has(referenceName(reference)))
}
