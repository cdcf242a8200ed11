import { broadcastUserId, type Int64 } from '@hermod/protocol'
import { compare } from '../../../lib/compare.js'

export { broadcastUserId }

/**
 * A conversation is the pair of its parties, the smaller ID first. A conversation with oneself, and
 * a group, is the same ID twice: IDs of users and groups never collide inside an app.
 */
export interface ConversationKey {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
}

export interface Conversation extends ConversationKey {
  readonly isGroup: boolean
}

/** The conversation of two users, in whichever order they are named. */
export function directConversation(appId: string, a: Int64, b: Int64): Conversation {
  return a < b
    ? { appId, lowId: a, highId: b, isGroup: false }
    : { appId, lowId: b, highId: a, isGroup: false }
}

/** The conversation of a group: both ends of its key are the group. */
export function groupConversation(appId: string, groupId: Int64): Conversation {
  return { appId, lowId: groupId, highId: groupId, isGroup: true }
}

/** The parties of a direct conversation except the system, user 0; none of a broadcast stream. */
export function readersOf({
  lowId,
  highId,
}: Pick<ConversationKey, 'lowId' | 'highId'>): readonly Int64[] {
  if (lowId === broadcastUserId) return []
  return lowId === highId || lowId === 0 ? [highId] : [lowId, highId]
}

/** The form in which events name a conversation. */
export function toEventConversation({ lowId: low_id, highId: high_id, isGroup }: Conversation) {
  return { low_id, high_id, is_group: isGroup }
}

/** The order in which all transactions lock rows of several conversations. */
export function compareConversations(a: ConversationKey, b: ConversationKey): number {
  return compare(a.appId, b.appId) || compare(a.lowId, b.lowId) || compare(a.highId, b.highId)
}

/** A conversation in the list of one of its users. */
export interface ConversationView {
  readonly peerId: Int64
  readonly createdAt: number
  readonly lastMessageId: number
  /** The time of that message, milliseconds since 1970. */
  readonly updatedAt: number
  /** The newest message when the walk over the list began; the list is sorted by it. */
  readonly place: number
}

/**
 * Returns the conversation of a reader by its key. The same ID twice is a group, or the
 * conversation with oneself.
 */
export function conversationOf(key: ConversationKey, readerId: Int64): Conversation {
  return { ...key, isGroup: key.lowId === key.highId && key.lowId !== readerId }
}

/** Tests whether a user is a party of a direct conversation. */
export function isParty(
  { lowId, highId }: Pick<ConversationKey, 'lowId' | 'highId'>,
  userId: Int64,
): boolean {
  return lowId === userId || highId === userId
}

/** The broadcasts of a sender, stored as a conversation of all users with the sender. */
export function broadcastStream(appId: string, senderId: Int64): Conversation {
  return { appId, lowId: broadcastUserId, highId: senderId, isGroup: false }
}

/** Tests whether the log holds the broadcasts of one sender. */
export function isBroadcastStream({ lowId }: Pick<ConversationKey, 'lowId'>): boolean {
  return lowId === broadcastUserId
}

/** The other party of a direct conversation, or the group. */
export function peerOf(
  { lowId, highId }: Pick<ConversationKey, 'lowId' | 'highId'>,
  userId: Int64,
): Int64 {
  return highId === userId ? lowId : highId
}
