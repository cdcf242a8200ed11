import type { alterationKind, Int64 } from '@hermod/protocol'
import type { HistoryMessage, MessageSize } from './message-model.js'

/** The kind of an alteration, as in message_changes. */
export type AlterationKind = (typeof alterationKind)[keyof typeof alterationKind & string]

/** The place and the sender of a recalled message. */
export interface RecalledMessage {
  readonly seq: number
  readonly senderId: Int64
  /** 0 or 1 */
  readonly isSystem: number
}

/** The tombstone of a recalled message. */
export interface Tombstone extends RecalledMessage {
  readonly messageId: number
  readonly recalledBy: Int64
  readonly recalledAt: number
}

/**
 * A change of a log. A stored or edited message has its present content. A skipped number belongs
 * to a message that is hidden from the reader or gone, or to an edit that a later change overtook;
 * `recalled` is present when the message was recalled.
 */
export type Change =
  | {
      readonly change: number
      readonly kind: 'stored' | 'edited'
      readonly message: HistoryMessage
    }
  | { readonly change: number; readonly kind: 'recalled'; readonly tombstone: Tombstone }
  | {
      readonly change: number
      readonly kind: 'skipped'
      readonly recalled?: RecalledMessage
      /** The numbers in a row that the entry stands for, `change` the last of them; absent: 1. */
      readonly count?: number
    }

/** Joins numbers in a row that are skipped without more to say into one entry each. */
export function joinSkipped(changes: readonly Change[]): Change[] {
  const joined: Change[] = []
  for (const change of changes) {
    const last = joined.at(-1)
    const before = last && isBare(last) && isBare(change) ? (last.count ?? 1) : 0
    if (before > 0) joined.pop()
    joined.push(before > 0 ? { kind: 'skipped', change: change.change, count: before + 1 } : change)
  }
  return joined
}

function isBare(change: Change): change is Extract<Change, { kind: 'skipped' }> {
  return change.kind === 'skipped' && change.recalled === undefined
}

/** The extent of the changes of a conversation, and the part that a reader sees. */
export interface ChangeState {
  /** The number of messages that were ever stored. */
  readonly seq: number
  readonly alterations: number
  /** Changes above this number are stored. */
  readonly keptFrom: number
  /** Messages up to and including this one are hidden from the reader, or removed. */
  readonly hiddenMessageId: number
  /** The message at the last position; null or absent: gone, or not known. */
  readonly newest?: MessageSize | null
}

/** An edit or a recall in the order of changes. */
export interface Alteration {
  readonly change: number
  readonly alteration: number
  readonly kind: AlterationKind
  readonly messageId: number
  /** 0 or 1; 1 = no later alteration of the message */
  readonly isLatest: number
  /** Bytes of the texts of the message; 0 = it is gone */
  readonly bytes: number
  /** null unless the message is recalled */
  readonly tombstone: Tombstone | null
}
