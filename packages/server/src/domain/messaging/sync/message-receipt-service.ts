import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { BulkSelect } from '../../../db/dialect/dialect.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { HistoryStore } from '../log/history-store.js'
import { groupConversation } from '../model/conversation-model.js'
import type { ReceiptRequestStore } from '../positions/receipt-request-store.js'

export interface MessageReceiptServiceOptions {
  readonly database: Database
  readonly finder: ConversationFinder
  readonly messageLog: Pick<HistoryStore, 'findMany'>
  readonly requests: Pick<ReceiptRequestStore, 'findRequested'>
}

/** The users whose receipts a message requested, by user ID. */
export interface ReceiptUsers {
  readonly read: readonly Int64[]
  readonly unread: readonly Int64[]
  /** Users who left the group, or joined it after the message. */
  readonly gone: readonly Int64[]
}

interface ReceiptRow {
  readonly user_id: Int64
  readonly acked_seq: number
  readonly start_msg_id: number
}

const findMembers: BulkSelect = {
  table: 'readers',
  keys: { app_id: 'text', user_id: 'bigint', low_id: 'bigint', high_id: 'bigint' },
  columns: 't.user_id, t.acked_seq, t.start_msg_id',
}

/** Tells senders which members have read a group message. */
export class MessageReceiptService {
  constructor(private readonly options: MessageReceiptServiceOptions) {}

  /**
   * @throws AppError group_not_found, member_required, message_not_found; no_permission when
   * another user has sent the message
   */
  async list({ appId, userId }: UserKey, groupId: Int64, messageId: Int64): Promise<ReceiptUsers> {
    const { database, finder, messageLog, requests } = this.options
    const kind = await database.read((db) => finder.kindOf(db, appId, groupId))
    if (kind !== 'group') throw new AppError('group_not_found')
    const named = groupConversation(appId, groupId)
    const log = await database.read((db) => finder.requireReader(db, { appId, userId }, named))
    const [message] = await database.read((db) => messageLog.findMany(db, log, [Number(messageId)]))
    if (!message) throw new AppError('message_not_found')
    if (message.senderId !== userId) throw new AppError('no_permission')
    const { seq } = message
    const requested = await database.read((db) =>
      requests.findRequested(db, { appId, groupId }, seq),
    )
    const asked = requested.filter((id) => id !== userId).sort((a, b) => Number(a) - Number(b))
    const rows = await database.read((db) =>
      database.bulk<ReceiptRow>(
        db,
        findMembers,
        asked.map((id) => [appId, id, groupId, groupId]),
      ),
    )
    const members = new Map(
      rows.filter((row) => row.start_msg_id < messageId).map((row) => [row.user_id, row]),
    )
    const hasRead = (id: Int64) => (members.get(id)?.acked_seq ?? 0) >= seq
    return {
      read: asked.filter((id) => members.has(id) && hasRead(id)),
      unread: asked.filter((id) => members.has(id) && !hasRead(id)),
      gone: asked.filter((id) => !members.has(id)),
    }
  }
}
