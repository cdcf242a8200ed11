import type { Readable } from 'node:stream'
import { MediaError } from './media.js'

/**
 * Reads all bytes of a source, which is destroyed at the end.
 *
 * @throws MediaError too_complex above `maxBytes`; and the error of the source
 */
export async function readBounded(source: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes)
      throw new MediaError('too_complex', `more than ${maxBytes} bytes are not converted`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}
