import { AppError, type Int64, messageStatus } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { GroupKey } from '../../groups/core/group-model.js'
import { countInPage, fitInPage, maxPageBytes } from '../../paging.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { HistoryStore } from '../log/history-store.js'
import { type Conversation, groupConversation } from '../model/conversation-model.js'
import { textUnits } from '../model/message-content.js'
import type { HistoryMessage, MessageSize } from '../model/message-model.js'
import type { PositionWriter } from '../positions/position-writer.js'
import { ignoreTransientErrors } from '../positions/transient-errors.js'
import { fitting, type PageReads } from './page-reads.js'

export interface HistoryServiceOptions {
  readonly database: Database
  readonly finder: ConversationFinder
  readonly messageLog: HistoryStore
  readonly positions: PositionWriter
  readonly pages: PageReads
  /** A read changes nothing while the service takes no writes. */
  readonly state: { readonly isServing: boolean }
}

/** A page of the messages of a conversation. */
export interface MessagesPage {
  readonly conversation: Conversation
  /** Newest first. */
  readonly messages: readonly HistoryMessage[]
  /** First message of the next page; null on the last one. */
  readonly nextMessageId: number | null
}

/** The caller who reads a history. */
export interface HistoryReader {
  readonly appId: string
  /** null for an Admin token that acts for no user. */
  readonly userId: Int64 | null
  /** null when the page reaches no device. */
  readonly deviceSn: number | null
  /** The group that an admin reads as a whole; null = reads as a user. */
  readonly adminOf: Int64 | null
}

interface HistoryPageRequest {
  readonly startId: Int64
  readonly limit: number
}

interface HistoryRange {
  /** The newest message that the range may contain. */
  readonly upToId: Int64
  readonly limit: number
}

/** The reads of one log. */
interface RangeReads {
  sizes(db: Queryable, range: HistoryRange): Promise<MessageSize[]>
  page(db: Queryable, range: HistoryRange): Promise<HistoryMessage[]>
}

const maxHistoryPage = 100

/** Reads the messages of conversations (rule E6). */
export class HistoryService {
  constructor(private readonly options: HistoryServiceOptions) {}

  /**
   * Reads a page. It counts as delivered when the reader has a device (rule E6). Admins of a group
   * read all of its messages, which delivers none.
   * @param peerId the user or group; for an admin the group that the pipeline has compared with `adminOf`
   * @param page.startId first message of the page, inclusive; 0 for the newest
   * @param page.limit clamped to 100
   * @throws AppError user_not_found when the ID was never given; member_required for a group that
   * the reader is no member of;
   *   group_not_found for an admin; invalid_parameter for neither a user nor an admin of a group
   */
  async read(
    { appId, userId, deviceSn, adminOf }: HistoryReader,
    peerId: Int64,
    page: HistoryPageRequest,
  ): Promise<MessagesPage> {
    if (adminOf !== null) return this.#readGroup({ appId, groupId: adminOf }, page)
    if (userId === null)
      throw new AppError(
        'invalid_parameter',
        'header user_id or group_id is required with an Admin token',
      )
    return this.#readAsUser({ appId, userId, isOnDevice: deviceSn !== null }, peerId, page)
  }

  async #readAsUser(
    reader: UserKey & { readonly isOnDevice: boolean },
    peerId: Int64,
    page: HistoryPageRequest,
  ): Promise<MessagesPage> {
    const { database, finder, messageLog } = this.options
    const { upToId, limit } = historyRange(page)
    const named = await database.read((db) => finder.find(db, reader, peerId))
    if (!named) throw new AppError('user_not_found')
    const log = await database.read((db) => finder.requireReader(db, reader, named))
    const read = (part: ReadableLog) =>
      this.#readRange(
        { upToId, limit: limit + 1 },
        {
          sizes: (db, range) => messageLog.listSizes(db, part, range),
          page: (db, range) => messageLog.page(db, part, range),
        },
      )
    const stream = await finder.findStream(log)
    const [direct, broadcasts] = await Promise.all([read(log), stream === null ? [] : read(stream)])
    const rows = broadcasts.length === 0 ? direct : mergeNewest(direct, broadcasts)
    const shown = rows.slice(0, Math.min(limit, countShown(rows)))
    if (reader.isOnDevice) {
      await this.#moveDelivered(log, shown, direct)
      if (stream) await this.#moveDelivered(stream, shown, broadcasts)
    }
    return {
      conversation: log,
      messages: shown,
      nextMessageId: rows[shown.length]?.messageId ?? null,
    }
  }

  async #readGroup(group: GroupKey, page: HistoryPageRequest): Promise<MessagesPage> {
    const { database, finder, messageLog } = this.options
    const { upToId, limit } = historyRange(page)
    const { appId, groupId } = group
    if ((await database.read((db) => finder.kindOf(db, appId, groupId))) !== 'group')
      throw new AppError('group_not_found')
    const rows = await this.#readRange(
      { upToId, limit: limit + 1 },
      {
        sizes: (db, range) => messageLog.listGroupSizes(db, group, range),
        page: (db, range) => messageLog.groupPage(db, group, range),
      },
    )
    const messages = rows.slice(0, Math.min(limit, countShown(rows)))
    return {
      conversation: groupConversation(appId, groupId),
      messages,
      nextMessageId: rows[messages.length]?.messageId ?? null,
    }
  }

  /** Reads the messages that fit in a page by their sizes, and the one after them. */
  async #readRange({ upToId, limit }: HistoryRange, log: RangeReads): Promise<HistoryMessage[]> {
    const { database, pages } = this.options
    const sizes = await pages.sizes(() => database.read((db) => log.sizes(db, { upToId, limit })))
    const [newest] = sizes
    if (!newest) return []
    const { count, bytes } = fitting(sizes, maxPageBytes)
    // Messages that came since would take the places of others.
    const range = { upToId: newest.messageId, limit: Math.min(limit, count + 1) }
    return pages.run(bytes, () => database.read((db) => log.page(db, range)))
  }

  /**
   * Moves the delivered position to the page. When this fails the page is answered all the same,
   * and the next page repeats it.
   */
  async #moveDelivered(
    log: ReadableLog,
    shown: readonly HistoryMessage[],
    part: readonly HistoryMessage[],
  ): Promise<void> {
    const { database, messageLog, positions, state } = this.options
    if (!state.isServing) return
    const undelivered = part.find(
      ({ senderId, status }) => senderId !== log.userId && status === messageStatus.stored,
    )
    if (!undelivered || !shown.includes(undelivered)) return
    const { messageId } = undelivered
    await ignoreTransientErrors(async () => {
      const [reader, position] = await Promise.all([
        positions.find(log),
        database.read((db) => messageLog.findUpTo(db, log, messageId)),
      ])
      if (reader) await positions.move(reader, 'delivered_seq', position)
    })
  }
}

function historyRange({ startId, limit }: HistoryPageRequest): HistoryRange {
  return {
    upToId: startId === 0 ? Number.MAX_SAFE_INTEGER : startId,
    limit: Math.min(limit, maxHistoryPage),
  }
}

/** The number of messages that fit in a page. */
function countShown(messages: readonly HistoryMessage[]): number {
  return fitInPage(textUnits(messages)) ? messages.length : countInPage(messages, textsOf)
}

function textsOf({ content, attachment, config, ext }: HistoryMessage): readonly string[] {
  return [content, attachment, config, ext]
}

/** Merges two lists, both newest first. */
function mergeNewest(a: readonly HistoryMessage[], b: readonly HistoryMessage[]): HistoryMessage[] {
  return [...a, ...b].sort((one, other) => other.messageId - one.messageId)
}
