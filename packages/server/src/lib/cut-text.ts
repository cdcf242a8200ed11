/** Shortens texts that are displayed. */

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
/** A displayed character may have any number of accents; a longer one is split. */
const maxGrapheme = 64
const isolateStart = /[\u2066-\u2068]/
const firstIsolates = /^[\u2066-\u2069]+/
const isolateEnd = '\u2069'

/**
 * Returns the beginning of a displayed text: whole graphemes, such as flags and letters with their
 * accents, and an end for each bidirectional isolate that is still open.
 */
export function cutText(text: string, maxCodeUnits: number): string {
  if (text.length <= maxCodeUnits) return text
  const { end, open } = longestClosed(text, maxCodeUnits)
  // An isolate is one grapheme, so this changes none.
  return text.slice(0, graphemeEnd(text, end)) + isolateEnd.repeat(open)
}

/** Returns the first grapheme that is displayed; of one that is too long the first character. */
export function firstGrapheme(whole: string): string {
  const text = whole.replace(firstIsolates, '') || whole
  const segment = graphemes.segment(text).containing(0)?.segment ?? ''
  return segment.length <= maxGrapheme ? segment : String.fromCodePoint(text.codePointAt(0) ?? 0)
}

/** Returns the last place up to `at` that splits no grapheme. */
function graphemeEnd(text: string, at: number): number {
  if (at <= 0) return 0
  const found = graphemes.segment(text.slice(0, at + maxGrapheme + 1)).containing(at)
  if (!found || found.segment.length <= maxGrapheme) return found?.index ?? text.length
  return splitsPair(text, at) ? at - 1 : at
}

/** Finds the longest prefix that fits together with an end for each of its open isolates (UAX 9, BD9). */
function longestClosed(text: string, maxCodeUnits: number) {
  let found = { end: 0, open: 0 }
  let open = 0
  for (let end = 1; end <= maxCodeUnits; end++) {
    const unit = text.charAt(end - 1)
    if (isolateStart.test(unit)) open++
    else if (unit === isolateEnd && open > 0) open--
    if (end + open <= maxCodeUnits) found = { end, open }
  }
  return found
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}
