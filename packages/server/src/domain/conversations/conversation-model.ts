import type { Int64 } from '@hermod/protocol'

/**
 * A conversation is the pair of its parties, the smaller ID first. A conversation with oneself, and a group, is the same ID twice:
 * IDs of users and groups never collide inside an application.
 */
export interface ConversationKey {
  readonly appId: string
  readonly lowId: Int64
  readonly highId: Int64
}

export function directConversation(appId: string, a: Int64, b: Int64): ConversationKey {
  return a < b ? { appId, lowId: a, highId: b } : { appId, lowId: b, highId: a }
}

/** The conversation_id that a party sees: the other party. */
export function peerOf(conversation: Pick<ConversationKey, 'lowId' | 'highId'>, userId: Int64): Int64 {
  return conversation.lowId === userId ? conversation.highId : conversation.lowId
}

/** For maps. */
export function conversationText({ appId, lowId, highId }: ConversationKey): string {
  return `${appId}/${lowId}/${highId}`
}

/** What a party sees of a conversation as a whole. */
export interface ConversationView {
  readonly peerId: Int64
  readonly createdAt: number
  readonly lastMessageId: number
}

/** How far a party got; 0 before the first message. */
export interface Marks {
  /** Position up to and including which everything is read. */
  readonly readSeq: number
  /** ID of the message up to and including which everything is hidden from the party. */
  readonly hiddenUpToId: number
}
