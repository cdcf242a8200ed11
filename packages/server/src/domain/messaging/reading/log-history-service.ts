import type { Database } from '../../../db/database.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { ChangeStore } from '../log/change-store.js'
import type { HistoryStore } from '../log/history-store.js'
import type { Conversation } from '../model/conversation-model.js'
import type { HistoryMessage } from '../model/message-model.js'
import { bytesOfMessage } from './change-service.js'
import { fitting, type PageReads } from './page-reads.js'

export interface LogHistoryServiceOptions {
  readonly database: Database
  readonly store: Pick<ChangeStore, 'findState'>
  readonly messageLog: Pick<HistoryStore, 'findAtSeq' | 'listSizes' | 'page'>
  readonly finder: Pick<ConversationFinder, 'requireReader' | 'requirePeer'>
  readonly pages: PageReads
}

/**
 * A page of the messages of a log. Positions of the page without a message are gone, or hidden from
 * the reader.
 */
export interface LogHistoryPage {
  /** Newest first. */
  readonly messages: readonly HistoryMessage[]
  /** The first position of the page; 1 on the last page. */
  readonly fromSeq: number
  /** The position after the last one of the page. */
  readonly beforeSeq: number
  /** Messages up to and including this one are hidden from the reader, or removed. */
  readonly hiddenMessageId: number
}

const maxMessages = 100

/** Reads the messages of a log by position, for clients that keep a copy of it. */
export class LogHistoryService {
  constructor(private readonly options: LogHistoryServiceOptions) {}

  /**
   * Reads messages below a position. It moves no delivered position: clients acknowledge what they
   * have stored.
   *
   * @param page.beforeSeq exclusive; 0 = from the newest message
   * @param page.limit clamped to 100
   * @param page.maxBytes the page ends before its messages have more; it holds at least one
   * @throws AppError conversation_not_found when the reader is no party, or there is no such user
   * or group; member_required for a
   *   group that the reader is no member of
   */
  async messagesBefore(
    reader: UserKey,
    named: Conversation,
    page: { readonly beforeSeq: number; readonly limit: number; readonly maxBytes: number },
  ): Promise<LogHistoryPage> {
    const { database, store, messageLog, finder } = this.options
    const log = await database.read((db) => finder.requireReader(db, reader, named))
    const state = await database.read((db) => store.findState(db, log))
    if (!state) await database.read((db) => finder.requirePeer(db, log))
    const { seq, hiddenMessageId } = state ?? { seq: 0, hiddenMessageId: 0 }
    const beforeSeq = page.beforeSeq === 0 ? seq + 1 : Math.min(page.beforeSeq, seq + 1)
    const isNewest = beforeSeq > seq
    const upToId = isNewest
      ? Number.MAX_SAFE_INTEGER
      : await database.read((db) => messageLog.findAtSeq(db, log, beforeSeq - 1))
    const { limit, maxBytes } = page
    const bounds = { upToId, beforeSeq, limit: Math.min(limit, maxMessages), maxBytes }
    const { messages, isWhole } = await this.#read(log, bounds)
    const fromSeq = isWhole ? 1 : (messages.at(-1)?.seq ?? 1)
    return { messages, fromSeq, beforeSeq, hiddenMessageId }
  }

  /** @returns isWhole: the log has no visible message below the page */
  async #read(
    log: ReadableLog,
    bounds: {
      readonly upToId: number
      readonly beforeSeq: number
      readonly limit: number
      readonly maxBytes: number
    },
  ): Promise<{ messages: HistoryMessage[]; isWhole: boolean }> {
    const { database, messageLog, pages } = this.options
    const { upToId, limit, maxBytes, beforeSeq } = bounds
    const sizes = await pages.sizes(() =>
      database.read((db) => messageLog.listSizes(db, log, { upToId, limit })),
    )
    const isEnd = sizes.length < limit
    // Messages that came after the state was read.
    const older = sizes.filter(({ seq }) => seq < beforeSeq)
    const [first] = older
    if (!first) {
      const last = sizes.at(-1)
      if (isEnd || !last) return { messages: [], isWhole: true }
      return this.#read(log, { ...bounds, upToId: last.messageId - 1 })
    }
    const { count, bytes } = fitting(older, maxBytes)
    const page = { upToId: first.messageId, limit: count }
    const found = await pages.run(bytes, () =>
      database.read((db) => messageLog.page(db, log, page)),
    )
    const messages: HistoryMessage[] = []
    let left = maxBytes
    for (const message of found) {
      left -= bytesOfMessage(message)
      if (left < 0 && messages.length > 0) return { messages, isWhole: false }
      messages.push(message)
    }
    // Hidden messages have sizes and end the log.
    return { messages, isWhole: found.length < count || (isEnd && count === older.length) }
  }
}
