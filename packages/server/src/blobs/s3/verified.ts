import type { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { BlobError } from '../blob-store.js'

interface Expectation {
  readonly size: number
  /** Undefined: only the size is known. */
  readonly crc32: number | undefined
}

/**
 * Yields the bytes of an answer, the last chunk only when all of them were right: a reader never
 * takes wrong bytes for the whole.
 *
 * @throws BlobError damaged, unavailable
 */
export async function* verified(
  body: Readable,
  expected: Expectation,
): AsyncGenerator<Buffer, void> {
  let held: Buffer | null = null
  let size = 0
  let checksum = 0
  for await (const chunk of uncut(body)) {
    if (held) yield held
    held = chunk
    size += chunk.length
    if (expected.crc32 !== undefined) checksum = crc32(chunk, checksum)
  }
  const isRight =
    size === expected.size && (expected.crc32 === undefined || checksum === expected.crc32)
  if (!isRight) throw new BlobError('damaged', 'the object store sent other bytes than were stored')
  if (held) yield held
}

async function* uncut(body: Readable): AsyncGenerator<Buffer, void> {
  try {
    yield* body as AsyncIterable<Buffer>
  } catch (cause) {
    throw new BlobError('unavailable', 'the object store broke off', { cause })
  }
}
