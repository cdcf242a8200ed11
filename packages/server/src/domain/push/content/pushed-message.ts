import type { Int64 } from '@hermod/protocol'

/** The fields of a message by which its receivers are found (rules G5, K16). */
export interface PushedMessage {
  /** `direct`: two users, or the system and a user. `broadcast`: all users. */
  readonly kind: 'direct' | 'group' | 'broadcast'
  readonly msgId: Int64
  /** Position in its conversation. */
  readonly seq: number
  /** 0 = the system */
  readonly senderId: Int64
  /** The receiver, or the group; 0 for a broadcast. */
  readonly targetId: Int64
  /** The owner of the group, an admin or the system sent it. */
  readonly isFromAdmin: boolean
  /** The members of the group that it mentions. */
  readonly mentions: Mentions
  /** The member of the group whose message it replies to; absent: none. */
  readonly quotedId?: Int64
  /** Its sender wants it to arrive without sound and vibration. */
  readonly isSilent: boolean
  /**
   * A later message for at least the same receivers, which is pushed in place of this one; null:
   * there was none.
   */
  readonly collapsedBy: Int64 | null
}

/** The members that a message mentions. */
export type Mentions = 'all' | readonly Int64[]

/** Tests whether a message mentions a user, or replies to a message of the user. */
export function isAddressed(
  { mentions, quotedId }: Pick<PushedMessage, 'mentions' | 'quotedId'>,
  userId: Int64,
): boolean {
  return quotedId === userId || isMentioned(mentions, userId)
}

/** Tests whether a message mentions a user. */
export function isMentioned(mentions: Mentions, userId: Int64): boolean {
  return mentions === 'all' || mentions.includes(userId)
}
