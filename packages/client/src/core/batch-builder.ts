import type { Batch } from './batch.js'
import type {
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  ThingRecord,
  UnsentRecord,
} from './records.js'

const messageKey = (log: LogKey, seq: number) => `${log} ${seq}`

/**
 * Collects changes until the batch before is committed. Of several changes to one record the last
 * one counts, so a thousand events of a log write its record once.
 */
export class BatchBuilder {
  #meta: MetaRecord
  #isChanged = false
  #isReset = false
  readonly #goneLogs = new Set<LogKey>()
  readonly #emptiedLogs = new Set<LogKey>()
  readonly #hidden = new Map<LogKey, number>()
  readonly #removed = new Map<string, { readonly log: LogKey; readonly seq: number }>()
  readonly #logs = new Map<LogKey, LogRecord>()
  readonly #messages = new Map<string, MessageRecord>()
  readonly #unsent = new Map<number, UnsentRecord>()
  readonly #sent = new Set<number>()
  readonly #things = new Map<string, ThingRecord>()
  readonly #goneThings = new Set<string>()

  constructor(meta: MetaRecord) {
    this.#meta = meta
  }

  /** False: there is nothing to apply. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  get meta(): MetaRecord {
    return this.#meta
  }

  setMeta(changes: Partial<Omit<MetaRecord, 'commit'>>): void {
    this.#meta = { ...this.#meta, ...changes }
    this.#isChanged = true
  }

  /** Drops everything but unsent messages, in the store and here. */
  reset(): void {
    this.#isReset = true
    this.#isChanged = true
    for (const table of [this.#goneLogs, this.#emptiedLogs, this.#hidden, this.#removed])
      table.clear()
    for (const table of [this.#logs, this.#messages, this.#things, this.#goneThings]) table.clear()
  }

  putLog(record: LogRecord): void {
    this.#logs.set(record.key, record)
    this.#isChanged = true
  }

  dropLog(log: LogKey): void {
    this.#forgetMessages(log)
    this.#logs.delete(log)
    this.#goneLogs.add(log)
    this.#isChanged = true
  }

  /** Drops all messages of a log. */
  emptyLog(log: LogKey): void {
    this.#forgetMessages(log)
    this.#emptiedLogs.add(log)
    this.#isChanged = true
  }

  /** Drops messages of a log up to an ID. */
  hide(log: LogKey, msgId: number): void {
    for (const [key, message] of this.#messages)
      if (message.log === log && message.msgId <= msgId) this.#messages.delete(key)
    this.#hidden.set(log, Math.max(msgId, this.#hidden.get(log) ?? 0))
    this.#isChanged = true
  }

  putMessage(record: MessageRecord): void {
    const key = messageKey(record.log, record.seq)
    this.#removed.delete(key)
    this.#messages.set(key, record)
    this.#isChanged = true
  }

  removeMessage(log: LogKey, seq: number): void {
    const key = messageKey(log, seq)
    this.#messages.delete(key)
    this.#removed.set(key, { log, seq })
    this.#isChanged = true
  }

  putUnsent(record: UnsentRecord): void {
    this.#sent.delete(record.transactionId)
    this.#unsent.set(record.transactionId, record)
    this.#isChanged = true
  }

  dropUnsent(transactionId: number): void {
    this.#unsent.delete(transactionId)
    this.#sent.add(transactionId)
    this.#isChanged = true
  }

  putThing(record: ThingRecord): void {
    this.#goneThings.delete(record.key)
    this.#things.set(record.key, record)
    this.#isChanged = true
  }

  dropThing(key: string): void {
    this.#things.delete(key)
    this.#goneThings.add(key)
    this.#isChanged = true
  }

  /** Returns what has been collected, and begins the next batch. */
  take(): Batch {
    this.#meta = { ...this.#meta, commit: this.#meta.commit + 1 }
    const batch: Batch = {
      meta: this.#meta,
      isReset: this.#isReset,
      goneLogs: [...this.#goneLogs],
      emptiedLogs: [...this.#emptiedLogs],
      hidden: [...this.#hidden].map(([log, msgId]) => ({ log, msgId })),
      removed: [...this.#removed.values()],
      logs: [...this.#logs.values()],
      messages: [...this.#messages.values()],
      unsent: [...this.#unsent.values()],
      sent: [...this.#sent],
      things: [...this.#things.values()],
      goneThings: [...this.#goneThings],
    }
    this.#isReset = false
    this.#isChanged = false
    for (const table of [this.#goneLogs, this.#emptiedLogs, this.#hidden, this.#removed])
      table.clear()
    for (const table of [this.#logs, this.#messages, this.#unsent, this.#sent]) table.clear()
    for (const table of [this.#things, this.#goneThings]) table.clear()
    return batch
  }

  #forgetMessages(log: LogKey): void {
    for (const [key, message] of this.#messages) if (message.log === log) this.#messages.delete(key)
    for (const [key, message] of this.#removed) if (message.log === log) this.#removed.delete(key)
    this.#hidden.delete(log)
  }
}
