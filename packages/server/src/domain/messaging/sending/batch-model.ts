/** The input and output of {@link storeBatch}. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { OutboxHead } from '../../../outbox/outbox-statements.js'
import type { MessageRow } from '../model/message-model.js'

/** The messages of one send; they are stored together or not at all. */
export interface Submission {
  /** null = a repeat of the send is not recognized. */
  readonly transactionId: Int64 | null
  /** Rows with message IDs that ascend over the batch, and without positions. */
  readonly rows: readonly MessageRow[]
  /**
   * For messages to groups, the members of each row with a requested read receipt, as in
   * receipt_requests; '' = none.
   */
  readonly groups?: readonly string[] | undefined
}

/** Sends that are stored in one transaction. */
export interface BatchOfSends {
  readonly submissions: readonly Submission[]
  /** Milliseconds since 1970. */
  readonly now: number
  readonly transactionLifeMs: number
  /**
   * Assumes that no send is a repeat, so that a remote database gets transaction IDs and positions
   * in one round trip. A repeat ends the first try in a {@link BatchRetry}.
   */
  readonly isFirstTry: boolean
  /** True: the result has the numbers of the messages. */
  readonly wantsNumbers: boolean
}

/** The numbers of a new message. */
export interface MessageNumbers {
  /** Position in the outbox of its app. */
  readonly position: number
  readonly seq: number
  readonly change: number
}

/** The result of a stored batch. */
export interface StoredBatch {
  /** Message IDs of each submission in the order of the batch; for a repeated send those of the first one. */
  readonly messageIds: readonly (readonly number[])[]
  /**
   * The numbers of the messages of each submission; null for a repeated send. Empty unless they are
   * wanted.
   */
  readonly numbers: readonly (readonly MessageNumbers[] | null)[]
  /** The ends of the outboxes of their apps after these messages. */
  readonly heads: readonly OutboxHead[]
}

/** The reason why a batch was undone, and the changes with which it can be stored. */
export interface BatchRetry {
  /** The message IDs must be greater than this one. */
  readonly idsAfter?: number
  /** The first try met a send that was stored before. */
  readonly hasRepeats?: true
  /** For each submission the indexes of messages with a deleted sender or receiver; the retry omits them. */
  readonly refused?: readonly (readonly number[])[]
}

/**
 * A source of message IDs for batches with IDs that are too small. Without it the procedure ends in
 * a {@link BatchRetry}.
 */
export interface MessageIdSource {
  /**
   * Takes IDs without waiting, because the procedure holds locks.
   * @returns IDs above `after`, ascending
   * @throws IdsRunOut
   */
  takeReserved(count: number, after: number): readonly number[]
}
