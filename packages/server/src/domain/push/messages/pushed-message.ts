import type { Int64 } from '@hermod/protocol'

/** A message as its push task remembers it: what says who is told of it (rules G5, K16). */
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
  /** Of a group: the owner, an admin or the system sent it. */
  readonly isFromAdmin: boolean
  /** Of a group: the members whom it mentions. */
  readonly mentions: Mentions
  /** Its sender wants it to arrive without sound and vibration. */
  readonly isSilent: boolean
  /**
   * A later message that is pushed to everybody whom this one would be pushed to, so that this one is pushed to nobody; null: there was
   * none when this one was looked at.
   */
  readonly collapsedBy: Int64 | null
}

/** Members whom a message mentions. */
export type Mentions = 'all' | readonly Int64[]
