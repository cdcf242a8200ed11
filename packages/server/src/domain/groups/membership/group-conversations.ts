import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { GroupKey, MemberKey } from '../core/group-model.js'

/** The end of a conversation; 0 before the first message. */
export interface ConversationEnd {
  readonly seq: number
  /** The number of the last change of its log. */
  readonly change: number
  readonly lastMessageId: number
}

/** Operations of groups on their conversations, whose readers are the members. */
export interface GroupConversations {
  /** Makes the empty conversation of a new group, with the owner as its reader. */
  begin(tx: Tx, group: GroupKey, ownerId: Int64): Promise<void>
  /**
   * Locks the end of the conversation: sends wait until the transaction ends. This separates later
   * messages, which are new to a joining user or missed by a muted member, from earlier ones. Call
   * before locking any reader.
   */
  lockEnd(tx: Tx, group: GroupKey): Promise<ConversationEnd>
  /** Adds members as readers from a locked end on. */
  add(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    from: { readonly end: ConversationEnd; readonly isHistoryVisible: boolean },
  ): Promise<void>
  /** Removes former members. */
  remove(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void>
  /**
   * Stops or resumes the reception of a member. Messages in between are never unread; earlier unread
   * messages stay unread (rule F8a). Locks the end of the conversation, which orders every send
   * before or after the change.
   */
  setReception(tx: Tx, member: MemberKey, receives: boolean): Promise<void>
  /** Ends unread messages in a dissolved group. */
  end(tx: Tx, group: GroupKey): Promise<void>
}
