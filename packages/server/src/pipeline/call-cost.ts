/** The cost of a call for its user beyond the token that every call takes (rule A2b). */
import { bodyBytesPerToken, isWholeBody, type Operation } from '@hermod/protocol'
import type { Allowance } from './allowance.js'
import type { Parameters } from './parameters.js'

/** Users or groups that one token pays to look up. */
const lookUpsPerToken = 100
/** Bytes of one copy of a message that one token pays for. */
const messageBytesPerToken = 4_096
/** Characters of an answer that one token pays for. */
const answerBytesPerToken = 16_384
/** Rows that one token pays to walk over. */
const rowsPerToken = 500
/** Look-ups of more entries run a few at a time. */
const largeLookUp = 1_000
const bytesPerCharacter = 3
/** The longest form of a character in JSON, and of an ID with the white space around it. */
const jsonBytesPerCharacter = 6
const jsonBytesPerId = 48

/** The costs that the parameters of an operation's calls add. */
export interface CallCost {
  /** The cost of the entries of its lists. */
  entries(params: Parameters): number
  /** The cost of the bytes that are stored for each entry; only calls that succeed pay it. */
  bytes(params: Parameters): number
  /**
   * Returns the part of a parsed body that must be paid by its bytes; the rest is a message, which
   * pays its copies instead.
   * @param bodyBytes of the whole body
   */
  parsedBytes(params: Parameters, bodyBytes: number): number
  /** Reports whether the call looks up so much that only a few such calls may run at once. */
  isLarge(params: Parameters): boolean
}

interface ListParameter {
  readonly name: string
  readonly isLookUp: boolean
}

/** @returns null where every call costs the same */
export function compileCost({ query, body, copied }: Operation): CallCost | null {
  const fields = { ...query, ...(isWholeBody(body) ? { [body.whole]: body.schema } : body) }
  const lists = Object.entries(fields)
    .filter(([, schema]) => schema.type === 'array')
    .map(([name, schema]): ListParameter => ({ name, isLookUp: schema['x-look-up'] === true }))
  const [first] = lists
  if (first === undefined) return null
  const lookUps = lists.filter(({ isLookUp }) => isLookUp)
  return {
    entries: (params) => lists.reduce((sum, list) => sum + entryCost(list, params), 0),
    bytes: copied
      ? (params) => lengthOf(params[first.name]) * (tokensFor(params, copied) - 1)
      : () => 0,
    parsedBytes: copied
      ? (params, bodyBytes) =>
          bodyBytes -
          jsonBytesPerId * lengthOf(params[first.name]) -
          jsonBytesPerCharacter * charactersOf(params, copied)
      : (_, bodyBytes) => bodyBytes,
    isLarge: (params) => lookUps.some(({ name }) => lengthOf(params[name]) > largeLookUp),
  }
}

/** The cost of the parsing of a body; nothing for a small one. */
export function bodyCost(bytes: number, bytesPerToken = bodyBytesPerToken): number {
  return Math.max(0, Math.floor(bytes / bytesPerToken))
}

/** @param answer text, or a value for a caller in this process, which costs nothing */
export function answerCost(answer: unknown): number {
  return typeof answer === 'string'
    ? Math.floor(Buffer.byteLength(answer) / answerBytesPerToken)
    : 0
}

/** Returns a function that charges a caller for rows that a read looks at beyond its answer. */
export function chargeRowsTo(allowance: Pick<Allowance, 'charge'>): (rows: number) => void {
  return (rows) => allowance.charge(Math.floor(rows / rowsPerToken))
}

function entryCost({ name, isLookUp }: ListParameter, params: Parameters): number {
  const count = lengthOf(params[name])
  return isLookUp ? Math.floor(count / lookUpsPerToken) : Math.max(0, count - 1)
}

/** The cost of one copy. */
function tokensFor(params: Parameters, texts: readonly string[]): number {
  const length = charactersOf(params, texts)
  if (length * bytesPerCharacter <= messageBytesPerToken) return 1
  const bytes = texts.reduce((sum, name) => sum + Buffer.byteLength(costText(params[name])), 0)
  return Math.ceil(bytes / messageBytesPerToken)
}

function charactersOf(params: Parameters, texts: readonly string[]): number {
  let length = 0
  for (const name of texts) length += lengthOf(params[name])
  return length
}

function costText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns 0 for an absent value. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0
}
