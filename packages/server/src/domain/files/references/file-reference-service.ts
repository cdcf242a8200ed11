import { fileReferenceKind, type Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
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

interface FileReferenceServiceOptions {
  readonly database: Database
  readonly references: FileReferenceStore
  readonly texts: ReferencingTextStore
  readonly usage: FileUsageStore
}

/** The difference between the recorded references and those of the texts. */
export interface ReferenceDifference {
  /** In a text and not recorded. */
  readonly missing: readonly FileReference[]
  /** Recorded and in no text. */
  readonly surplus: readonly FileReference[]
}

const referrersPerStep = 500

/**
 * Records the references to files from the current texts: idempotent, and independent of the order
 * of events.
 */
export class FileReferenceService {
  constructor(private readonly options: FileReferenceServiceOptions) {}

  /** Reports whether the app has ever issued a ticket: before, no text can refer to a file. */
  async areUsedIn(appId: string): Promise<boolean> {
    const { database, usage } = this.options
    return database.read((db) => usage.isKept(db, appId))
  }

  /** Brings the recorded references of the referrers up to date. */
  async refresh(appId: string, referrers: readonly FileReferrer[]): Promise<void> {
    const { database } = this.options
    if (referrers.length === 0) return
    const different = await database.read((db) => this.#differenceOf(db, appId, referrers))
    if (isEmpty(different)) return
    await database.transaction((tx) => this.#record(tx, appId, referrers))
  }

  /** Does as {@link refresh} in the transaction of the texts, which must lock nothing afterwards. */
  async refreshIn(tx: Tx, appId: string, referrers: readonly FileReferrer[]): Promise<void> {
    if (referrers.length === 0 || !(await this.options.usage.isKept(tx, appId))) return
    await this.#record(tx, appId, referrers)
  }

  async #record(tx: Tx, appId: string, referrers: readonly FileReferrer[]): Promise<void> {
    const { references, usage } = this.options
    // The lock serializes this with other refreshes and with removals, so the difference stays
    // true until it is recorded.
    await usage.lock(tx, appId)
    const { missing, surplus } = await this.#differenceOf(tx, appId, referrers)
    await references.deleteMany(tx, surplus)
    await references.insertMany(tx, missing)
  }

  /** Returns the shared files of a group that have recorded references. */
  async sharedIn(appId: string, groupId: Int64): Promise<readonly FileReferrer[]> {
    const { database, references } = this.options
    return database.read((db) => references.listShared(db, appId, groupId))
  }

  /** Returns the messages, up to and including one, that have recorded references. */
  async messagesUpTo(
    appId: string,
    last: Omit<FileReferrer, 'kind'>,
  ): Promise<readonly FileReferrer[]> {
    const { database, references } = this.options
    return database.read((db) => references.listMessagesUpTo(db, appId, last))
  }

  /** Records all references of an app anew, in steps. */
  async rebuild(appId: string): Promise<void> {
    const { database } = this.options
    const read: Read = async (work) => database.read(work)
    for await (const referrers of this.#referrers(read, appId)) await this.refresh(appId, referrers)
  }

  /** Yields all differences of an app in steps, each with the number of referrers that were checked. */
  async *differences(
    db: Queryable,
    appId: string,
  ): AsyncGenerator<ReferenceDifference & { readonly checked: number }> {
    for await (const referrers of this.#referrers((work) => work(db), appId))
      yield { ...(await this.#differenceOf(db, appId, referrers)), checked: referrers.length }
  }

  /**
   * Yields the referrers of all texts with references, then those of all recorded references; a
   * referrer may come twice.
   */
  async *#referrers(read: Read, appId: string): AsyncGenerator<FileReferrer[]> {
    const { references, texts } = this.options
    for (const kind of Object.values(fileReferenceKind)) {
      let after: FileReferrer | null = null
      do {
        const page: ReferencingText[] = await read((db) =>
          texts.list(db, appId, { kind, after, limit: referrersPerStep }),
        )
        const referencing = page.filter((text) => referencesOf(appId, text).length > 0)
        if (referencing.length > 0) yield referencing.map(({ referrer }) => referrer)
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
    const recorded = await references.findOf(db, appId, referrers)
    const found = await texts.findOf(db, appId, referrers)
    const current = found.flatMap((text) => referencesOf(appId, text))
    return { missing: without(current, recorded), surplus: without(recorded, current) }
  }
}

type Read = <T>(work: (db: Queryable) => Promise<T>) => Promise<T>

function isEmpty({ missing, surplus }: ReferenceDifference): boolean {
  return missing.length === 0 && surplus.length === 0
}

function without(
  references: readonly FileReference[],
  others: readonly FileReference[],
): FileReference[] {
  const names = new Set(others.map(referenceName))
  return references.filter((reference) => !names.has(referenceName(reference)))
}
