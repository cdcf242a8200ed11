import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { ReplyStore } from '../log/reply-store.js'
import type { AnsweredMessage } from '../model/message-model.js'
import { type Quote, repliesToQuote } from '../model/quote-model.js'

/** The caller whose answer holds messages. */
export interface QuoteReader {
  readonly appId: string
  /** null for an Admin token that reads a group as a whole. */
  readonly userId: Int64 | null
}

/** Reads the originals of the replies of an answer, by the rights of its reader (rule E8c). */
export class QuoteService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: Pick<ReplyStore, 'listQuotes' | 'listQuotesOfAll'>
    },
  ) {}

  /**
   * Lists the originals that messages name and that are not among them, by position: one statement,
   * and none for messages without such replies.
   * @param messages what the reader gets, read by the same rights
   */
  async list(
    { appId, userId }: QuoteReader,
    messages: readonly AnsweredMessage[],
  ): Promise<readonly Quote[]> {
    const replies = repliesToQuote(messages)
    if (replies.length === 0) return []
    const { database, store } = this.options
    const quotes = await database.read((db) =>
      userId === null
        ? store.listQuotesOfAll(db, replies)
        : store.listQuotes(db, { appId, userId }, replies),
    )
    return quotes.sort((a, b) => a.messageId - b.messageId)
  }
}
