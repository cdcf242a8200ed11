import type { IncomingMessage } from 'node:http'

/** The body was longer than allowed; the rest of it is not read. */
export const tooLarge = Symbol('body too large')

/**
 * Reads a request body into memory.
 * @returns null when the client went away before its end
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | typeof tooLarge | null> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(tooLarge)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    const take = (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) chunks.push(chunk)
      else {
        request.off('data', take)
        resolve(tooLarge)
      }
    }
    request.on('data', take)
    request.on('end', () =>
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
    )
    request.on('close', () => resolve(null))
  })
}
