import type { CoreContext } from '../core-context.js'
import { set } from '../logs/log-fold.js'
import type { Logs, Watch } from '../logs/logs.js'
import type { Part, PartInput } from '../part.js'
import { coveredFrom } from '../ranges.js'
import type { LogKey } from '../../model/records.js'
import type { History } from './history.js'

/** Parts that Latest uses. */
export interface LatestOptions {
  readonly history: Pick<History, 'read'>
  /** Returns a random time before a request that all readers of a log make after the same event. */
  spreadMs(key: LogKey): number
}

interface Lookup {
  readonly key: LogKey
  readonly watch: Watch
}

/** Logs that are looked up at the same time. */
const maxLookups = 3
/** Messages to read from the server for one log. */
const limit = 10
/** Reads of the server for one log in a row. */
const maxReads = 20

/**
 * Finds the newest visible message of logs where it is not known, because it was recalled or did
 * not fit in a page: in the store, else from the server.
 */
export class Latest implements Part {
  readonly #context: CoreContext
  readonly #logs: Logs
  readonly #history: Pick<History, 'read'>
  readonly #spreadMs: (key: LogKey) => number
  readonly #wanted = new Set<LogKey>()
  /** Logs that have waited for their turn at the server. */
  readonly #waited = new Set<LogKey>()
  /** Reads of the server by log, so that a log is given up. */
  readonly #reads = new Map<LogKey, number>()
  readonly #active = new Set<LogKey>()
  readonly #lookups = new Map<number, Lookup>()
  #lastRequest = 0
  #isPlanned = false

  constructor(context: CoreContext, logs: Logs, { history, spreadMs }: LatestOptions) {
    this.#context = context
    this.#logs = logs
    this.#history = history
    this.#spreadMs = spreadMs
  }

  /** The newest visible message of a log is not known. */
  need(key: LogKey): void {
    if (this.#active.has(key) || this.#context.isTimed(timerOf(key))) return
    this.#wanted.add(key)
    this.#plan()
  }

  opened(): void {
    this.#reads.clear()
    for (const { key, last } of this.#logs.records()) if (last === undefined) this.need(key)
  }

  reset(): void {
    this.#wanted.clear()
  }

  input(input: PartInput): void {
    if (input.type !== 'messages') return
    const lookup = this.#lookups.get(input.request)
    if (!lookup) return
    this.#lookups.delete(input.request)
    const { key, watch } = lookup
    this.#logs.unwatch(key, watch)
    this.#active.delete(key)
    const record = this.#logs.get(key)
    if (record && record.last === undefined) {
      const [newest] = input.messages
      const message = newest && newest.msgId > record.hiddenMsgId ? newest : undefined
      const covered = coveredFrom(record.ranges, record.seq + 1)
      const isNewest = covered <= (newest?.seq ?? 0) + 1
      if (watch.isVoid || watch.altered.size > 0) this.#wanted.add(key)
      else if (isNewest) this.#logs.fold(key, (fold) => set(fold, { last: message ?? null }))
      else if (this.#waited.delete(key)) this.#readServer(key)
      else this.#wait(key)
    }
    this.#plan()
  }

  /** Begins after the current input, when the store has all changes: it must not show what they remove. */
  #plan(): void {
    if (this.#isPlanned || this.#wanted.size === 0) return
    this.#isPlanned = true
    this.#context.afterCommit(() => {
      this.#isPlanned = false
      if (this.#context.batch.isChanged) this.#plan()
      else this.#begin()
    })
  }

  #begin(): void {
    for (const key of this.#wanted) {
      if (this.#active.size >= maxLookups) return
      this.#wanted.delete(key)
      const record = this.#logs.get(key)
      if (!record || record.last !== undefined) continue
      this.#active.add(key)
      const request = ++this.#lastRequest
      this.#lookups.set(request, { key, watch: this.#logs.watch(key) })
      const query = { log: key, fromSeq: 1, toSeq: record.seq, limit: 1 }
      this.#context.emit({ type: 'readMessages', request, query })
    }
  }

  /** All members of a group may miss the same message, after a recall. A waiting read takes no place. */
  #wait(key: LogKey): void {
    this.#context.after(timerOf(key), this.#spreadMs(key), () => {
      this.#waited.add(key)
      this.need(key)
    })
  }

  #readServer(key: LogKey): void {
    const beforeSeq = (this.#logs.get(key)?.seq ?? 0) + 1
    const reads = this.#reads.get(key) ?? 0
    if (!this.#context.isOpen || reads >= maxReads) return
    this.#reads.set(key, reads + 1)
    this.#active.add(key)
    this.#history.read(key, { beforeSeq, limit }, (outcome) => {
      this.#active.delete(key)
      // The messages are in the store when the next lookup begins.
      if (!('failure' in outcome)) this.need(key)
      else this.#plan()
    })
  }
}

const timerOf = (key: LogKey) => `latest ${key}`
