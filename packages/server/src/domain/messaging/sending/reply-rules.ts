import type { ErrorName, Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import { systemUserId } from '../../users/system-user.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { HistoryStore } from '../log/history-store.js'
import type { ReplyStore } from '../log/reply-store.js'
import type { Conversation } from '../model/conversation-model.js'
import type { ReplyTo } from '../model/message-model.js'

export interface ReplyRulesOptions {
  readonly database: Database
  readonly store: Pick<ReplyStore, 'findOriginal' | 'findOriginalOfAll'>
  readonly finder: Pick<ConversationFinder, 'findReadable' | 'findStream'>
  readonly messageLog: Pick<HistoryStore, 'findSeq'>
}

/** Decides to which messages a sender may reply (rule E8c). */
export class ReplyRules {
  constructor(private readonly options: ReplyRulesOptions) {}

  /**
   * Finds the message that a reply names: one that its sender sees. The system sees all messages of
   * groups.
   * @returns reply_unavailable, or message_type_refused for broadcasts and in the conversation of the system
   */
  async find(
    sender: UserKey,
    conversation: Conversation,
    messageId: Int64,
  ): Promise<ReplyTo | ErrorName> {
    const { database, store, finder, messageLog } = this.options
    if (!conversation.isGroup && conversation.lowId === systemUserId) return 'message_type_refused'
    if (sender.userId === systemUserId)
      return (
        (await database.read((db) => store.findOriginalOfAll(db, conversation, messageId))) ??
        'reply_unavailable'
      )
    const log = await database.read((db) => finder.findReadable(db, sender, conversation))
    if (!log) return 'reply_unavailable'
    const original = await database.read((db) => store.findOriginal(db, log, messageId))
    if (original) return original
    const stream = await finder.findStream(log)
    const isBroadcast =
      stream && (await database.read((db) => messageLog.findSeq(db, stream, messageId))) !== null
    return isBroadcast ? 'message_type_refused' : 'reply_unavailable'
  }
}
