/** Files that a stranger may have made: opening a FIFO or reading a device may never end. */
import { constants } from 'node:fs'
import { open, stat } from 'node:fs/promises'

/** Returns an error; it gets the end of a sentence about the file. */
type Bad = (problem: string) => Error

const mebibyte = 1024 * 1024
const irregular = 'is no regular file'

/** The most bytes of a manifest: that of a hundred thousand applications has less. */
export const maxManifestBytes = 16 * mebibyte

/**
 * Reads a small file.
 * @throws the error of `bad` for a file that is longer than a manifest, or is none; that of the
 * system for a missing one
 */
export async function readSmallFile(path: string, bad: Bad): Promise<Buffer> {
  // Opening a FIFO would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw bad(irregular)
    if (found.size > maxManifestBytes) throw bad(`has more than ${maxManifestBytes / mebibyte} MiB`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/**
 * Returns the size of a file.
 * @throws the error of `bad` for another thing; that of the system for a missing one
 */
export async function sizeOfFile(path: string, bad: Bad): Promise<number> {
  const found = await stat(path)
  if (!found.isFile()) throw bad(irregular)
  return found.size
}
