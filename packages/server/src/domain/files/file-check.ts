import { BlobError, type BlobStore, type ListedBlob } from '../../blobs/blob-store.js'
import type { Database, Queryable } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { appPrefix, originalKey, type StoredFile } from './file-model.js'
import type { FileStore } from './file-store.js'
import type { FileUsageStore } from './file-usage-store.js'
import { fileConsumer } from './references/file-reference-consumer.js'
import type { FileReferenceService } from './references/file-reference-service.js'
import { type FileReference, referrerText } from './references/reference-model.js'
import { type OrphanedBlobs, orphanLifeMs } from './removal/orphaned-blobs.js'

/** A mismatch, as `hermod check` reports it. */
export interface FileFault {
  readonly check: string
  readonly appId: string
  readonly subject: string
  readonly detail: string
}

/** The number of checked items, and the mismatches among them. */
export interface FileReport {
  readonly checked: number
  readonly faults: readonly FileFault[]
}

interface FileCheckOptions {
  readonly database: Database
  readonly files: FileStore
  readonly usage: FileUsageStore
  readonly references: FileReferenceService
  readonly blobs: Pick<BlobStore, 'list' | 'stat' | 'check' | 'location'>
  readonly orphans: Pick<OrphanedBlobs, 'orphans'>
  readonly outbox: {
    listBehind(db: Queryable, consumer: string): Promise<readonly { readonly appId: string }[]>
  }
  readonly removals: { listUnfinished(db: Queryable, appId: string): Promise<ReadonlySet<string>> }
  readonly clock: Clock
}

const rowsPerStep = 1_000

/**
 * Checks files against the blobs in the store, and recorded references against the texts that refer
 * to files.
 */
export class FileCheck {
  constructor(private readonly options: FileCheckOptions) {}

  /**
   * Checks the recorded references. It skips apps whose latest events the consumer has not handled yet.
   * @param db one snapshot of the data
   * @param limit most faults to report
   */
  async checkReferences(db: Queryable, limit: number): Promise<FileReport> {
    const { usage, outbox } = this.options
    const behind = new Set((await outbox.listBehind(db, fileConsumer)).map(({ appId }) => appId))
    const faults: FileFault[] = []
    let checked = 0
    for (const { appId } of await usage.list(db)) {
      if (behind.has(appId)) continue
      for await (const difference of this.options.references.differences(db, appId)) {
        checked += difference.checked
        if (faults.length < limit) faults.push(...(await this.#referenceFaults(db, difference)))
      }
    }
    return { checked, faults: distinctFaults(faults) }
  }

  /**
   * Checks the blobs in the store. Files come and go during the walk, so a mismatch is checked a
   * second time.
   */
  async checkStore(limit: number): Promise<FileReport> {
    const { database, usage, blobs } = this.options
    const faults: FileFault[] = []
    let checked = 0
    try {
      await blobs.check()
      for (const { appId } of await database.read((db) => usage.list(db)))
        for await (const seen of this.#walk(appId)) {
          checked++
          if (faults.length >= limit) continue
          const fault = await this.#faultOf(appId, seen)
          if (fault) faults.push(fault)
        }
    } catch (error) {
      if (!(error instanceof BlobError)) throw error
      if (error.reason === 'elsewhere' && !(await this.#hasFiles())) return { checked, faults }
      const { location } = blobs
      faults.push({ check: 'file_store', appId: '', subject: location, detail: error.message })
    }
    return { checked, faults }
  }

  async #hasFiles(): Promise<boolean> {
    const { database, usage } = this.options
    return (await database.read((db) => usage.list(db))).some(({ files }) => files > 0)
  }

  async #referenceFaults(
    db: Queryable,
    { missing, surplus }: { missing: readonly FileReference[]; surplus: readonly FileReference[] },
  ): Promise<FileFault[]> {
    // A reference to an unknown or removed file keeps nothing.
    const known = await this.options.files.findUploads(db, missing)
    return [
      ...missing
        .filter(({ fileId }) => known.has(fileId))
        .map((reference) => referenceFault(reference, 'names the file, which is not noted')),
      ...surplus.map((reference) =>
        referenceFault(reference, 'is noted to name the file, and does not'),
      ),
    ]
  }

  /** Merges the files and blobs of an app in the order of the keys, which is that of the file IDs. */
  async *#walk(appId: string): AsyncGenerator<Seen> {
    const files = this.#files(appId)
    const listed = this.#blobs(appId)
    let [file, blob] = [await next(files), await next(listed)]
    let last = ''
    while (file || blob) {
      const key = file ? originalKey(file) : null
      if (file && key !== null && (!blob || key < blob.key)) {
        yield { file, blob: null }
        file = await next(files)
      } else if (blob) {
        const isOriginal = blob.key === key
        if (isOriginal && file) {
          yield { file, blob }
          last = `${blob.key}.`
          file = await next(files)
        } else if (last === '' || !blob.key.startsWith(last)) yield { file: null, blob }
        blob = await next(listed)
      }
    }
  }

  async *#files(appId: string): AsyncGenerator<StoredFile> {
    const { database, files } = this.options
    for (let after: string | null = ''; after !== null; ) {
      const page = { after, limit: rowsPerStep }
      const found: StoredFile[] = await database.read((db) => files.listById(db, appId, page))
      yield* found
      after = found.length < rowsPerStep ? null : (found.at(-1)?.fileId ?? null)
    }
  }

  async *#blobs(appId: string): AsyncGenerator<ListedBlob> {
    let after: string | null = null
    do {
      const page = await this.options.blobs.list(appPrefix(appId), after, rowsPerStep)
      yield* page.blobs
      after = page.next
    } while (after !== null)
  }

  async #faultOf(appId: string, { file, blob }: Seen): Promise<FileFault | null> {
    if (file) return blob?.size === file.size ? null : this.#blobFault(file)
    return (await this.#isOrphan(appId, blob)) ? orphanFault(appId, blob) : null
  }

  /** Checks the blob of a file again, unless the file has been removed since. */
  async #blobFault(file: StoredFile): Promise<FileFault | null> {
    const { database, files, blobs } = this.options
    const stat = await blobs.stat(originalKey(file))
    if (stat?.size === file.size) return null
    const row = await database.read((db) => files.find(db, file))
    if (row?.uploadId !== file.uploadId) return null
    const { appId, fileId, size } = file
    const detail = stat
      ? `has ${stat.size} bytes in the store, where ${size} were stored`
      : 'is not in the store'
    return { check: stat ? 'file_size' : 'file_blob', appId, subject: fileId, detail }
  }

  /** Reports whether a blob is old enough, belongs to no file and waits for no removal. */
  async #isOrphan(appId: string, blob: ListedBlob): Promise<boolean> {
    const { database, orphans, removals, clock } = this.options
    if (blob.modifiedAt >= clock.now() - orphanLifeMs) return false
    if ((await orphans.orphans([blob])).length === 0) return false
    const pending = await database.read((db) => removals.listUnfinished(db, appId))
    return ![...pending].some((key) => blob.key.startsWith(key))
  }
}

/** A file, its blob, or both. */
type Seen =
  | { readonly file: StoredFile; readonly blob: ListedBlob | null }
  | { readonly file: null; readonly blob: ListedBlob }

async function next<T>(items: AsyncGenerator<T>): Promise<T | null> {
  const { done, value } = await items.next()
  return done ? null : value
}

function referenceFault(reference: FileReference, text: string): FileFault {
  const { appId, fileId } = reference
  return {
    check: 'file_reference',
    appId,
    subject: fileId,
    detail: `${referrerText(reference)} ${text}`,
  }
}

function orphanFault(appId: string, { key, size }: ListedBlob): FileFault {
  return {
    check: 'file_row',
    appId,
    subject: key,
    detail: `${size} bytes in the store that belong to no file`,
  }
}

/** A referrer that has a text and a recorded reference is checked twice. */
function distinctFaults(faults: readonly FileFault[]): FileFault[] {
  return [...new Map(faults.map((fault) => [`${fault.subject} ${fault.detail}`, fault])).values()]
}
