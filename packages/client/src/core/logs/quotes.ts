import { type Alteration, isWhole } from '../../model/message-fields.js'
import { logOfQuotes, quotedTexts, quoteOf, quotesKey } from '../../model/quotes.js'
import type { CachedRead, LogKey, QuoteRecord } from '../../model/records.js'
import type { CoreContext } from '../core-context.js'
import type { Fold } from './log-fold.js'

/** Quotes of one log that are kept: those taken last. */
const maxQuotes = 500

const unaltered: ReadonlyMap<number, Alteration> = new Map()

/**
 * The quotes of answers, by log and original. Edits and recalls of originals change them. What may be
 * old is dropped: it is read again when it is shown.
 */
export class Quotes {
  readonly #context: CoreContext
  readonly #hiddenMsgId: (log: LogKey) => number
  /** By log, then by the ID of the original. */
  readonly #quotes = new Map<LogKey, ReadonlyMap<number, QuoteRecord>>()

  /** @param hiddenMsgId returns the ID up to which messages of a log are hidden */
  constructor(context: CoreContext, hiddenMsgId: (log: LogKey) => number) {
    this.#context = context
    this.#hiddenMsgId = hiddenMsgId
  }

  start(cached: readonly CachedRead[]): void {
    for (const { key, value } of cached) {
      const log = logOfQuotes(key)
      if (log !== undefined) this.#quotes.set(log, mapOf(value as readonly QuoteRecord[]))
    }
  }

  /** Everything was dropped from the store. */
  reset(): void {
    this.#quotes.clear()
  }

  get(log: LogKey, msgId: number): QuoteRecord | undefined {
    return this.#quotes.get(log)?.get(msgId)
  }

  /**
   * Takes the quotes of an answer, which may be older than a deletion.
   * @param altered alterations that came while it was read, by position
   */
  take(log: LogKey, quotes: readonly QuoteRecord[], altered = unaltered): void {
    if (quotes.length === 0) return
    const kept = new Map(this.#quotes.get(log))
    for (const quote of quotes) {
      const { msgId, seq } = quote
      const isHidden = msgId <= this.#hiddenMsgId(log)
      kept.delete(msgId)
      kept.set(msgId, isHidden ? { msgId, seq, state: 'hidden' } : after(quote, altered.get(seq)))
    }
    this.#put(log, [...kept.values()])
  }

  /** Applies a change of a log to its quotes. */
  changed(
    log: LogKey,
    { isEmptied, hiddenMsgId, altered }: Pick<Fold, 'isEmptied' | 'hiddenMsgId' | 'altered'>,
  ): void {
    const quotes = [...(this.#quotes.get(log)?.values() ?? [])]
    const left = isEmptied
      ? []
      : quotes
          .filter(({ msgId }) => msgId > hiddenMsgId)
          .map((quote) => after(quote, altered.get(quote.seq)))
    if (left.length < quotes.length || left.some((quote, index) => quote !== quotes[index]))
      this.#put(log, left)
  }

  /** The user does not have the log any more. */
  drop(log: LogKey): void {
    if (this.#quotes.get(log)?.size) this.#put(log, [])
  }

  #put(log: LogKey, quotes: readonly QuoteRecord[]): void {
    const value = quotes.slice(-maxQuotes)
    this.#quotes.set(log, mapOf(value))
    this.#context.batch.putCachedRead({ key: quotesKey(log), value, isStale: false })
  }
}

function mapOf(quotes: readonly QuoteRecord[]): ReadonlyMap<number, QuoteRecord> {
  return new Map(quotes.map((quote) => [quote.msgId, quote]))
}

/** Returns a quote after an alteration of the original; the same object when nothing has changed. */
function after(quote: QuoteRecord, alteration: Alteration | undefined): QuoteRecord {
  if (isWhole(alteration)) return quoteOf(alteration)
  if (alteration === undefined || quote.state !== 'present') return quote
  const { msgId, seq, senderId } = quote
  if (!alteration) return { msgId, seq, state: 'recalled', ...(senderId && { senderId }) }
  const { texts } = alteration
  return texts ? { ...quote, ...quotedTexts(texts) } : quote
}
