import type { Tx } from '../../../db/database.js'
import type { GroupKey } from '../core/group-model.js'

/** The end of a group's conversation; 0 when it has not begun. */
export interface ConversationEnd {
  readonly seq: number
  readonly lastMessageId: number
}

/** The conversations of groups, as their members need them. */
export interface GroupConversations {
  /**
   * Sends wait until the transaction ends, so that what comes later is new to a user who joins now, and what comes while a member
   * receives nothing is told from what came before. To be called before any member is locked.
   */
  lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd>
}
