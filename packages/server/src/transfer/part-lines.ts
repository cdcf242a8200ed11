import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { LineSplitter } from '../lib/line-splitter.js'
import { TransferError } from './transfer-error.js'

/** Lines of a file that follow one another. */
export interface LineBatch {
  readonly lines: readonly string[]
  /** The place in the file after them. */
  readonly end: number
}

const chunkBytes = 2 ** 21

/**
 * Reads the lines of a part of an export in batches of about two megabytes.
 * @param from a place after a line break, or 0
 * @throws TransferError for a line that is too long or does not end
 */
export async function* readLineBatches(
  folder: string,
  part: string,
  from = 0,
): AsyncGenerator<LineBatch, void> {
  const bad = (problem: string) =>
    new TransferError(`${part} of the export in ${folder} ${problem}; run hermod export again`)
  const splitter = new LineSplitter(bad)
  const file = await open(join(folder, part))
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    let at = from
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, at)
      if (bytesRead === 0) break
      at += bytesRead
      const lines = splitter.add(chunk.subarray(0, bytesRead))
      if (lines.length > 0) yield { lines, end: at - splitter.rest }
    }
    if (splitter.rest > 0) throw bad('has a last line without a line break')
  } finally {
    await file.close()
  }
}
