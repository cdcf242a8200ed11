import type { Batch } from '../model/batch.js'
import {
  type CachedRead,
  emptyMeta,
  type LogKey,
  type LogRecord,
  type MetaRecord,
  type UnsentRecord,
} from '../model/records.js'
import type { StoredState } from '../ports/store.js'

/** All tables but messages, in memory. */
export interface TableMaps {
  meta: MetaRecord
  readonly logs: Map<LogKey, LogRecord>
  readonly unsent: Map<number, UnsentRecord>
  readonly cached: Map<string, CachedRead>
}

/** An empty store. */
export const emptyState: StoredState = { logs: [], unsent: [], cached: [] }

/** Returns tables without records. */
export function emptyTables(): TableMaps {
  return { meta: emptyMeta, logs: new Map(), unsent: new Map(), cached: new Map() }
}

/** Replaces the records of tables by those of a store. */
export function fillTables(tables: TableMaps, { meta = emptyMeta, ...stored }: StoredState): void {
  for (const table of [tables.logs, tables.unsent, tables.cached]) table.clear()
  tables.meta = meta
  for (const log of stored.logs) tables.logs.set(log.key, log)
  for (const entry of stored.unsent) tables.unsent.set(entry.transactionId, entry)
  for (const read of stored.cached) tables.cached.set(read.key, read)
}

/** Returns the records of tables as a store returns them. */
export function storedState({ meta, logs, unsent, cached }: TableMaps): StoredState {
  return {
    ...(meta !== emptyMeta && { meta }),
    logs: [...logs.values()],
    unsent: [...unsent.values()],
    cached: [...cached.values()],
  }
}

/** Applies a batch to all tables but messages. */
export function applyToTables(tables: TableMaps, batch: Batch): void {
  const { logs, unsent, cached } = tables
  if (batch.isReset) {
    logs.clear()
    cached.clear()
  }
  for (const log of batch.goneLogs) logs.delete(log)
  for (const log of batch.logs) logs.set(log.key, log)
  for (const entry of batch.unsent) unsent.set(entry.transactionId, entry)
  for (const transactionId of batch.sent) unsent.delete(transactionId)
  for (const read of batch.cached) cached.set(read.key, read)
  tables.meta = batch.meta
}
