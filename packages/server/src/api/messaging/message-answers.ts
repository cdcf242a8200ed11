import type { Int64, Quote as QuoteResource, SyncMessage } from '@hermod/protocol'
import type { Conversation } from '../../domain/messaging/model/conversation-model.js'
import { toEventMessage, withoutTransactionId } from '../../domain/messaging/model/event-message.js'
import type { AnsweredMessage, HistoryMessage } from '../../domain/messaging/model/message-model.js'
import type { Quote } from '../../domain/messaging/model/quote-model.js'
import type {
  OwnReactions,
  OwnReactionsOf,
} from '../../domain/messaging/reactions/own-reactions.js'
import type { HistoryReader } from '../../domain/messaging/reading/history-service.js'
import type { QuoteService } from '../../domain/messaging/reading/quote-service.js'

/** The reader of an answer, and what the answer adds for this reader. */
export interface AnsweredReader {
  readonly userId: Int64 | null
  /** The reactions of the reader. */
  readonly own: OwnReactionsOf
  /** The member `quotes` of the answer; nothing without any. */
  readonly quotes: { quotes?: QuoteResource[] }
}

/** Reads what answers with messages add for their readers. */
export class MessageAnswers {
  constructor(
    private readonly options: {
      readonly ownReactions: OwnReactions
      readonly quotes: QuoteService
    },
  ) {}

  /** @param messages what the answer holds, read by the rights of the reader */
  async readerOf(
    {
      appId,
      userId,
      adminOf = null,
    }: Pick<HistoryReader, 'appId' | 'userId'> & Partial<HistoryReader>,
    messages: readonly AnsweredMessage[],
  ): Promise<AnsweredReader> {
    const { ownReactions, quotes } = this.options
    // An admin of a group reads it as a whole.
    const quoteReader = { appId, userId: adminOf === null ? userId : null }
    const own = await ownReactions.find(userId, messages)
    const found = await quotes.list(quoteReader, messages)
    return { userId, own, quotes: found.length === 0 ? {} : { quotes: found.map(toQuote) } }
  }
}

/** The transaction ID is for the sender, `own` for the reader. */
export function toReaderMessage(
  conversation: Conversation,
  message: HistoryMessage,
  { userId, own }: AnsweredReader,
): SyncMessage {
  const full = toEventMessage(conversation, message)
  const shown = (message.senderId === userId ? full : withoutTransactionId(full)) as SyncMessage
  const keys = own(conversation, message)
  return keys ? { ...shown, own: keys } : shown
}

function toQuote({ messageId, seq, state, senderId, contentType, excerpt }: Quote): QuoteResource {
  return {
    msg_id: messageId,
    seq,
    state,
    ...(senderId !== null && { sender_id: senderId }),
    ...(contentType !== null && { content_type: contentType }),
    ...(excerpt !== null && { excerpt }),
  }
}
