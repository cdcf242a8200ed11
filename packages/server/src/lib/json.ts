/**
 * JSON from outside: bounded in depth, in the length of numbers and in its members, with exact
 * integers and exact names of members.
 */
import { randomBytes } from 'node:crypto'

/** The members of a JSON object, by name. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Valid JSON that the service refuses. The message follows "it" or "the body". */
export class JsonLimitError extends SyntaxError {
  override readonly name = 'JsonLimitError'
}

/** The numbers that pass JSON.parse as strings. */
interface Marked {
  readonly minLength: number
  includes(number: string): boolean
}

const maxDepth = 64
const maxNumberLength = 64
/** Members of all objects and entries of all lists. */
const maxMembers = 20_000
/** Integers up to 2^53 - 1 = 9007199254740991 are exact in a double. */
const inexactInteger: Marked = {
  minLength: 16,
  includes: (number) => /^-?[1-9]\d{15,}$/.test(number) && !Number.isSafeInteger(Number(number)),
}
const everyNumber: Marked = {
  minLength: 1,
  includes: (number) => /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(number),
}
/**
 * Precedes numbers that pass JSON.parse as strings. No text from outside can contain it, since it
 * differs in each process.
 */
const mark = `number-${randomBytes(8).toString('hex')}-`
/**
 * Precedes names with an escape, which pass JSON.parse in hex: V8 of Node 24 reads some of them as
 * other names that it has seen before. https://github.com/nodejs/node/issues/63785
 */
const nameMark = `name-${randomBytes(8).toString('hex')}-`
const markedNumber = new RegExp(`"${mark}([^"]*)"`, 'g')

/**
 * JSON.parse with exact integers: a number when it is a safe integer, else a bigint.
 * @throws SyntaxError; JsonLimitError for more than 64 levels, for a number of more than 64
 * characters, and for more than 20,000 members
 */
export function parseJson(text: string): unknown {
  return parseExact(text, maxMembers)
}

/** {@link parseJson} without the bound on members, for text that the service has written. */
export function parseOwnJson(text: string): unknown {
  return parseExact(text, Number.POSITIVE_INFINITY)
}

function parseExact(text: string, mostMembers: number): unknown {
  const marked = markedText(text, inexactInteger, mostMembers)
  return marked === null ? JSON.parse(text) : unmarked(parseMarked(marked), integerOf)
}

/**
 * Parses JSON for {@link stringifyVerbatim}, which writes its numbers with the characters that they
 * have here.
 * @throws as {@link parseJson}
 */
export function parseVerbatim(text: string): unknown {
  const marked = markedText(text, everyNumber, maxMembers) ?? text
  const value = parseMarked(marked)
  return marked.includes(nameMark) ? unmarked(value, (number) => number) : value
}

/** JSON.stringify for values of {@link parseVerbatim}. */
export function stringifyVerbatim(value: unknown): string {
  return JSON.stringify(value).replace(markedNumber, '$1')
}

/** JSON.stringify that writes bigints as integers. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Rare: only an ID beyond 2^53 that a caller sent and that a per-item result returns is a bigint.
    if (!(error instanceof TypeError)) throw error
    const asMarked = (_: string, member: unknown) =>
      typeof member === 'bigint' ? mark + member : member
    return JSON.stringify(value, asMarked).replace(markedNumber, '$1')
  }
}

/** Tests for an object other than a list. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Strings and numbers as text; "" for anything else. */
export function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : ''
}

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const backslash = 0x5c
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
const numberCharacters = tableOf('-+.0123456789eE')
const spaces = tableOf(' \t\r\n')

/**
 * Scans a text once, outside strings, and makes marked strings of numbers, and marked names of
 * those with an escape.
 * @returns null when there are none
 * @throws JsonLimitError; SyntaxError for a name that is no JSON
 */
function markedText(text: string, numbers: Marked, mostMembers: number): string | null {
  const isMarked = (text: string, at: number, end: number) =>
    // A number before a colon is no JSON, and a string would be.
    numbers.includes(text.slice(at, end)) && text[endOfRun(spaces, text, end)] !== ':'
  const hasEscapes = text.includes('\\')
  let depth = 0
  let members = 0
  let names = 0
  let result = ''
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === quote) {
      const start = at
      at = endOfString(text, start)
      if (hasEscapes && isEscapedName(text, start, at)) {
        // Each name follows a comma or an opening brace. Reading more of them would cost far more
        // than the rest of the text.
        if (++names > members) throw notJson()
        result += `${text.slice(copied, start)}"${markedName(text.slice(start, at + 1))}"`
        copied = at + 1
      }
    } else if (char === openList || char === openObject) {
      if (++depth > maxDepth)
        throw new JsonLimitError(`must be nested at most ${maxDepth} levels deep`)
      if (++members > mostMembers) throw tooManyMembers(mostMembers)
    } else if (char === comma) {
      if (++members > mostMembers) throw tooManyMembers(mostMembers)
    } else if (char === closeList || char === closeObject) depth--
    else if (char === minus || (char >= zero && char <= nine)) {
      const end = endOfRun(numberCharacters, text, at)
      if (end - at > maxNumberLength)
        throw new JsonLimitError(`must have numbers of at most ${maxNumberLength} characters`)
      if (end - at >= numbers.minLength && isMarked(text, at, end)) {
        result += `${text.slice(copied, at)}"${mark}${text.slice(at, end)}"`
        copied = end
      }
      at = end - 1
    }
  }
  return copied === 0 ? null : result + text.slice(copied)
}

function tooManyMembers(most: number): JsonLimitError {
  return new JsonLimitError(`must have at most ${most} members and entries`)
}

/**
 * Finds members of a JSON object without parsing it, so that a text can be judged before its
 * parsing is paid. The text may be no JSON inside its braces.
 * @param names of letters and underscores
 * @returns the texts of the values by name, of the last member of a name; null when the text is no object
 * @throws JsonLimitError when the object itself has more than 20,000 members
 */
export function findJsonMembers(
  text: string,
  names: ReadonlySet<string>,
): ReadonlyMap<string, string> | null {
  const found = new Map<string, string>()
  let depth = 0
  let members = 0
  let nameStart = 0
  let nameEnd = 0
  /** The start of the member's value; 0: its name is next. */
  let start = 0
  let at = endOfRun(spaces, text, 0)
  if (text.charCodeAt(at) !== openObject) return null
  for (; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === quote) {
      const end = endOfString(text, at)
      if (depth === 1 && start === 0) {
        nameStart = at + 1
        nameEnd = end
      }
      at = end
    } else if (char === openList || char === openObject) depth++
    else if (char === colon && depth === 1 && start === 0) start = at + 1
    else if (char === comma || char === closeList || char === closeObject) {
      if (depth === 1 && start > 0) {
        if (++members > maxMembers) throw tooManyMembers(maxMembers)
        const name = withoutUnicodeEscapes(text.slice(nameStart, nameEnd))
        if (names.has(name)) found.set(name, text.slice(start, at).trim())
        start = 0
      }
      if (char !== comma && --depth === 0) break
    }
  }
  const isWhole = depth === 0 && endOfRun(spaces, text, at + 1) === text.length
  return isWhole ? found : null
}

/**
 * Decodes the Unicode escapes of a name. JSON.parse throws for a bad name, and an exception for
 * each name of an unpaid text takes seconds.
 */
function withoutUnicodeEscapes(name: string): string {
  return name.includes('\\')
    ? name.replace(/\\u([0-9a-fA-F]{4})/g, (_, hex) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      )
    : name
}

/** Has 1 at the code of each character. */
function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(128)
  for (let at = 0; at < characters.length; at++) table[characters.charCodeAt(at)] = 1
  return table
}

/** @returns the position after a run of such characters */
function endOfRun(characters: Uint8Array, text: string, start: number): number {
  let end = start
  while (characters[text.charCodeAt(end)] === 1) end++
  return end
}

/** @returns the position of the closing quote */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1)
  if (end < 0) return text.length
  if (text.charCodeAt(end - 1) !== backslash) return end
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === quote) return at
    if (char === backslash) at++
  }
  return text.length
}

function isEscapedName(text: string, start: number, end: number): boolean {
  return text[endOfRun(spaces, text, end + 1)] === ':' && text.slice(start, end).includes('\\')
}

/** @param literal the JSON of a name alone, which V8 reads as it is */
function markedName(literal: string): string {
  return nameMark + Buffer.from(parseMarked(literal) as string, 'utf16le').toString('hex')
}

function memberName(name: string): string {
  return name.startsWith(nameMark)
    ? Buffer.from(name.slice(nameMark.length), 'hex').toString('utf16le')
    : name
}

/** @throws SyntaxError without a part of the text, which would show the mark */
function parseMarked(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson()
  }
}

function notJson(): SyntaxError {
  return new SyntaxError('the text is no JSON')
}

function integerOf(marked: string): bigint {
  return BigInt(marked.slice(mark.length))
}

/**
 * Gives a value its own names, and replaces its marked strings.
 * @param numberOf gets a marked string
 */
function unmarked(value: unknown, numberOf: (marked: string) => unknown): unknown {
  if (typeof value === 'string') return value.startsWith(mark) ? numberOf(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) value[index] = unmarked(item, numberOf)
    return value
  }
  const members = Object.entries(value)
  return Object.fromEntries(
    members.map(([name, member]) => [memberName(name), unmarked(member, numberOf)]),
  )
}

const firstPrintable = 0x20
/** Control characters with an escape of two characters: \\b, \\t, \\n, \\f and \\r. */
const shortEscapes: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])

/** Returns the bytes of a text as JSON in UTF-8. It counts, and writes nothing. */
export function jsonTextBytes(text: string): number {
  let bytes = Buffer.byteLength(text) + 2
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote || code === backslash) bytes++
    else if (code < firstPrintable) bytes += shortEscapes.has(code) ? 1 : 5
  }
  return bytes
}
