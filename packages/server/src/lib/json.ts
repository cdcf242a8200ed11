import { parse as parseExactly, stringify as stringifyExactly } from 'lossless-json'

// Integers up to 2^53 - 1 = 9007199254740991 are exact in a double. Digits inside a string only
// cost the slower parser.
const longNumber = /\d{17}|9\d{15}/

/** The members of a JSON object, by name. */
export type JsonObject = Readonly<Record<string, unknown>>

/**
 * JSON.parse with exact integers: a number when it is a safe integer, else a bigint.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return longNumber.test(text) ? parseExactly(text, undefined, exactly) : JSON.parse(text)
}

/** The last of several members of one name counts, as with JSON.parse. */
const exactly = {
  parseNumber: exactNumber,
  onDuplicateKey: ({ newValue }: { newValue: unknown }) => newValue,
}

function exactNumber(digits: string): number | bigint {
  const value = Number(digits)
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(digits) ? value : BigInt(digits)
}

/** JSON.stringify that writes bigints as integers. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Rare: only an ID beyond 2^53 that a caller sent and that a per-item result returns is a
    // bigint.
    if (!(error instanceof TypeError)) throw error
    return stringifyExactly(value) ?? 'null'
  }
}

/** Strings and numbers as text; "" for anything else. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : ''
}
