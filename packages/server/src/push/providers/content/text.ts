/** Cutting texts to what gateways take. */

/** The beginning of a text, never with half of a character that takes two code units. */
export function cutText(text: string, maxCodeUnits: number): string {
  if (text.length <= maxCodeUnits) return text
  const end = Math.max(0, maxCodeUnits)
  return text.slice(0, splitsPair(text, end) ? end - 1 : end)
}

/** The beginning of a text whose UTF-8 form has at most so many bytes; whole characters only. */
export function cutBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  return longest(text, (part) => Buffer.byteLength(part) <= maxBytes)
}

/**
 * The longest beginning of a text that fits.
 * @param fits also true of every shorter beginning
 * @returns "" when nothing fits
 */
export function longest(text: string, fits: (part: string) => boolean): string {
  let enough = 0
  let tooMuch = text.length + 1
  while (tooMuch - enough > 1) {
    const middle = (enough + tooMuch) >> 1
    if (fits(cutText(text, middle))) enough = middle
    else tooMuch = middle
  }
  return cutText(text, enough)
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}
