import type { Hash } from 'node:crypto'
import { isKey } from '../blobs/blob-keys.js'
import { type Check, isCount, isSha256, isText, parseFile } from '../lib/json-file.js'
import type { LineRow } from './lines.js'
import { exportFiles } from './manifest.js'
import { TransferError } from './transfer-error.js'

/** A file of the service that an export has, or that stays in S3. */
export interface ListedFile {
  /** Its key in the store, and its path in the folder of files. */
  readonly key: string
  readonly size: number
  readonly content_type: string
  /** '' = the file stays in S3 */
  readonly sha256: string
}

const fields: Readonly<Record<keyof ListedFile, Check>> = {
  // No key leads out of a folder.
  key: (value) => typeof value === 'string' && isKey(value),
  size: isCount,
  content_type: (value) =>
    value === '' ||
    (isText(value) && /^\P{Cc}*$/u.test(value as string) && (value as string).isWellFormed()),
  sha256: (value) => value === '' || isSha256(value),
}

/** Reads a line of the list of files. @throws TransferError that names the line and the wrong field */
export function parseListedFile(text: string, number: number): ListedFile {
  return parseFile<ListedFile>(text, {
    fields,
    bad: (problem) =>
      new TransferError(
        `line ${number} of ${exportFiles.fileList} of the export ${problem}; run hermod export again`,
      ),
  })
}

/** Returns the key of a file in a store. */
export type FileKeyOf = (file: {
  readonly appId: string
  readonly fileId: string
  readonly uploadId: string
}) => string

/** Returns the key of the file that a row of the table of files names. */
export function keyOfRow(fileKey: FileKeyOf, row: LineRow): string {
  return fileKey({
    appId: String(row.app_id),
    fileId: String(row.file_id),
    uploadId: String(row.upload_id),
  })
}

/** Passes bytes on, and adds them to a hash. */
export async function* hashed(
  body: AsyncIterable<Uint8Array>,
  hash: Hash,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of body) {
    hash.update(chunk)
    yield chunk
  }
}
