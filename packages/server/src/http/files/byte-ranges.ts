/** Several parts of a file in one body (RFC 9110, section 14.6). */
import { randomBytes } from 'node:crypto'
import type { ByteRange } from '../../lib/system/byte-range.js'

/** A body of the type multipart/byteranges. */
export interface ByteRangesBody {
  readonly contentType: string
  /** In bytes. */
  readonly length: number
  readonly body: AsyncIterable<Buffer>
}

/**
 * @param file.open returns the bytes of a range; called for one range after another while the body
 * is read
 */
export function byteRangesBody(
  file: {
    readonly contentType: string
    readonly size: number
    open(range: ByteRange): Promise<Buffer | AsyncIterable<Buffer>>
  },
  ranges: readonly ByteRange[],
): ByteRangesBody {
  const boundary = randomBytes(18).toString('base64url')
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  const parts = ranges.map((range) => {
    const head = `\r\n--${boundary}\r\ncontent-type: ${file.contentType}\r\ncontent-range: ${contentRange(range, file.size)}\r\n\r\n`
    return { head: Buffer.from(head), range }
  })
  const lengths = parts.map(({ head, range }) => head.length + rangeLength(range))
  return {
    contentType: `multipart/byteranges; boundary=${boundary}`,
    length: lengths.reduce((sum, length) => sum + length, end.length),
    body: (async function* () {
      for (const { head, range } of parts) {
        yield head
        const bytes = await file.open(range)
        if (Buffer.isBuffer(bytes)) yield bytes
        else yield* bytes
      }
      yield end
    })(),
  }
}

/** Returns the header of the part that is sent. @param size of the whole file in bytes */
export function contentRange({ start, end }: ByteRange, size: number): string {
  return `bytes ${start}-${end}/${size}`
}

/** In bytes. */
export function rangeLength({ start, end }: ByteRange): number {
  return end - start + 1
}
