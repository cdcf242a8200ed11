import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { ChangeStore } from '../log/change-store.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Tombstone } from '../model/change-model.js'
import { type Conversation, groupConversation } from '../model/conversation-model.js'
import type { HistoryMessage } from '../model/message-model.js'
import type { HistoryReader } from './history-service.js'

export interface MessageLookupServiceOptions {
  readonly database: Database
  readonly store: Pick<ChangeStore, 'findState'>
  readonly messageLog: Pick<HistoryStore, 'findTombstone' | 'groupPage' | 'page'>
  readonly finder: Pick<ConversationFinder, 'find' | 'findStream' | 'kindOf' | 'requireReader'>
}

/** A message, or the tombstone of a recalled one. */
export type FoundMessage = { readonly conversation: Conversation } & (
  | { readonly message: HistoryMessage }
  | { readonly tombstone: Tombstone }
)

/** Reads single messages by the rights of the history (rule E6). */
export class MessageLookupService {
  constructor(private readonly options: MessageLookupServiceOptions) {}

  /**
   * Reads a message that the history shows the caller, or the tombstone of one that it has shown.
   * Nothing is delivered by it.
   * @throws AppError message_not_found, and what HistoryService throws for the same caller
   */
  async get(
    { appId, userId, adminOf }: Omit<HistoryReader, 'deviceSn'>,
    peerId: Int64,
    messageId: Int64,
  ): Promise<FoundMessage> {
    const found =
      adminOf === null
        ? await this.#findAsUser({ appId, userId: requireUserId(userId) }, peerId, messageId)
        : await this.#findInGroup(groupConversation(appId, adminOf), messageId)
    if (!found) throw new AppError('message_not_found')
    return found
  }

  /**
   * Reads messages of a conversation as {@link get} reads one. Those that the history does not show
   * the caller are left out. Broadcasts of the peer are not read.
   * @param listIds lists the IDs in the conversation, which the caller may read
   */
  async list(
    { appId, userId, adminOf }: Omit<HistoryReader, 'deviceSn'>,
    peerId: Int64,
    listIds: (conversation: Conversation) => Promise<readonly number[]>,
  ): Promise<FoundMessage[]> {
    if (adminOf !== null) {
      const group = groupConversation(appId, adminOf)
      await this.#requireGroup(group)
      return foundOf(await listIds(group), (id) => this.#findInGroup(group, id))
    }
    const log = await this.#requireLog({ appId, userId: requireUserId(userId) }, peerId)
    return foundOf(await listIds(log), (id) => this.#findIn(log, id))
  }

  /** Looks in both logs of a peer, as the history shows them together. */
  async #findAsUser(
    reader: UserKey,
    peerId: Int64,
    messageId: Int64,
  ): Promise<FoundMessage | null> {
    const { finder } = this.options
    const log = await this.#requireLog(reader, peerId)
    const stream = await finder.findStream(log)
    return (
      (await this.#findIn(log, messageId)) ?? (stream && (await this.#findIn(stream, messageId)))
    )
  }

  async #requireLog(reader: UserKey, peerId: Int64): Promise<ReadableLog> {
    const { database, finder } = this.options
    const named = await database.read((db) => finder.find(db, reader, peerId))
    if (!named) throw new AppError('user_not_found')
    return database.read((db) => finder.requireReader(db, reader, named))
  }

  async #findIn(log: ReadableLog, messageId: Int64): Promise<FoundMessage | null> {
    const { database, messageLog, store } = this.options
    const range = { upToId: messageId, limit: 1 }
    const [message] = await database.read((db) => messageLog.page(db, log, range))
    if (message?.messageId === Number(messageId)) return { conversation: log, message }
    const tombstone = await database.read((db) => messageLog.findTombstone(db, log, messageId))
    const state = tombstone && (await database.read((db) => store.findState(db, log)))
    const isSeen = tombstone && state && tombstone.messageId > state.hiddenMessageId
    return isSeen ? { conversation: log, tombstone } : null
  }

  /** Admins of a group read all of its messages. */
  async #findInGroup(group: Conversation, messageId: Int64): Promise<FoundMessage | null> {
    const { database, messageLog } = this.options
    const { appId, lowId: groupId } = group
    await this.#requireGroup(group)
    const range = { upToId: messageId, limit: 1 }
    const [message] = await database.read((db) =>
      messageLog.groupPage(db, { appId, groupId }, range),
    )
    if (message?.messageId === Number(messageId)) return { conversation: group, message }
    const tombstone = await database.read((db) => messageLog.findTombstone(db, group, messageId))
    return tombstone && { conversation: group, tombstone }
  }

  async #requireGroup({ appId, lowId: groupId }: Conversation): Promise<void> {
    const { database, finder } = this.options
    if ((await database.read((db) => finder.kindOf(db, appId, groupId))) !== 'group')
      throw new AppError('group_not_found')
  }
}

/** Reads messages in the order of their IDs in the list, without tombstones and those not found. */
async function foundOf(
  messageIds: readonly number[],
  find: (messageId: number) => Promise<FoundMessage | null>,
): Promise<FoundMessage[]> {
  const found = await Promise.all(messageIds.map(find))
  return found.filter((each) => each !== null && 'message' in each) as FoundMessage[]
}

/** @throws AppError invalid_parameter for an Admin token alone */
function requireUserId(userId: Int64 | null): Int64 {
  if (userId !== null) return userId
  throw new AppError(
    'invalid_parameter',
    'header user_id or group_id is required with an Admin token',
  )
}
