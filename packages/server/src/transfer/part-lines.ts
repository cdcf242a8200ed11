import { open } from 'node:fs/promises'

/** Lines of a file that follow one another. */
export interface LineBatch {
  readonly lines: readonly string[]
  /** The place in the file after them. */
  readonly end: number
}

const chunkBytes = 2 ** 21
const lineBreak = 0x0a

/**
 * Reads the lines of a file in batches of about two megabytes.
 * @param from a place after a line break, or 0
 */
export async function* readLineBatches(
  path: string,
  from: number,
): AsyncGenerator<LineBatch, void> {
  const file = await open(path)
  try {
    let rest = Buffer.alloc(0)
    let end = from
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes)
      const { bytesRead } = await file.read(chunk, 0, chunkBytes, end + rest.length)
      if (bytesRead === 0) return
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
      const last = bytes.lastIndexOf(lineBreak)
      rest = bytes.subarray(last + 1)
      if (last < 0) continue
      end += last + 1
      yield { lines: bytes.toString('utf8', 0, last).split('\n'), end }
    }
  } finally {
    await file.close()
  }
}
