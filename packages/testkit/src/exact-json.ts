/**
 * JSON with exact integers, independent of the server's own code so that a fault there shows.
 * Integers beyond 2^53 pass through JSON.parse and JSON.stringify as marked strings; the mark is a
 * character that JSON text never contains raw and that no test value starts with.
 */
const mark = '\u{10FFFF}int64:'
const markedInteger = new RegExp(`"${mark}(-?\\d+)"`, 'gu')
// A string, which stays unchanged, or an integer that may be too long for a double and is no part
// of a fraction or of an exponent.
const stringOrLongInteger = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g

/**
 * @returns integers beyond 2^53 as bigint, all other numbers as number
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  const marked = text.replace(stringOrLongInteger, (token) => {
    return token.startsWith('"') || Number.isSafeInteger(Number(token))
      ? token
      : `"${mark}${token}"`
  })
  return JSON.parse(marked, (_key, value) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  )
}

/** JSON.stringify that writes bigints as integers. */
export function stringifyExactJson(value: unknown): string {
  const marked =
    JSON.stringify(value, (_key, member) =>
      typeof member === 'bigint' ? `${mark}${member}` : member,
    ) ?? 'null'
  return marked.replace(markedInteger, '$1')
}
