import type { Readable } from 'node:stream'
import { headBytes } from '../../../media/media.js'

/**
 * Peeks at the first {@link headBytes} bytes of a body.
 * @returns fewer only for a shorter body; none for an empty one
 * @throws the error of a body that fails before
 */
export function firstBytesOf(body: Readable): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      body.off('readable', look).off('end', empty).off('error', fail).off('close', cut)
      end()
    }
    const look = () => {
      const head: Buffer | null = body.read(headBytes)
      if (head === null) return
      body.unshift(head)
      settle(() => resolve(head))
    }
    const empty = () => settle(() => resolve(Buffer.alloc(0)))
    const fail = (error: Error) => settle(() => reject(error))
    const cut = () => fail(new Error('the body was closed before its end'))
    if (body.errored) return reject(body.errored)
    if (body.destroyed) return cut()
    body.on('readable', look).on('end', empty).on('error', fail).on('close', cut)
    look()
  })
}
