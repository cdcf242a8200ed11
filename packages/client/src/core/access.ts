/** Interfaces between the parts of the core. */
import type { LogKey, LogRecord, MessageRecord } from '../model/records.js'

/** Logs, as other parts see it. */
export interface LogAccess {
  /** The record with the changes of the pending batch. */
  get(key: LogKey): LogRecord | undefined
  /**
   * Requests the head of a log soon, also of one that is not stored, and with it all its changes.
   * @param done runs when a head that the server read after this call is applied with all its
   *   changes, in the batch of these; never, when the core ends before
   */
  needHead(key: LogKey, done?: () => void): void
  /** Records in the pending batch that a device of the own user has received up to a position. */
  setDelivered(key: LogKey, seq: number): void
}

/** Calls of Logs to Unsent, in the batch that has the change. */
export interface UnsentListener {
  /** A message is in the log, as it is now: sent or edited. */
  stored(message: MessageRecord): void
  /** A message was recalled, or is gone for another reason. */
  gone(log: LogKey, msgId: number): void
  /** Messages up to an ID are hidden: the conversation was deleted; all: the user has lost the log. */
  hidden(log: LogKey, msgId: number): void
}

/** Calls of Logs to Streams. */
export interface StreamsListener {
  /** A message is in the pending batch, as an answer or an event has it. */
  stored(message: MessageRecord): void
  /** A message was recalled. */
  gone(log: LogKey, msgId: number): void
}

/** Calls of Logs to Receipts. */
export interface ReceiptsListener {
  /** A message of the other user of a direct conversation, at this position, is in the pending batch. */
  received(log: LogKey, seq: number): void
}

/** Calls of Sync to CachedReads, in the batch that moves `pos`. */
export interface CachedReadsListener {
  /** An entry of `user` of a page: a number of the enumeration userChangeKind, and its ref. */
  changed(kind: number, ref: number): void
  /** Anything may have changed. */
  allChanged(): void
  /** A head has a new version of a group. */
  groupVersion(groupId: number, version: number): void
  /** Returns the number of members of a group; a guess for one that was not read. */
  memberCount(groupId: number): number
}
