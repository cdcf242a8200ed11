import type { Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import { isBroadcastStream, toEventConversation } from '../model/conversation-model.js'
import { readerKeyOf } from '../readers/reader-sql.js'
import type { ReaderStore } from '../readers/reader-store.js'

export interface ConversationDeletionServiceOptions {
  readonly database: Database
  readonly finder: ConversationFinder
  readonly store: Pick<ConversationStore, 'findEnd'>
  readonly readers: ReaderStore
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
    const { database, finder } = this.options
    const log = await database.read((db) => finder.getReadable(db, reader, peerId))
    // In the order in which all transactions lock readers.
    const logs = log.isGroup ? [log] : [finder.streamOf(reader, peerId), log]
    await database.transaction(async (tx) => {
      for (const each of logs) await this.#hide(tx, each)
    })
  }

  /** Hides the messages up to the end of the log, if the user is a reader and there are any. */
  async #hide(tx: Tx, log: ReadableLog): Promise<void> {
    const { store, readers } = this.options
    const end = await store.findEnd(tx, log)
    if (end.seq === 0) return
    if (isBroadcastStream(log)) await readers.insertOfStream(tx, log)
    if (await readers.hide(tx, readerKeyOf(log), end)) this.#announce(tx, log, end)
  }

  /** Appends the event for the other devices of the reader. */
  #announce(tx: Tx, log: ReadableLog, { seq, lastMessageId }: ConversationEnd): void {
    const { appId, userId } = log
    const about = { appId, actorId: userId, userIds: [userId] }
    const details = { conversation: toEventConversation(log), hidden_msg_id: lastMessageId, seq }
    this.options.outbox.append(tx, actorEvent('conversation.deleted', about, details))
  }
}
