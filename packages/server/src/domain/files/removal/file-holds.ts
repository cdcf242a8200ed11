import { randomUUID } from 'node:crypto'
import type { Database } from '../../../db/database.js'
import { pause } from '../../../lib/concurrency/pause.js'
import type { FileHoldStore } from '../file-hold-store.js'

interface FileHoldsOptions {
  readonly database: Database
  readonly store: FileHoldStore
}

const leaseMs = 60_000
const renewMs = 15_000
const lookMs = 1_000
/** The time for which a removal waits before it is repeated. */
const patienceMs = 60_000

/**
 * Holds that a backup takes, so that no node removes a blob that it is going to copy. A removal
 * commits first, then looks for holds, then removes blobs. So a hold that it does not see was taken
 * after its commit, and the backup, which reads the rows after it has taken the hold, does not know
 * the removed files.
 */
export class FileHolds {
  constructor(private readonly options: FileHoldsOptions) {}

  async take(): Promise<FileHold> {
    const { database, store } = this.options
    const holdId = randomUUID()
    await database.transaction((tx) => store.insert(tx, holdId, leaseMs))
    return new FileHold(this.options, holdId)
  }

  /** Reports whether no blob may be removed now. */
  async isHeld(): Promise<boolean> {
    const { database, store } = this.options
    return database.read((db) => store.hasAny(db))
  }

  /** Waits until blobs may be removed. @throws Error after a minute; the reason of the signal */
  async untilFree(signal: AbortSignal): Promise<void> {
    for (const endsAt = performance.now() + patienceMs; await this.isHeld(); ) {
      if (performance.now() > endsAt)
        throw new Error('a backup holds the files; they stay until it ends')
      await pause(lookMs, signal)
      signal.throwIfAborted()
    }
  }
}

/** Keeps blobs from being removed until it is disposed, or a minute after its process has died. */
export class FileHold implements AsyncDisposable {
  readonly #lost = new AbortController()
  readonly #timer: NodeJS.Timeout
  #renewedAt = performance.now()

  constructor(
    private readonly options: FileHoldsOptions,
    private readonly holdId: string,
  ) {
    this.#timer = setInterval(() => void this.#renew(), renewMs)
    this.#timer.unref()
  }

  /** Aborted when blobs may have been removed. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    const { database, store } = this.options
    // Without a database it ends by itself.
    await database.statement((tx) => store.delete(tx, this.holdId)).catch(() => {})
  }

  async #renew(): Promise<void> {
    const { database, store } = this.options
    const at = performance.now()
    try {
      if (await database.statement((tx) => store.renew(tx, this.holdId, leaseMs)))
        this.#renewedAt = at
      else this.#end('its hold is over')
    } catch (error) {
      if (performance.now() - this.#renewedAt > leaseMs - renewMs)
        this.#end(`its hold was not renewed: ${(error as Error).message}`)
    }
  }

  #end(reason: string): void {
    clearInterval(this.#timer)
    this.#lost.abort(new Error(`files may have been removed during the backup, since ${reason}`))
  }
}
