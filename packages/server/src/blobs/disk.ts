/** Disk operations of the stores, and their failures. */
import { type FileHandle, mkdir, rm } from 'node:fs/promises'
import { BlobError } from './blob-store.js'

/** Writes a whole chunk at the end of the last write. @throws the error of the file system */
export async function writeAll(handle: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await handle.write(chunk, at)).bytesWritten
}

/** Empties a folder, or makes it. @throws the error of the file system */
export async function emptyFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
}

/** Reports whether an error says that there is no such file or folder. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errnoOf(error))
}

/** Maps a failure of the file system to one of a store. */
export function diskError(cause: unknown): BlobError {
  if (cause instanceof BlobError) return cause
  if (isMissing(cause)) return new BlobError('not_found', 'there is no such file', { cause })
  if (isDiskFull(cause)) return new BlobError('full', 'the disk is full', { cause })
  const text = `the disk answers ${errnoOf(cause) || String(cause)}`
  return new BlobError('unavailable', text, { cause })
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errnoOf(error))
}

function errnoOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
