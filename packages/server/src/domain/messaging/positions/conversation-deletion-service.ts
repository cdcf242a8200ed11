import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import {
  broadcastStream,
  type Conversation,
  toEventConversation,
} from '../model/conversation-model.js'
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
  readonly outbox: Outbox
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
    const conversation = await database.read((db) => finder.getReadable(db, reader, peerId))
    await database.transaction(async (tx) => {
      if (conversation.isGroup) {
        const end = await this.#hideGroup(tx, reader, peerId)
        if (end) this.#announce(tx, reader, conversation, end)
        return
      }
      const end = await store.hide(tx, conversation, reader.userId)
      if (end) this.#announce(tx, reader, conversation, end)
      const ofBroadcasts = await broadcastPositions.hide(tx, { ...reader, senderId: peerId })
      if (ofBroadcasts)
        this.#announce(tx, reader, broadcastStream(reader.appId, peerId), {
          ...ofBroadcasts,
          seq: ofBroadcasts.end,
        })
    })
  }

  /** @returns null when the group has no messages or the reader is no member */
  async #hideGroup(
    tx: Tx,
    { appId, userId }: UserKey,
    groupId: Int64,
  ): Promise<ConversationEnd | null> {
    const { store, members } = this.options
    const end = await store.findEnd(tx, { appId, groupId })
    const isHidden = end.seq > 0 && (await members.hide(tx, { appId, groupId, userId }, end))
    return isHidden ? end : null
  }

  /** Appends the event for the other devices of the reader. */
  #announce(
    tx: Tx,
    { appId, userId }: UserKey,
    conversation: Conversation,
    { seq, lastMessageId }: Pick<ConversationEnd, 'seq' | 'lastMessageId'>,
  ): void {
    const about = { appId, actorId: userId, userIds: [userId] }
    const details = {
      conversation: toEventConversation(conversation),
      hidden_msg_id: lastMessageId,
      seq,
    }
    this.options.outbox.append(tx, actorEvent('conversation.deleted', about, details))
  }
}
