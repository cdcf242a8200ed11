import { isKey } from '../blobs/blob-keys.js'
import { type Check, isCount, isSha256, isText, parseFile } from '../lib/json-file.js'
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
