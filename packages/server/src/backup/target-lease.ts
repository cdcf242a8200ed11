import { randomUUID } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../lib/system/is-running.js'
import { BackupError } from './backup-error.js'

/** Contents of the file of a lease. */
interface Holder {
  readonly host: string
  readonly pid: number
  /** Random; that of no other lease. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
}

/** The name of the file in the target. */
export const leaseName = 'hermod-backups.lease'
const renewMs = 10_000
/** The time without a renewal after which a lease is over. */
const leaseMs = 60_000
/** The IDs of the leases of this process. */
const held = new Set<string>()
/** The holder of a file whose writing was cut. */
const noHolder: Holder = { host: '', pid: 0, id: '', at: 0 }

/**
 * The right to write into a target; one process has it. After a pause, or a change of the clock,
 * another process may have taken it over: each use looks whose file it is, and the work ends.
 */
export class TargetLease implements AsyncDisposable {
  readonly #folder: string
  readonly #path: string
  /** Renewals write here, so that they never change the file of another process. */
  readonly #file: FileHandle
  readonly #id: string
  readonly #lost = new AbortController()
  readonly #timer: NodeJS.Timeout
  #renewedAt = performance.now()

  private constructor(folder: string, file: FileHandle, id: string) {
    this.#folder = folder
    this.#path = join(folder, leaseName)
    this.#file = file
    this.#id = id
    this.#timer = setInterval(() => void this.#renew(), renewMs)
    this.#timer.unref()
  }

  /** Aborted when another process may have the lease. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** @throws BackupError when another process writes into the target */
  static async take(folder: string): Promise<TargetLease> {
    const id = randomUUID()
    held.add(id)
    try {
      return new TargetLease(folder, await makeLease(folder, id), id)
    } catch (error) {
      held.delete(id)
      throw error
    }
  }

  /**
   * Checks that this process has the lease, before a step that would harm another writer.
   * @throws BackupError
   */
  async requireHeld(): Promise<void> {
    const holder = await readHolder(this.#path)
    if (holder === null)
      this.#end(
        `the backup folder ${this.#folder} is gone, as when its disk is unmounted, or its ${leaseName} was removed`,
      )
    else if (holder.id !== this.#id)
      this.#end(
        `process ${holder.pid} on ${holder.host} has taken over the backup folder ${this.#folder}, as after a pause of a minute; try again when its backup has ended`,
      )
    this.#lost.signal.throwIfAborted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    held.delete(this.#id)
    await this.#file.close().catch(() => {})
    const holder = await readHolder(this.#path).catch(() => null)
    if (holder?.id === this.#id) await rm(this.#path, { force: true }).catch(() => {})
  }

  async #renew(): Promise<void> {
    try {
      await this.requireHeld()
      await this.#file.write(holderText(this.#id), 0)
      this.#renewedAt = performance.now()
    } catch (error) {
      if (performance.now() - this.#renewedAt > leaseMs / 2)
        this.#end(
          `the backup folder ${this.#folder} cannot be written: ${(error as Error).message}`,
          error,
        )
    }
  }

  #end(text: string, cause?: unknown): void {
    clearInterval(this.#timer)
    this.#lost.abort(new BackupError(text, { cause }))
  }
}

/** @throws BackupError when another process, or another lease of this one, is there */
async function makeLease(folder: string, id: string): Promise<FileHandle> {
  const path = join(folder, leaseName)
  for (let attempt = 1; ; attempt++) {
    const file = await makeFile(path, id)
    if (file) return file
    const holder = await readHolder(path)
    if (holder === null) continue
    if (!isOver(holder) || attempt > 2)
      throw new BackupError(
        `another backup of ${folder} is in progress (process ${holder.pid} on ${holder.host}); try again when it has ended`,
      )
    await removeOver(path, id)
  }
}

/** The same length at every time, so that a renewal never leaves a rest of the text before. */
function holderText(id: string): string {
  const holder: Holder = { host: hostname(), pid: process.pid, id, at: Date.now() }
  return `${JSON.stringify(holder)}\n`
}

/** @returns null when there is one */
async function makeFile(path: string, id: string): Promise<FileHandle | null> {
  let file: FileHandle
  try {
    file = await open(path, 'wx', 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null
    throw error
  }
  try {
    await file.write(holderText(id), 0)
    return file
  } catch (error) {
    await file.close()
    await rm(path, { force: true })
    throw error
  }
}

/** @returns null when there is none any more */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    if (error instanceof SyntaxError) return noHolder
    throw error
  }
}

/**
 * Removes the file of a lease that is over. Of several processes that find it, one renames it; another
 * one may rename the new lease of the first, and gives it back.
 */
async function removeOver(path: string, id: string): Promise<void> {
  const old = `${path}.${id}`
  await rename(path, old).catch(() => {})
  const holder = await readHolder(old)
  if (holder && !isOver(holder)) await rename(old, path)
  else await rm(old, { force: true })
}

function isOver({ host, pid, id, at }: Holder): boolean {
  const age = Date.now() - at
  if (age > leaseMs || age < -leaseMs) return true
  if (host !== hostname()) return false
  // Of an earlier process, since in a container every start may have the same pid; or of a backup that
  // has ended while its disk was not mounted.
  return pid === process.pid ? !held.has(id) : !isRunning(pid)
}
