import { AppError } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { AppService } from '../apps/app-service.js'
import {
  isNumberPart,
  operatorPageLimit,
  type PageRequest,
  readCursorParts,
  writeCursor,
} from '../paging.js'
import { type FileKey, isFileId, type StoredFile } from './file-model.js'
import type { FileReferenceStore } from './file-reference-store.js'
import type { FileSortKey, FileStore } from './file-store.js'
import type { FileUsageStore, UsedSpace } from './file-usage-store.js'
import { type FileReference, referrerText } from './references/reference-model.js'
import type { FileRemoval } from './removal/file-removal.js'

interface OperatorFileServiceOptions {
  readonly database: Database
  readonly files: FileStore
  readonly references: FileReferenceStore
  readonly usage: FileUsageStore
  readonly removal: FileRemoval
  readonly apps: Pick<AppService, 'get' | 'list'>
}

/** A file, and descriptions of its references. */
export interface FileDetails {
  readonly file: StoredFile
  /** At most 100 descriptions. */
  readonly references: readonly string[]
}

const maxReferences = 100

/** Lists, describes and deletes files for operators. */
export class OperatorFileService {
  constructor(private readonly options: OperatorFileServiceOptions) {}

  /** Lists the newest files first. @throws AppError app_not_found, invalid_parameter */
  async list(
    appId: string,
    page: PageRequest,
  ): Promise<{ readonly files: readonly StoredFile[]; readonly nextCursor: string }> {
    const { database, files, apps } = this.options
    await apps.get(appId)
    const before = readFileCursor(page.cursor)
    const limit = operatorPageLimit(page)
    const found = await database.read((db) => files.listNewest(db, appId, { before, limit }))
    const last = found.length < limit ? undefined : found.at(-1)
    return { files: found, nextCursor: last ? writeCursor(last.createdAt, last.fileId) : '' }
  }

  /** @throws AppError app_not_found, file_not_found */
  async get(key: FileKey): Promise<FileDetails> {
    const { database, files, references, apps } = this.options
    await apps.get(key.appId)
    const [file, found] = await database.read((db) =>
      Promise.all([files.find(db, key), references.listOfFile(db, key, maxReferences)]),
    )
    if (!file) throw new AppError('file_not_found')
    return { file, references: found.map((reference: FileReference) => referrerText(reference)) }
  }

  /** Returns the usage of every app, by its ID. */
  async usage(): Promise<(UsedSpace & { readonly appId: string })[]> {
    const { database, usage, apps } = this.options
    const kept = await database.read((db) => usage.list(db))
    const byApp = new Map(kept.map((each) => [each.appId, each]))
    const all = (await apps.list()).map(({ appId }) => appId).sort()
    return all.map((appId) => byApp.get(appId) ?? { appId, files: 0, bytes: 0 })
  }

  /**
   * Deletes a file in spite of its references; its address then answers file_not_found.
   * @throws AppError app_not_found, file_not_found
   */
  async delete(key: FileKey): Promise<void> {
    await this.options.apps.get(key.appId)
    await this.options.removal.remove(key)
  }
}

function readFileCursor(cursor: string | undefined): FileSortKey | null {
  const parts = readCursorParts(cursor, [isNumberPart, isFileId])
  return parts && { createdAt: Number(parts[0]), fileId: parts[1] }
}
