/** The positions of readers, by their columns. README.md defines them. */

/** The reader has read everything up to this position. */
export type ReadPosition = 'read_seq'
/** A device of the reader has received everything up to this position. */
export type DeliveredPosition = 'delivered_seq'
/** Everything up to this message is hidden from the reader, who has deleted the conversation (rule E13). */
export type HiddenPosition = 'hidden_msg_id'

/** A position that receipts move. */
export type ReceiptPosition = ReadPosition | DeliveredPosition

/** The positions of a reader, as receipts have reported them. */
export interface ReaderPositions {
  readonly at: Readonly<Record<ReceiptPosition, number>>
  /** The last position of the conversation. */
  readonly end: number
}
