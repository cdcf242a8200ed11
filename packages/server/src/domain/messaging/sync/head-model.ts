import type { ReadableLog } from '../conversations/readable-log.js'
import type { ChangeState } from '../model/change-model.js'
import { type Conversation, isBroadcastStream } from '../model/conversation-model.js'

/** The state of a log for one reader, read by one statement. */
export interface StoredHead extends ChangeState {
  readonly log: ReadableLog
  readonly unread: number
  readonly readSeq: number
  readonly deliveredSeq: number
  /** The furthest position of the other party, or of any other member of a group with read_ack; else 0. */
  readonly peerReadSeq: number
  /** 0 in groups and for broadcasts. */
  readonly peerDeliveredSeq: number
  /** The newest message that the reader sees; 0 = none */
  readonly latestMessageId: number
  /** null unless the log is one of a group. */
  readonly group: GroupHead | null
}

/** A group, and the membership of the reader, as a head shows them. */
export interface GroupHead {
  readonly status: number
  readonly version: number
  /** 0 private, 1 public, 2 chatroom, 3 temporary */
  readonly type: number
  /** The last message before the reader joined. */
  readonly joinedMessageId: number
  readonly muteMode: number
  readonly pushMode: number
}

/** The number of the latest change. */
export function lastChange({ seq, alterations }: ChangeState): number {
  return seq + alterations
}

/** A key of a log among those of one app. */
export function logKey({ lowId, highId, isGroup }: Conversation): string {
  return isGroup ? `${lowId}` : `${lowId}.${highId}`
}

/** Returns the kind of a log as the API names it. */
export function logKind(log: Conversation): 'direct' | 'group' | 'broadcast' {
  if (log.isGroup) return 'group'
  return isBroadcastStream(log) ? 'broadcast' : 'direct'
}
