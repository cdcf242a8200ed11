import type { alterationKind, Int64 } from '@hermod/protocol'
import type { HistoryMessage } from './message-model.js'

/** What altered a message, as in message_changes. */
export type AlterationKind = (typeof alterationKind)[keyof typeof alterationKind & string]

/** A message as a page of history shows it, with its position in the conversation. */
export interface PositionedMessage extends HistoryMessage {
  readonly seq: number
}

/** What is left of a message that was recalled. */
export interface Tombstone {
  readonly messageId: number
  readonly seq: number
  readonly senderId: Int64
  readonly recalledBy: Int64
  readonly recalledAt: number
}

/** What became of a message, by the number of its latest change; an edited message as it is now. */
export type Change =
  | {
      readonly change: number
      readonly kind: 'stored' | 'edited'
      readonly message: PositionedMessage
    }
  | { readonly change: number; readonly kind: 'recalled'; readonly tombstone: Tombstone }

/** How far the changes of a conversation go, and what of them a reader sees. */
export interface ChangeState {
  /** How many messages there ever were. */
  readonly seq: number
  readonly alterations: number
  /** Changes above this number are kept. */
  readonly keptFrom: number
  /** Messages up to and including this one are hidden from the reader, or removed. */
  readonly hiddenMessageId: number
}

/** An edit or a recall in the order of changes. */
export interface Alteration {
  readonly change: number
  readonly alteration: number
  readonly kind: AlterationKind
  readonly messageId: number
  /** Nothing was done to the message after it: 0 or 1. */
  readonly isLatest: number
  /** Of a recalled message, else null. */
  readonly tombstone: Tombstone | null
}
