/** The input of {@link movePositions}. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { LastStatement, ProcedureContext } from '../../../../db/procedure.js'
import type { NewRow } from '../../../../outbox/outbox-statements.js'
import type { ConversationKey, Party } from '../../model/conversation-model.js'
import type { ReceiptPosition } from '../../model/reader-positions.js'
import type { ReceiptRequest } from '../receipt-request-store.js'

/** The event of a moved position. */
export interface PositionEvent {
  readonly kind: 'message.read' | 'message.delivered'
  readonly payload: EventPayloads['message.read']
}

interface Move {
  readonly conversation: ConversationKey
  readonly position: ReceiptPosition
  readonly event: PositionEvent
}

/** Moves a position of a party of a direct conversation forward. */
export interface DirectMove extends Move {
  readonly kind: 'direct'
  readonly party: Party
  /** null = to the end of the conversation; then the event names its end. */
  readonly seq: number | null
}

/** Moves a position of a group member forward. */
export interface MemberMove extends Move {
  readonly kind: 'member'
  readonly userId: Int64
  /** Always given, so that the conversation is locked only where the member becomes one of its two furthest readers. */
  readonly seq: number
  /** True when the row of the conversation may have to record the member as a furthest reader. */
  readonly isFurther: boolean
  /** Requests up to the position, in their order. Their senders are notified of those above the member's last acknowledgement. */
  readonly receipts: readonly ReceiptRequest[]
}

/** Moves a position of a user in a broadcast stream forward. The first move inserts the user's row. */
export interface BroadcastMove extends Move {
  readonly kind: 'broadcast'
  readonly userId: Int64
  readonly seq: number
  /** The seen position for a new row: nothing up to it is unread. */
  readonly seen: number
}

export type PositionMove = DirectMove | MemberMove | BroadcastMove

/** Moves of one caller, made together. */
export interface CallerMoves {
  readonly moves: readonly PositionMove[]
  /** An event that precedes the moves when at least one of them has moved a position. */
  readonly announcement: NewRow | null
}

/** The locked rows of all moves of one kind. */
export interface LockedPositions<Kind extends PositionMove> {
  /** Moves the position in the locked row. @returns the events; null when the position is there already or the row is missing */
  move(move: Kind): NewRow[] | null
  /** Statements that store the rows that have changed. */
  write(): readonly LastStatement[]
}

/** A descriptor for moving the positions of one kind of reader. */
export interface MoveKind<Kind extends PositionMove> {
  lock(context: ProcedureContext, moves: readonly Kind[]): Promise<LockedPositions<Kind>>
}

export function eventRow(
  { conversation, event }: PositionMove,
  changes: Partial<PositionEvent['payload']> = {},
): NewRow {
  return {
    appId: conversation.appId,
    kind: event.kind,
    payload: JSON.stringify({ ...event.payload, ...changes }),
  }
}
