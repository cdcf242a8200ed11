/** Files that a stranger may have made: opening a FIFO or reading a device may never end. */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'

/** Returns an error; it gets the end of a sentence about the file. */
type Bad = (problem: string) => Error

const mebibyte = 1024 * 1024
const irregular = 'is no regular file'
/** Opening a FIFO would wait for a writer. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK

/** The most bytes of a manifest: that of a hundred thousand applications has less. */
export const maxManifestBytes = 16 * mebibyte

/**
 * Reads a small file.
 * @throws the error of `bad` for a file that is longer than a manifest, or is none; that of the
 * system for a missing one
 */
export async function readSmallFile(path: string, bad: Bad): Promise<Buffer> {
  const file = await open(path, withoutWaiting)
  try {
    requireSmallFile(await file.stat(), bad)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Does the same as `readSmallFile` while the process waits, for files of the settings. */
export function readSmallFileSync(path: string, bad: Bad): Buffer {
  const file = openSync(path, withoutWaiting)
  try {
    requireSmallFile(fstatSync(file), bad)
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

function requireSmallFile(found: Stats, bad: Bad): void {
  if (!found.isFile()) throw bad(irregular)
  if (found.size > maxManifestBytes) throw bad(`has more than ${maxManifestBytes / mebibyte} MiB`)
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
