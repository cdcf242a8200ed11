import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { VerificationOrder } from '../../domain/backup/verification-service.js'
import type { LongJobRun } from '../../domain/long-jobs/long-job-model.js'
import { lowerPriority } from '../../lib/system/low-priority.js'

const script = fileURLToPath(new URL('../../../bin/hermod.js', import.meta.url))

/** A line of `hermod backup verify --json` before the last one. */
interface ProgressLine {
  readonly done: number
  readonly total: number
  readonly text: string
}

/**
 * Runs `hermod backup verify` as a process of low priority with the settings of this one, so that
 * neither the memory nor the event loop of the service has its work.
 * @returns the result of the command
 * @throws Error with the sentence of the command
 */
export async function verifyInProcess(
  { backup, passphraseFile }: VerificationOrder,
  { signal, progress }: LongJobRun,
): Promise<object> {
  signal.throwIfAborted()
  const args = ['backup', 'verify', backup, '--json']
  if (passphraseFile !== undefined) args.push('--passphrase-file', passphraseFile)
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const end = () => child.kill('SIGTERM')
  signal.addEventListener('abort', end)
  try {
    const exit = once(child, 'close')
    const errors = text(child.stderr)
    lowerPriority(child.pid)
    let last: object = {}
    for await (const line of createInterface({ input: child.stdout })) {
      last = JSON.parse(line)
      if (isProgress(last)) progress(last)
    }
    const [code] = await exit
    signal.throwIfAborted()
    if (code !== 0) throw new Error(reasonOf(await errors))
    return last
  } finally {
    signal.removeEventListener('abort', end)
  }
}

function isProgress(line: object): line is ProgressLine {
  return 'done' in line && 'text' in line
}

/** The message in the last line of the errors. */
function reasonOf(errors: string): string {
  const last = errors.trimEnd().split('\n').at(-1) ?? ''
  try {
    return (JSON.parse(last) as { readonly message: string }).message
  } catch {
    return last || 'hermod backup verify was ended'
  }
}
