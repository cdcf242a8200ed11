import type { Int64 } from '@hermod/protocol'
import type { Conversation } from '../../messaging/model/conversation-model.js'

/** A member of a group, or a party of a direct conversation, to import. */
export interface MemberItem {
  readonly userId: Int64
  readonly conversation: Conversation
  readonly role: number
  /** undefined: now */
  readonly joinedAt: number | undefined
  /** undefined: everything that was imported is read */
  readonly lastRead: number | undefined
}
