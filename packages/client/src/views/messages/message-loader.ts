import { type Failure, ClientError, failureOf } from '../../errors.js'
import type { LogKey } from '../../model/records.js'
import type { StateChange } from '../../sessions/session.js'
import type { Hub } from '../hub.js'
import { type StoredRow, shownRows } from './compose-messages.js'
import { LogWindow } from './message-window.js'

/** Messages of the first page, and of each further one. */
export const pageSize = 50
/** Messages that a list keeps; those that were loaded by request come on top. */
const roomOfList = 500
/** The most pages and holes that one request loads. */
const maxLoads = 20

/** Functions of the list that a loader calls. */
export interface LoaderOptions {
  /** Returns the logs of the conversation, as they are known now. */
  readonly keys: () => readonly LogKey[]
  /** The conversation has other logs than before. */
  readonly keysChanged: () => void
  /** Loads have begun, ended or changed something. */
  readonly changed: () => void
}

/**
 * Loads the messages of one conversation into a window for each of its logs, and keeps them current from the
 * first load on. Loads run one after the other.
 */
export class MessageLoader {
  readonly #hub: Hub
  readonly #options: LoaderOptions
  #windows: readonly LogWindow[] = []
  /** Those that replace the windows when they are loaded. */
  #fresh: readonly LogWindow[] = []
  #changes = 0
  #failure: Failure | undefined
  /** Loads that are not finished. */
  #pending = 0
  #queue: Promise<unknown> = Promise.resolve()
  #room = roomOfList
  #isFollowing = false
  #isWatched = false
  /** True: batches were missed, so everything is read again. */
  #isStale = false
  #wasOnline = false
  /**
   * The request for older messages in progress; an app that scrolls asks more than once for the
   * same page.
   */
  #older: Promise<void> | undefined
  #newer: Promise<void> | undefined

  constructor(hub: Hub, options: LoaderOptions) {
    this.#hub = hub
    this.#options = options
  }

  /** Grows with each change of what is loaded. */
  get changes(): number {
    return this.#changes
  }

  /** Loads that are not finished. */
  get pending(): number {
    return this.#pending
  }

  /** Why the last load failed. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The loaded parts of the logs that the conversation has now. */
  get windows(): readonly LogWindow[] {
    const keys = this.#options.keys()
    if (keys.join() !== this.#windows.map(({ key }) => key).join()) {
      this.#windows = keys.map((key) => new LogWindow(this.#hub.session, key))
      this.#changes++
      this.#options.keysChanged()
    }
    return this.#windows
  }

  /** The stored messages to show. */
  get rows(): readonly StoredRow[] {
    return shownRows(this.windows, this.#failure !== undefined)
  }

  get hasOlder(): boolean {
    return this.windows.some(({ hasOlder }) => hasOlder)
  }

  get hasNewer(): boolean {
    return this.windows.some(({ hasNewer }) => hasNewer)
  }

  /** True: a load runs, or has to. */
  get isLoading(): boolean {
    return this.#pending > 0 || (!this.#failure && (this.#isUnloaded || this.isUnknown))
  }

  /** True: the list of logs is still to come, so there may be messages. */
  get isUnknown(): boolean {
    const { pos, listCursor } = this.#hub.session.state.meta
    if (this.#hub.isEnded) return false
    return (pos === '' || listCursor !== '') && this.windows.every(({ record }) => !record)
  }

  /**
   * Loads from now on what a view with listeners has to show.
   * @returns ends that, and drops what is too much
   */
  watch(): () => void {
    this.#isWatched = true
    this.#failure = undefined
    this.#wasOnline = this.#isOnline
    this.#startFollowing()
    // After the first value of the view.
    queueMicrotask(() => this.#ensure())
    return () => {
      this.#isWatched = false
      this.#room = roomOfList
      for (const window of this.#windows) window.trim(pageSize)
      this.#changes++
    }
  }

  /** @throws ClientError */
  loadOlder(limit: number): Promise<void> {
    this.#older ??= this.#run('older', async () => {
      this.#room += limit
      if (this.#isStale) await this.#loadAgain()
      await this.#loadUpTo(this.rows.length + limit)
    }).finally(() => {
      this.#older = undefined
    })
    return this.#older
  }

  /** @throws ClientError */
  loadNewer(limit: number): Promise<void> {
    this.#newer ??= this.#run('newer', async () => {
      if (this.#isStale) await this.#loadAgain()
      const goal = this.rows.length + limit
      for (let loads = 0; loads < maxLoads && this.rows.length < goal; loads++) {
        // The log that hides newer messages of the other one.
        const [next] = this.windows
          .filter(({ hasNewer }) => hasNewer)
          .sort((a, b) => a.completeTo - b.completeTo)
        if (next === undefined) return
        await next.loadNewer(limit)
      }
    }).finally(() => {
      this.#newer = undefined
    })
    return this.#newer
  }

  /** Shows the messages around one. @throws ClientError */
  loadAround(msgId: number, size: number): Promise<void> {
    return this.#run('around', () => this.#replace((window) => window.loadAround(msgId, size)))
  }

  /** Shows the newest messages. @throws ClientError */
  loadLatest(): Promise<void> {
    return this.#run('around', () => this.#loadEnds())
  }

  get #isOnline(): boolean {
    return this.#hub.session.state.live.connection.state === 'online'
  }

  get #isUnloaded(): boolean {
    return this.windows.some(({ lower }) => lower === undefined)
  }

  /** True: what was loaded is gone. */
  get #isEmpty(): boolean {
    return this.rows.length === 0 && (this.hasOlder || this.hasNewer)
  }

  get #isIncomplete(): boolean {
    return (
      this.#isStale ||
      this.#isUnloaded ||
      this.#isEmpty ||
      (this.#isOnline && this.windows.some(({ hasHole }) => hasHole))
    )
  }

  #startFollowing(): void {
    if (this.#isFollowing) return
    this.#isFollowing = true
    this.#hub.watch((change) => this.#follow(change))
  }

  #follow(change: StateChange): void {
    if (change.type === 'reload') this.#isStale = true
    if (change.type === 'batch')
      for (const window of [...this.#windows, ...this.#fresh])
        if (window.apply(change.batch)) {
          this.#changes++
          window.trim(this.#room)
        }
    // After a failure only a new connection is a reason to try again.
    if (this.#isOnline && !this.#wasOnline) this.#failure = undefined
    this.#wasOnline = this.#isOnline
    this.#ensure()
  }

  /** Loads what a view with listeners has to show. */
  #ensure(): void {
    if (this.#isWatched && this.#pending === 0 && !this.#failure && this.#isIncomplete)
      this.#run('complete', () => this.#complete()).catch(() => {})
  }

  #run(kind: 'complete' | 'older' | 'newer' | 'around', load: () => Promise<void>): Promise<void> {
    this.#startFollowing()
    this.#pending++
    const before = this.#changes
    const finish = (error?: unknown) => {
      this.#failure = error === undefined ? undefined : failureFrom(error)
      this.#pending--
      const isChanged = this.#changes !== before
      this.#changes++
      this.#options.changed()
      // Something may be incomplete still, or again; but a load that changed nothing is not repeated.
      if (isChanged || kind !== 'complete') this.#ensure()
    }
    const result = this.#queue.then(load).then(
      () => finish(),
      (error: unknown) => {
        finish(error)
        throw error
      },
    )
    this.#queue = result.catch(() => {})
    this.#options.changed()
    return result
  }

  async #complete(): Promise<void> {
    if (this.#isStale) await this.#loadAgain()
    if (this.#isEmpty && this.hasNewer) await this.#loadEnds()
    if (this.#isUnloaded || this.#isEmpty) await this.#loadUpTo(pageSize)
    for (const window of this.windows)
      for (let fills = 0; fills < maxLoads && this.#isOnline && window.hasHole; fills++)
        await window.fillHole()
  }

  /** Loads until this number of messages is shown, or all. */
  async #loadUpTo(goal: number): Promise<void> {
    const { windows } = this
    for (const window of windows) if (window.lower === undefined) await window.loadOlder(pageSize)
    for (let loads = 0; loads < maxLoads; loads++) {
      const missing = goal - this.rows.length
      // The log that hides older messages of the other one.
      const [next] = windows
        .filter(({ hasOlder }) => hasOlder)
        .sort((a, b) => b.completeFrom - a.completeFrom)
      if (missing <= 0 || next === undefined) return
      await next.loadOlder(missing)
    }
  }

  async #loadAgain(): Promise<void> {
    this.#isStale = false
    await this.#replace(async (window, { lower, upper, rows }) => {
      if (lower !== undefined && upper !== undefined) await window.loadRange(lower, upper)
      else if (lower !== undefined) await window.loadOlder(Math.max(pageSize, rows.size))
    })
  }

  #loadEnds(): Promise<void> {
    return this.#replace((window) => window.loadOlder(pageSize))
  }

  /** Loads other windows, which take the place of the present ones when all are loaded. */
  async #replace(load: (window: LogWindow, former: LogWindow) => Promise<void>): Promise<void> {
    const pairs = this.windows.map(
      (former) => [new LogWindow(this.#hub.session, former.key, former), former] as const,
    )
    this.#fresh = pairs.map(([window]) => window)
    for (const [window, former] of pairs) await load(window, former)
    this.#windows = this.#fresh
    this.#fresh = []
  }
}

function failureFrom(error: unknown): Failure {
  return error instanceof ClientError ? error : failureOf('not_connected', String(error), true)
}
