import type { Quote as QuoteResource } from '@hermod/protocol'
import type { HistoryReader } from '../../domain/messaging/reading/history-service.js'
import type { AnsweredMessage, Quote } from '../../domain/messaging/model/quote-model.js'
import type { QuoteReader, QuoteService } from '../../domain/messaging/reading/quote-service.js'

/** Returns the member `quotes` of an answer that holds these messages; nothing without any. */
export async function quotesOf(
  quotes: QuoteService,
  reader: QuoteReader,
  messages: readonly AnsweredMessage[],
): Promise<{ quotes?: QuoteResource[] }> {
  const found = await quotes.list(reader, messages)
  return found.length === 0 ? {} : { quotes: found.map(toQuote) }
}

/** The reader of an answer: an admin of a group reads it as a whole. */
export function quoteReaderOf({ appId, userId, adminOf }: HistoryReader): QuoteReader {
  return { appId, userId: adminOf === null ? userId : null }
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
