import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { BroadcastPositionStore } from './broadcast-position-store.js'

/** The hidden positions of group members. */
export interface HiddenMemberPositions {
  /** Hides the messages up to the end of the conversation. @returns false when there is no such member */
  hide(tx: Tx, member: MemberKey, end: ConversationEnd): Promise<boolean>
}

export interface ConversationDeletionServiceOptions {
  readonly database: Database
  readonly finder: ConversationFinder
  readonly store: ConversationStore
  readonly members: HiddenMemberPositions
  readonly broadcastPositions: BroadcastPositionStore
}

/** Deletes conversations for one of their users, by moving the hidden position (rule E13). */
export class ConversationDeletionService {
  constructor(private readonly options: ConversationDeletionServiceOptions) {}

  /**
   * Hides the present messages, if any. The next message brings the conversation back with that message only.
   * @throws AppError conversation_not_found
   */
  async delete(reader: UserKey, peerId: Int64): Promise<void> {
    const { database, finder, store, broadcastPositions } = this.options
    const conversation = await database.read((db) => finder.get(db, reader, peerId))
    const isHidden = await database.transaction(async (tx) => {
      if (conversation.isGroup) return this.#hideGroup(tx, reader, peerId)
      const hasMessages = await store.hide(tx, conversation, reader.userId)
      return (await broadcastPositions.hide(tx, { ...reader, senderId: peerId })) || hasMessages
    })
    if (!isHidden) await finder.requireParty(conversation, reader.userId)
  }

  async #hideGroup(tx: Tx, { appId, userId }: UserKey, groupId: Int64): Promise<boolean> {
    const { store, members } = this.options
    const end = await store.findEnd(tx, { appId, groupId })
    return end.seq > 0 && members.hide(tx, { appId, groupId, userId }, end)
  }
}
