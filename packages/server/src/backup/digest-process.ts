/** A process that computes the digest of the database that its argument names. */
import type { Digest } from '../transfer/digest.js'
import { digestOfCopy } from './digest-of-copy.js'

/** A message of the process; the last one has the digest or the reason of its failure. */
export type DigestMessage =
  | { readonly done: number }
  | { readonly digest: Digest }
  | { readonly error: string }

const reportMs = 500

let reportedAt = performance.now()
const send = (message: DigestMessage) =>
  new Promise((resolve) => process.send?.(message, undefined, undefined, resolve))
// Without its parent there is no use for the result.
process.on('disconnect', () => process.exit())

try {
  const digest = await digestOfCopy(process.argv[2] ?? '', {
    progress({ done = 0 }) {
      if (performance.now() - reportedAt < reportMs) return
      reportedAt = performance.now()
      void send({ done })
    },
  })
  await send({ digest })
} catch (error) {
  await send({ error: (error as Error).message })
}
process.disconnect()
