import type { EventPayloads } from '@hermod/protocol/events'
import type { NewRow } from '../../../../outbox/outbox-statements.js'
import type { ReaderKey, ReceiptPosition } from '../../readers/reader-positions.js'
import type { ReaderStart } from '../../readers/reader-statements.js'
import type { ReceiptRequest } from '../receipt-request-store.js'

/** The event of a moved position. */
export interface PositionEvent {
  readonly kind: 'message.read' | 'message.delivered'
  readonly payload: EventPayloads['message.read']
}

/** Moves a position of a reader forward. */
export interface PositionMove {
  readonly reader: ReaderKey
  readonly position: ReceiptPosition
  readonly seq: number
  /** The position when the move was requested: it moves only from there on. */
  readonly from: number
  /** The start of a reader of broadcasts, whose first move inserts the row; null = the row is there. */
  readonly start: ReaderStart | null
  /** True when the row of a group's conversation may have to record the reader as a furthest one. */
  readonly isFurther: boolean
  /**
   * Requests up to the position, in their order. Their senders are notified of those above the
   * reader's last acknowledgement.
   */
  readonly receipts: readonly ReceiptRequest[]
  readonly event: PositionEvent
}

/** Moves of one caller, made together. */
export interface CallerMoves {
  readonly moves: readonly PositionMove[]
  /** An event that precedes the moves when at least one of them has moved a position. */
  readonly announcement: NewRow | null
}

/** Returns the row of the outbox for the event of a move. */
export function eventRow(
  { reader, event }: PositionMove,
  changes: Partial<PositionEvent['payload']> = {},
): NewRow {
  return {
    appId: reader.appId,
    kind: event.kind,
    payload: JSON.stringify({ ...event.payload, ...changes }),
  }
}
