/** Shortens texts to the limits of gateways. */
import { cutText } from '../../../lib/cut-text.js'

/** Returns the longest prefix of whole characters with at most `maxBytes` bytes in UTF-8. */
export function cutBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  return longest(text, (part) => Buffer.byteLength(part) <= maxBytes)
}

/**
 * Returns the longest prefix of a text that fits.
 * @param fits also true of every shorter prefix
 * @returns "" when no prefix fits
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
