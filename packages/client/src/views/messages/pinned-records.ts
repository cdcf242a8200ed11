import type { CoreEvent } from '../../core/effects.js'
import { spreadMs } from '../../core/outcomes.js'
import { ClientError } from '../../errors.js'
import type { Batch } from '../../model/batch.js'
import { logKeyOf } from '../../model/log-key.js'
import { altered } from '../../model/message-fields.js'
import type { LogKey, MessageRecord } from '../../model/records.js'
import type { Clock } from '../../ports/clock.js'
import type { StateChange } from '../../sessions/session.js'
import type { Hub } from '../hub.js'

/** Time after a failed read. */
const retryMs = 10_000

interface UpdatedMessage {
  readonly conversation: unknown
  readonly seq: number
  readonly set: { readonly pinned?: unknown }
}

/** Functions of the view that the records need. */
export interface PinnedRecordsOptions {
  readonly key: () => LogKey
  /** Reads all pinned messages of the log from the server. @throws ClientError */
  readonly read: () => Promise<readonly MessageRecord[]>
  readonly memberCount: () => number
  readonly clock: Clock
  /** The records have changed. */
  readonly changed: () => void
}

/**
 * The pinned messages of a log. They are read when a view gets its first listener and with each new
 * connection, and follow the batches of the session in between. A message that is pinned meanwhile
 * comes from the store, or else from the server: then after a random time, since all members of a group
 * may need it.
 */
export class PinnedRecords {
  readonly #hub: Hub
  readonly #options: PinnedRecordsOptions
  /** By position; undefined: not read yet. */
  #rows: ReadonlyMap<number, MessageRecord> | undefined
  #isWatched = false
  #isOnline = false
  #isStale = true
  /** Positions of messages that are pinned, and not among the records. */
  readonly #missing = new Set<number>()
  /** Batches since a read began, which are newer than its answer; undefined: no read. */
  #journal: Batch[] | undefined
  #cancelWait: (() => void) | undefined

  constructor(hub: Hub, options: PinnedRecordsOptions) {
    this.#hub = hub
    this.#options = options
  }

  /** Another object after each change; undefined: not read yet. */
  get rows(): ReadonlyMap<number, MessageRecord> | undefined {
    return this.#rows
  }

  /** Keeps the records current. @returns ends that */
  watch(): () => void {
    this.#isWatched = true
    this.#isStale = true
    this.#isOnline = false
    const unwatch = this.#hub.watch((change) => this.#follow(change))
    const unlisten = this.#hub.session.onEvent((event) => this.#hear(event))
    // After the first value of the view.
    queueMicrotask(() => this.#connectionChanged())
    return () => {
      this.#isWatched = false
      unlisten()
      this.#endWait()
      unwatch()
    }
  }

  #follow(change: StateChange): void {
    if (change.type === 'reload') this.#isStale = true
    if (change.type === 'batch') {
      this.#journal?.push(change.batch)
      this.#apply(change.batch)
    }
    this.#connectionChanged()
  }

  /** Batches leave out changes of messages that the store lacks. */
  #hear({ kind, data }: CoreEvent): void {
    if (kind !== 'message.updated') return
    const { conversation, seq, set } = data as UpdatedMessage
    if (set.pinned === undefined || logKeyOf(conversation) !== this.#options.key()) return
    if (set.pinned === null) this.#drop(seq)
    else if (!this.#rows?.has(seq)) this.#missing.add(seq)
    // An answer on its way may be older.
    if (this.#journal) this.#isStale = true
    void this.#load()
    this.#options.changed()
  }

  #connectionChanged(): void {
    const wasOnline = this.#isOnline
    this.#isOnline = this.#hub.session.state.live.connection.state === 'online'
    if (this.#isOnline && !wasOnline) this.#isStale = true
    void this.#load()
  }

  /** Reads what is missing, one read after the other. */
  async #load(): Promise<void> {
    while (this.#isWatched && this.#isOnline && !this.#journal) {
      if (!this.#isStale && this.#missing.size === 0) return
      const journal: Batch[] = []
      this.#journal = journal
      try {
        if (this.#isStale) await this.#readAll()
        else await this.#readMissing()
        for (const batch of journal) this.#apply(batch)
      } catch (error) {
        this.#failed(error)
      } finally {
        this.#journal = undefined
      }
      this.#options.changed()
    }
  }

  async #readAll(): Promise<void> {
    this.#endWait()
    this.#isStale = false
    this.#missing.clear()
    const records = await this.#options.read()
    this.#rows = new Map(records.map((record) => [record.seq, record]))
  }

  async #readMissing(): Promise<void> {
    const log = this.#options.key()
    const seqs = [...this.#missing]
    this.#missing.clear()
    for (const seq of seqs) {
      const query = { log, fromSeq: seq, toSeq: seq, limit: 1 }
      const [record] = await this.#hub.session.messages(query)
      if (record?.fields?.pinned) this.#put(record)
      // One that is stored without its pin gets it by the next batch.
      else if (!record) this.#readLater(spreadMs(this.#options.clock, this.#options.memberCount()))
    }
  }

  #failed(error: unknown): void {
    if (error instanceof ClientError && error.retry) this.#readLater(retryMs)
    // An older service, or no member any more.
    else this.#rows = new Map()
  }

  #readLater(ms: number): void {
    this.#cancelWait ??= this.#options.clock.after(ms, () => {
      this.#cancelWait = undefined
      this.#isStale = true
      void this.#load()
    })
  }

  #endWait(): void {
    this.#cancelWait?.()
    this.#cancelWait = undefined
  }

  #apply({ isReset, goneLogs, emptiedLogs, hidden, removed, messages, updated }: Batch): void {
    const log = this.#options.key()
    const isOfLog = (each: { readonly log: LogKey }) => each.log === log
    if (isReset || goneLogs.includes(log) || emptiedLogs.includes(log)) this.#isStale = true
    for (const { msgId } of hidden.filter(isOfLog))
      for (const record of this.#rows?.values() ?? [])
        if (record.msgId <= msgId) this.#drop(record.seq)
    for (const { seq } of removed.filter(isOfLog)) this.#drop(seq)
    for (const message of messages.filter(isOfLog)) this.#take(message)
    for (const { seq, ...alteration } of updated.filter(isOfLog)) {
      const row = this.#rows?.get(seq)
      const { pinned } = alteration.set
      if (row) this.#take(altered(row, alteration))
      else if (pinned) this.#missing.add(seq)
      else if (pinned === null) this.#missing.delete(seq)
    }
  }

  #take(record: MessageRecord): void {
    if (record.fields?.pinned) this.#put(record)
    else this.#drop(record.seq)
  }

  #put(record: MessageRecord): void {
    this.#missing.delete(record.seq)
    if (this.#rows) this.#rows = new Map(this.#rows).set(record.seq, record)
  }

  #drop(seq: number): void {
    this.#missing.delete(seq)
    if (!this.#rows?.has(seq)) return
    const rows = new Map(this.#rows)
    rows.delete(seq)
    this.#rows = rows
  }
}
