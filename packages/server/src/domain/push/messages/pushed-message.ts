import type { Int64 } from '@hermod/protocol'

/** A message as its push task remembers it: what says who is told of it (rules G5, K16). */
export interface PushedMessage {
  /** `direct`: two users, or the system and a user. `broadcast`: all users. */
  readonly kind: 'direct' | 'group' | 'broadcast'
  readonly msgId: Int64
  /** 0 = the system */
  readonly senderId: Int64
  /** The receiver, or the group; 0 for a broadcast. */
  readonly targetId: Int64
}
