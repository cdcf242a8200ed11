import { open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { BackupError } from './backup-error.js'

/** Contents of the file of a lease. */
interface Holder {
  readonly host: string
  readonly pid: number
  /** Milliseconds since 1970. */
  readonly at: number
}

const fileName = 'hermod-backups.lease'
const renewMs = 10_000
/** A lease that was not renewed for so long is over. */
const leaseMs = 60_000

/** The right to write into a target; one process has it. */
export class TargetLease implements AsyncDisposable {
  readonly #path: string
  readonly #lost = new AbortController()
  readonly #timer: NodeJS.Timeout
  #renewedAt = Date.now()

  private constructor(path: string) {
    this.#path = path
    this.#timer = setInterval(() => void this.#renew(), renewMs)
    this.#timer.unref()
  }

  /** Aborted when another process may have the lease. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** @throws BackupError when another process writes into the target */
  static async take(folder: string): Promise<TargetLease> {
    const path = join(folder, fileName)
    for (let attempt = 1; ; attempt++) {
      if (await makeFile(path)) return new TargetLease(path)
      const holder = await readHolder(path)
      if (holder === null) continue
      if (!isOver(holder) || attempt > 2)
        throw new BackupError(
          `another backup of ${folder} is in progress (process ${holder.pid} on ${holder.host}); try again when it has ended`,
        )
      // Renamed before it is removed: of two processes that find an old lease, one renames it.
      const old = `${path}.old-${process.pid}`
      await rename(path, old).catch(() => {})
      await rm(old, { force: true })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    if (!this.#lost.signal.aborted) await rm(this.#path, { force: true }).catch(() => {})
  }

  async #renew(): Promise<void> {
    try {
      await writeFile(this.#path, holderText(), { flag: 'r+' })
      this.#renewedAt = Date.now()
    } catch (error) {
      if (Date.now() - this.#renewedAt < leaseMs / 2) return
      this.#lost.abort(
        new BackupError(`the backup folder is gone: ${(error as Error).message}`, { cause: error }),
      )
    }
  }
}

/** The same length at every time, so that a renewal never leaves a rest of the text before. */
function holderText(): string {
  const holder: Holder = { host: hostname(), pid: process.pid, at: Date.now() }
  return `${JSON.stringify(holder)}\n`
}

/** @returns false when there is one */
async function makeFile(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx')
    try {
      await handle.writeFile(holderText()).finally(() => handle.close())
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** @returns null when there is none any more */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    const text = await readFile(path, 'utf8')
    return text === '' ? { host: '', pid: 0, at: 0 } : (JSON.parse(text) as Holder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    if (error instanceof SyntaxError) return { host: '', pid: 0, at: 0 }
    throw error
  }
}

function isOver({ host, pid, at }: Holder): boolean {
  const age = Date.now() - at
  if (age > leaseMs || age < -leaseMs) return true
  if (host !== hostname()) return false
  const startedAt = Date.now() - process.uptime() * 1_000
  // In a container every start may have the same pid.
  return pid === process.pid ? at < startedAt : !isAlive(pid)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
