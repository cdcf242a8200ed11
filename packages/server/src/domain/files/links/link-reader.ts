import { AppError } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { StoredFile } from '../file-model.js'
import type { FileStore } from '../file-store.js'
import type { FileAccess, FileCaller } from './file-access.js'
import type { LinkSigner } from './link-signer.js'

interface LinkReaderOptions {
  readonly database: Database
  readonly files: FileStore
  readonly signer: LinkSigner
  readonly access: FileAccess
}

/** Finds the files of links for callers who may read them (rule J3). */
export class LinkReader {
  constructor(private readonly options: LinkReaderOptions) {}

  /**
   * @param fileSign the text of a link
   * @throws AppError file_signature_invalid, file_not_found, no_permission
   */
  async find(caller: FileCaller, fileSign: string): Promise<StoredFile> {
    const { database, files, signer, access } = this.options
    const link = await signer.read(caller.appId, fileSign)
    if (!link) throw new AppError('file_signature_invalid')
    const file = await database.read((db) => files.find(db, link))
    if (!file) throw new AppError('file_not_found')
    await access.requireReader(caller, file, link)
    return file
  }
}
