import type { Tx } from '../../../db/database.js'
import type { GroupKey } from '../core/group-model.js'

/** The end of a group's conversation; 0 before the first message. */
export interface ConversationEnd {
  readonly seq: number
  /** The number of the last change of its log. */
  readonly change: number
  readonly lastMessageId: number
}

/** Operations of groups on their conversations. */
export interface GroupConversations {
  /**
   * Locks the end of the conversation: sends wait until the transaction ends. This separates later
   * messages, which are new to a joining user or missed by a muted member, from earlier ones. Call
   * before locking any member.
   */
  lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd>
}
