import type { Batch } from '../model/batch.js'
import { altered, type PartialAlteration } from '../model/message-fields.js'
import type {
  CachedRead,
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from '../model/records.js'

const messageKey = (log: LogKey, seq: number) => `${log} ${seq}`

/** The changes of a batch by key. */
const noChanges = () => ({
  goneLogs: new Set<LogKey>(),
  emptiedLogs: new Set<LogKey>(),
  hidden: new Map<LogKey, number>(),
  removed: new Map<string, { readonly log: LogKey; readonly seq: number }>(),
  logs: new Map<LogKey, LogRecord>(),
  messages: new Map<string, MessageRecord>(),
  updated: new Map<string, Batch['updated'][number]>(),
  unsent: new Map<number, UnsentRecord>(),
  sent: new Set<number>(),
  cached: new Map<string, CachedRead>(),
})

/**
 * Collects changes until the batch before is committed. Of several changes to one record the last
 * one counts, so a thousand events of a log write its record once.
 */
export class BatchBuilder {
  #meta: MetaRecord
  #isChanged = false
  #isReset = false
  #changes = noChanges()

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
    const { unsent, sent } = this.#change()
    this.#changes = { ...noChanges(), unsent, sent }
    this.#isReset = true
  }

  putLog(record: LogRecord): void {
    this.#change().logs.set(record.key, record)
  }

  dropLog(log: LogKey): void {
    this.#forgetMessages(log)
    this.#changes.logs.delete(log)
    this.#changes.goneLogs.add(log)
  }

  /** Drops all messages of a log. */
  emptyLog(log: LogKey): void {
    this.#forgetMessages(log)
    this.#changes.emptiedLogs.add(log)
  }

  /** Drops messages of a log up to an ID. */
  hide(log: LogKey, msgId: number): void {
    const { messages, hidden } = this.#change()
    for (const [key, message] of messages)
      if (message.log === log && message.msgId <= msgId) messages.delete(key)
    hidden.set(log, Math.max(msgId, hidden.get(log) ?? 0))
  }

  putMessage(record: MessageRecord): void {
    const { removed, messages, updated } = this.#change()
    const key = messageKey(record.log, record.seq)
    removed.delete(key)
    updated.delete(key)
    messages.set(key, record)
  }

  /** Changes a part of a message, if it is stored. */
  updateMessage(log: LogKey, seq: number, { set, ...rest }: PartialAlteration): void {
    const { removed, messages, updated } = this.#change()
    const key = messageKey(log, seq)
    const message = messages.get(key)
    if (message) messages.set(key, altered(message, { set, ...rest }))
    else if (!removed.has(key)) {
      const before = updated.get(key)
      updated.set(key, { ...before, ...rest, log, seq, set: { ...before?.set, ...set } })
    }
  }

  removeMessage(log: LogKey, seq: number): void {
    const { removed, messages, updated } = this.#change()
    const key = messageKey(log, seq)
    messages.delete(key)
    updated.delete(key)
    removed.set(key, { log, seq })
  }

  putUnsent(record: UnsentRecord): void {
    const { sent, unsent } = this.#change()
    sent.delete(record.transactionId)
    unsent.set(record.transactionId, record)
  }

  dropUnsent(transactionId: number): void {
    const { sent, unsent } = this.#change()
    unsent.delete(transactionId)
    sent.add(transactionId)
  }

  putCachedRead(record: CachedRead): void {
    this.#change().cached.set(record.key, record)
  }

  /** Returns what has been collected, and begins the next batch. */
  take(): Batch {
    const { goneLogs, emptiedLogs, hidden, removed, logs, messages, ...others } = this.#changes
    const { updated, unsent, sent, cached } = others
    this.#meta = { ...this.#meta, commit: this.#meta.commit + 1 }
    const batch: Batch = {
      meta: this.#meta,
      isReset: this.#isReset,
      goneLogs: [...goneLogs],
      emptiedLogs: [...emptiedLogs],
      hidden: Array.from(hidden, ([log, msgId]) => ({ log, msgId })),
      removed: [...removed.values()],
      logs: [...logs.values()],
      messages: [...messages.values()],
      updated: [...updated.values()],
      unsent: [...unsent.values()],
      sent: [...sent],
      cached: [...cached.values()],
    }
    this.#isReset = false
    this.#isChanged = false
    this.#changes = noChanges()
    return batch
  }

  #change() {
    this.#isChanged = true
    return this.#changes
  }

  #forgetMessages(log: LogKey): void {
    const { messages, removed, updated, hidden } = this.#change()
    for (const table of [messages, removed, updated])
      for (const [key, message] of table) if (message.log === log) table.delete(key)
    hidden.delete(log)
  }
}
