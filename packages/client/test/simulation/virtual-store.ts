/** A store in memory whose commits, failures and crashes the schedule decides. */
import type { Batch } from '../../src/model/batch.js'
import { altered } from '../../src/model/message-fields.js'
import type {
  CachedRead,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from '../../src/model/records.js'
import { wishesKey } from '../../src/model/wishes.js'
import type { MessageQuery, StoredState, StoreFailure } from '../../src/ports/store.js'

export class VirtualStore {
  meta: MetaRecord | undefined
  logs = new Map<string, LogRecord>()
  /** By log and position. */
  messages = new Map<string, Map<number, MessageRecord>>()
  unsent = new Map<number, UnsentRecord>()
  cached = new Map<string, CachedRead>()
  /** The next apply fails with it. */
  failure: StoreFailure | undefined
  #generation = 0

  /** Takes the store over. @returns the generation */
  lead(): number {
    return ++this.#generation
  }

  check(generation: number): StoreFailure | undefined {
    return generation === this.#generation ? undefined : 'superseded'
  }

  /** Applies a batch whole, or not at all. */
  apply(batch: Batch, generation: number): StoreFailure | undefined {
    if (this.check(generation)) return 'superseded'
    const { failure } = this
    this.failure = undefined
    if (failure) return failure
    const commit = this.meta?.commit ?? 0
    if (batch.meta.commit !== commit + 1)
      throw new Error(`batch ${batch.meta.commit} comes after ${commit}`)
    this.meta = batch.meta
    if (batch.isReset) for (const table of [this.logs, this.messages, this.cached]) table.clear()
    for (const key of batch.goneLogs) {
      this.logs.delete(key)
      this.messages.delete(key)
    }
    for (const key of batch.emptiedLogs) this.messages.delete(key)
    for (const { log, msgId } of batch.hidden)
      for (const [seq, message] of this.messages.get(log) ?? [])
        if (message.msgId <= msgId) this.messages.get(log)?.delete(seq)
    for (const { log, seq } of batch.removed) this.messages.get(log)?.delete(seq)
    for (const record of batch.logs) this.logs.set(record.key, record)
    for (const record of batch.messages) this.#messagesOf(record.log).set(record.seq, record)
    for (const { log, seq, ...alteration } of batch.updated) {
      const message = this.messages.get(log)?.get(seq)
      if (message) this.#messagesOf(log).set(seq, altered(message, alteration))
    }
    for (const record of batch.unsent) this.unsent.set(record.transactionId, record)
    for (const id of batch.sent) this.unsent.delete(id)
    for (const record of batch.cached) this.cached.set(record.key, record)
    return undefined
  }

  load(): StoredState {
    return {
      ...(this.meta && { meta: this.meta }),
      logs: [...this.logs.values()],
      unsent: [...this.unsent.values()],
      cached: [...this.cached.values()],
    }
  }

  read({ log, fromSeq, toSeq, limit }: MessageQuery): MessageRecord[] {
    return [...(this.messages.get(log)?.values() ?? [])]
      .filter(({ seq }) => seq >= fromSeq && seq <= toSeq)
      .sort((a, b) => b.seq - a.seq)
      .slice(0, limit)
  }

  /**
   * A copy as it is after a crash now, without unsent messages and wishes: its original goes on to send
   * them.
   */
  clone(): VirtualStore {
    const copy = new VirtualStore()
    copy.meta = this.meta
    copy.logs = new Map(this.logs)
    copy.messages = new Map([...this.messages].map(([key, table]) => [key, new Map(table)]))
    copy.cached = new Map(this.cached)
    copy.cached.delete(wishesKey)
    return copy
  }

  #messagesOf(log: string): Map<number, MessageRecord> {
    let table = this.messages.get(log)
    if (!table) {
      table = new Map()
      this.messages.set(log, table)
    }
    return table
  }
}
