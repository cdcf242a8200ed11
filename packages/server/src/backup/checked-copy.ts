import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { BackupError, damaged } from './backup-error.js'
import { Opener, SealedFileError, type SealedName } from './encryption/sealed-file.js'

/** A file of a backup, as its lists describe it. */
interface CheckedFile {
  readonly size: number
  readonly sha256?: string | undefined
  /** The key that opens it; null: it is not encrypted. */
  readonly sealed: SealedName | null
  /** Gets the bytes that were read. */
  copied(bytes: number): void
}

/**
 * Copies a file of a backup durably, opened if it is sealed.
 * @throws BackupError when it is not the file of the backup, or cannot be copied
 */
export async function copyChecked(from: string, to: string, file: CheckedFile): Promise<void> {
  const { size, sha256, sealed, copied } = file
  const hash = createHash('sha256')
  let length = 0
  try {
    const opener = sealed && new Opener(sealed)
    const handle = await open(to, 'wx', 0o600)
    try {
      for await (const chunk of createReadStream(from, { highWaterMark: 1024 * 1024 })) {
        const bytes = chunk as Buffer
        hash.update(bytes)
        length += bytes.length
        if (length > size) break
        await handle.appendFile(opener ? opener.add(bytes) : bytes)
        copied(bytes.length)
      }
      if (opener && length === size) await handle.appendFile(opener.end())
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw copyError(from, to, error as NodeJS.ErrnoException)
  }
  if (length !== size || (sha256 !== undefined && hash.digest('hex') !== sha256))
    throw damaged(dirname(from), [`${basename(from)} has other bytes`])
}

/** Returns the failure of a copy as a sentence. */
export function copyError(from: string, to: string, error: NodeJS.ErrnoException): Error {
  const { code, message } = error
  if (error instanceof SealedFileError)
    return damaged(dirname(from), [`${basename(from)} has other bytes`])
  if (code === 'ENOENT') return damaged(dirname(from), [`${basename(from)} is missing`])
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new BackupError(
      `the disk of ${dirname(to)} is full; make room, or name a folder on another disk`,
      { cause: error },
    )
  return new BackupError(`${from} cannot be restored: ${message}`, { cause: error })
}
