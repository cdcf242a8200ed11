import type { Int64 } from '@hermod/protocol'
import { compare } from '../../../lib/compare.js'

/** Stands for all users in the key of a broadcast stream; nobody has the ID. */
export const everybodyId = -1

/**
 * A conversation is the pair of its parties, the smaller ID first. A conversation with oneself, and a group, is the same ID twice:
 * IDs of users and groups never collide inside an app.
 */
export interface ConversationKey {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
}

export interface Conversation extends ConversationKey {
  /** Its members hold the marks in rows of their own. */
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

/** The parties of a direct conversation that read: nobody reads for the system, user 0. Of a broadcast stream nobody in particular. */
export function readersOf({
  lowId,
  highId,
}: Pick<ConversationKey, 'lowId' | 'highId'>): readonly Int64[] {
  if (lowId === everybodyId) return []
  return lowId === highId || lowId === 0 ? [highId] : [lowId, highId]
}

/** A conversation as events name it. */
export function toEventConversation({ lowId: low_id, highId: high_id, isGroup }: Conversation) {
  return { low_id, high_id, is_group: isGroup }
}

/** The order in which rows of several conversations are locked, by everybody. */
export function compareConversations(a: ConversationKey, b: ConversationKey): number {
  return compare(a.appId, b.appId) || compare(a.lowId, b.lowId) || compare(a.highId, b.highId)
}

/** What a party, or a member, sees of a conversation as a whole. */
export interface ConversationView {
  readonly peerId: Int64
  readonly createdAt: number
  readonly lastMessageId: number
}

/** Which columns of a conversation's row are a party's. */
export type Side = 'low' | 'high'

/** A conversation with oneself has both sides. */
export function sidesOf(
  { lowId, highId }: Pick<ConversationKey, 'lowId' | 'highId'>,
  userId: Int64,
): readonly Side[] {
  const sides: Side[] = []
  if (lowId === userId) sides.push('low')
  if (highId === userId) sides.push('high')
  return sides
}

/** The broadcasts of a sender, which are a conversation of everybody with the sender. */
export function broadcastStream(appId: string, senderId: Int64): Conversation {
  return { appId, lowId: everybodyId, highId: senderId, isGroup: false }
}

export function isBroadcastStream({ lowId }: Pick<ConversationKey, 'lowId'>): boolean {
  return lowId === everybodyId
}

/** The other party of a direct conversation, or the group. */
export function peerOf(
  { lowId, highId }: Pick<ConversationKey, 'lowId' | 'highId'>,
  userId: Int64,
): Int64 {
  return highId === userId ? lowId : highId
}
