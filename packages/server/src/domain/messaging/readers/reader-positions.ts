/** The positions of readers; ../README.md defines them. */
import type { Int64 } from '@hermod/protocol'
import type { UserKey } from '../../users/user-model.js'
import type { FurthestReaders } from '../model/furthest-readers.js'

/** A user as reader of one log; the key of a row of `readers`. */
export interface ReaderKey extends UserKey {
  readonly lowId: Int64
  readonly highId: Int64
}

/** A position that receipts move, by its column: everything up to it is read, or has reached a device. */
export type ReceiptPosition = 'read_seq' | 'delivered_seq'

/** The positions of a reader in its log. */
export interface ReaderPositions {
  /**
   * The positions that the reader has reported. In a group the read position is that of the last
   * acknowledgement, because sending moves it without receipts.
   */
  readonly at: Readonly<Record<ReceiptPosition, number>>
  /** The last position of the log. */
  readonly end: number
  /** The last message that the log ever held. */
  readonly lastMessageId: number
  /**
   * The last message before those that the user may read, from the time before the user became a
   * reader; 0 = none.
   */
  readonly startMessageId: number
  /** The position before the first message of the reader, for a reader without a row. */
  readonly seen: number
  /** null unless the log is one of a group. */
  readonly group: { readonly furthest: FurthestReaders; readonly hasReadAck: boolean } | null
}
