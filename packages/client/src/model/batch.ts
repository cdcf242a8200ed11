import type { PartialAlteration } from './message-fields.js'
import type {
  CachedRead,
  LogKey,
  LogRecord,
  MessageRecord,
  MetaRecord,
  UnsentRecord,
} from './records.js'

/**
 * A change of the store that is applied whole or not at all: every field in the order of this
 * declaration. Applying it twice is the same as once. The store, the copies in the tabs and the
 * views all apply the same batches.
 */
export interface Batch {
  /** The record after the batch, with its commit number. */
  readonly meta: MetaRecord
  /** True: everything but unsent messages is dropped first. */
  readonly isReset: boolean
  /** Logs that the user does not have any more; their messages go too. */
  readonly goneLogs: readonly LogKey[]
  /** Logs whose messages are dropped, for example because they may have been edited. */
  readonly emptiedLogs: readonly LogKey[]
  /** Messages up to an ID are hidden from the user and dropped. */
  readonly hidden: readonly { readonly log: LogKey; readonly msgId: number }[]
  /** Messages that are gone. */
  readonly removed: readonly { readonly log: LogKey; readonly seq: number }[]
  readonly logs: readonly LogRecord[]
  readonly messages: readonly MessageRecord[]
  /** Changes of stored messages; a message that is not stored is left out. */
  readonly updated: readonly (PartialAlteration & {
    readonly log: LogKey
    readonly seq: number
  })[]
  readonly unsent: readonly UnsentRecord[]
  /** Transaction IDs of entries that are stored at the server, or were discarded. */
  readonly sent: readonly number[]
  readonly cached: readonly CachedRead[]
}
