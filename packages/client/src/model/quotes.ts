/** Quotes of a log are kept among the cached reads, under keys that name no read. */
import type { CachedRead, LogKey, MessageRecord, QuoteRecord } from './records.js'

const prefix = 'quotes.'
/** Characters of the text of an original in its quote, as on the server. */
const excerptCharacters = 200

/** Returns the key of the quotes of a log. */
export function quotesKey(log: LogKey): string {
  return prefix + log
}

/** Returns the log of a key; undefined: it is no key of quotes. */
export function logOfQuotes(key: string): LogKey | undefined {
  return key.startsWith(prefix) ? key.slice(prefix.length) : undefined
}

/** Returns the quotes of a log in the cached reads, the one taken last at the end. */
export function quotesIn(
  cached: { get(key: string): CachedRead | undefined },
  log: LogKey,
): readonly QuoteRecord[] {
  return (cached.get(quotesKey(log))?.value ?? []) as readonly QuoteRecord[]
}

/** Returns the quote of a message that is present. */
export function quoteOf({ msgId, seq, senderId, ...texts }: MessageRecord): QuoteRecord {
  return { msgId, seq, state: 'present', senderId, ...quotedTexts(texts) }
}

/** Returns the members of a quote that an edit changes. */
export function quotedTexts({
  contentType,
  content,
}: Pick<MessageRecord, 'contentType' | 'content'>): Pick<QuoteRecord, 'contentType' | 'excerpt'> {
  // A character has at most two units.
  const characters = [...content.slice(0, 2 * excerptCharacters)]
  return { contentType, excerpt: characters.slice(0, excerptCharacters).join('') }
}
