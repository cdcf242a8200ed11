import { altered } from '../model/message-fields.js'
import type { LogKey, MessageRecord } from '../model/records.js'
import { type MessageQuery, type Store, StoreError, type StoredState } from '../ports/store.js'
import { applyToTables, emptyState, emptyTables, fillTables, storedState } from './tables.js'

/**
 * Returns a store that lives as long as the page or the process.
 * @param stored what it holds at first; default: nothing
 */
export function memoryStore(stored: StoredState = emptyState): Store {
  const tables = emptyTables()
  fillTables(tables, stored)
  const messages = new Map<LogKey, Map<number, MessageRecord>>()
  let generation = 0
  let deviceGuid = ''
  const check = async (leader: number) => {
    if (leader !== generation) throw new StoreError('superseded')
  }
  return {
    load: async () => storedState(tables),
    messages: async (query) => newestOfLog(messages.get(query.log) ?? new Map(), query),
    lead: async () => ({ generation: ++generation, commit: tables.meta.commit }),
    check,
    async apply(batch, leader) {
      await check(leader)
      applyToTables(tables, batch)
      if (batch.isReset) messages.clear()
      for (const log of batch.goneLogs) messages.delete(log)
      for (const log of batch.emptiedLogs) messages.delete(log)
      for (const { log, msgId } of batch.hidden) dropUpTo(messages.get(log), msgId)
      for (const { log, seq } of batch.removed) messages.get(log)?.delete(seq)
      for (const message of batch.messages) {
        const log = messages.get(message.log)
        if (log) log.set(message.seq, message)
        else messages.set(message.log, new Map([[message.seq, message]]))
      }
      for (const { log, seq, ...alteration } of batch.updated) {
        const message = messages.get(log)?.get(seq)
        if (message) messages.get(log)?.set(seq, altered(message, alteration))
      }
    },
    deviceGuid: async (known = `memory ${Math.random()}`) => (deviceGuid ||= known),
    close() {},
    async destroy() {
      fillTables(tables, emptyState)
      messages.clear()
      generation = 0
      deviceGuid = ''
    },
  }
}

function dropUpTo(messages: Map<number, MessageRecord> | undefined, msgId: number): void {
  for (const [seq, message] of messages ?? []) if (message.msgId <= msgId) messages?.delete(seq)
}

/** Walks down from the upper bound, or over all messages when the log holds fewer than that. */
function newestOfLog(
  messages: ReadonlyMap<number, MessageRecord>,
  { fromSeq, toSeq, limit }: MessageQuery,
): readonly MessageRecord[] {
  if (toSeq - fromSeq > messages.size) {
    return [...messages.values()]
      .filter(({ seq }) => seq >= fromSeq && seq <= toSeq)
      .sort((a, b) => b.seq - a.seq)
      .slice(0, limit)
  }
  const found: MessageRecord[] = []
  for (let seq = toSeq; seq >= fromSeq && found.length < limit; seq--) {
    const message = messages.get(seq)
    if (message) found.push(message)
  }
  return found
}
