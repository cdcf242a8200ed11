import type { ShownReply } from '../../core/inputs.js'
import { covers } from '../../core/ranges.js'
import { quoteOf, quotesIn } from '../../model/quotes.js'
import type { LogKey, MessageRecord, QuoteRecord, ReplyTo } from '../../model/records.js'
import type { Hub } from '../hub.js'
import type { LogWindow } from './message-window.js'

/** A reply in a list, stored or not. */
export interface ListedReply {
  readonly log: LogKey
  /** 0: not stored yet. */
  readonly msgId: number
  readonly replyTo: ReplyTo
}

/** The quotes of the replies of a list. */
export interface ShownQuotes {
  /** Returns what is known of the original of a reply, each time the same object; undefined: nothing. */
  find(reply: ListedReply): QuoteRecord | undefined
  /** Replies for which nothing was found. */
  readonly missing: readonly ShownReply[]
}

/** Makes the source of the quotes of a list: its loaded messages, and the quotes that are kept. */
export function quotesOfList(hub: Hub): (windows: readonly LogWindow[]) => ShownQuotes {
  const present = new WeakMap<MessageRecord, QuoteRecord>()
  const gone = new WeakMap<ReplyTo, QuoteRecord>()
  const goneQuote = (replyTo: ReplyTo, state: QuoteRecord['state']) => {
    const known = gone.get(replyTo)
    const quote = known?.state === state ? known : { ...replyTo, state }
    gone.set(replyTo, quote)
    return quote
  }
  const find = (window: LogWindow | undefined, log: LogKey, replyTo: ReplyTo) => {
    const original = window?.rows.get(replyTo.seq)
    if (original) {
      const quote = present.get(original) ?? quoteOf(original)
      present.set(original, quote)
      return quote
    }
    const { msgId, seq } = replyTo
    const kept = quotesIn(hub.session.state.cached, log).find((quote) => quote.msgId === msgId)
    if (kept) return kept
    const { hiddenMsgId, ranges } = window?.record ?? { hiddenMsgId: 0, ranges: [] }
    if (msgId <= hiddenMsgId) return goneQuote(replyTo, 'hidden')
    // A loaded position without a message.
    const isGone = window?.isLoaded(seq) && covers(ranges, seq, seq)
    return isGone ? goneQuote(replyTo, 'recalled') : undefined
  }
  return (windows) => {
    const missing: ShownReply[] = []
    return {
      missing,
      find({ log, msgId, replyTo }) {
        const window = windows.find(({ key }) => key === log)
        const quote = find(window, log, replyTo)
        if (!quote && msgId > 0) missing.push({ log, msgId, original: replyTo })
        return quote
      },
    }
  }
}
