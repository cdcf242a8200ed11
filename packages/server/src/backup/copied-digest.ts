import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { lowerPriority } from '../lib/system/low-priority.js'
import type { Digest, WorkOptions } from '../transfer/digest.js'
import { BackupError } from './backup-error.js'
import type { DigestMessage } from './digest-process.js'

const script = fileURLToPath(new URL('./digest-process.js', import.meta.url))

/**
 * Returns the digest of a copied database, from a process of low priority: hashing all rows takes a
 * processor for a while, which sends need.
 * @throws BackupError; the reason of the signal
 */
export async function copiedDigest(
  path: string,
  { signal, progress }: WorkOptions,
): Promise<Digest> {
  signal?.throwIfAborted()
  const child = fork(script, [path], { execArgv: [], stdio: 'ignore' })
  const end = () => child.kill('SIGKILL')
  signal?.addEventListener('abort', end)
  try {
    lowerPriority(child.pid)
    let last: DigestMessage = { error: 'its process was ended' }
    child.on('message', (message: DigestMessage) => {
      last = message
      if ('done' in message) progress?.(message)
    })
    // The last message may arrive after the exit.
    await Promise.all([once(child, 'exit'), once(child, 'disconnect')])
    signal?.throwIfAborted()
    return resultOf(last)
  } finally {
    signal?.removeEventListener('abort', end)
  }
}

function resultOf(message: DigestMessage): Digest {
  if ('digest' in message) return message.digest
  const reason = 'error' in message ? message.error : 'its process was ended'
  throw new BackupError(`the digest of the copied database was not computed: ${reason}`)
}
