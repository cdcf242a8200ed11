import type { Readable } from 'node:stream'

/** So much tells the type of every file that is known. */
const headBytes = 4_100

/**
 * Looks at the beginning of a body, which stays in it.
 * @returns shorter than 4,100 bytes only of a body that is; empty of an empty one
 * @throws what the body fails with before that
 */
export function headOf(body: Readable): Promise<Buffer> {
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
