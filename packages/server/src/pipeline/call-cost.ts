/** What a call costs its user beyond the token that every call takes (rule A2b). */
import { isWholeBody, type Operation } from '@hermod/protocol'
import type { Parameters } from './parameters.js'

/** A token pays for so many users or groups that are looked up, */
const lookUpsPerToken = 100
/** for a copy of so many bytes of a message, */
const messageBytesPerToken = 4_096
/** and for so much of an answer. */
const answerBytesPerToken = 16_384
/** A look-up of more entries than that waits its turn. */
const largeLookUp = 1_000
const bytesPerCharacter = 3

/** What the parameters of an operation's calls add. */
export interface CallCost {
  /** For the entries of its lists. */
  entries(params: Parameters): number
  /** For the size of what is stored once for each entry; paid by calls that succeed. */
  bytes(params: Parameters): number
  /** It looks up so much that few such calls should be under way at once. */
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
    isLarge: (params) => lookUps.some(({ name }) => lengthOf(params[name]) > largeLookUp),
  }
}

/** @param answer text, or a value for a caller in this process, which costs nothing */
export function answerCost(answer: unknown): number {
  return typeof answer === 'string' ? Math.floor(answer.length / answerBytesPerToken) : 0
}

function entryCost({ name, isLookUp }: ListParameter, params: Parameters): number {
  const count = lengthOf(params[name])
  return isLookUp ? Math.floor(count / lookUpsPerToken) : Math.max(0, count - 1)
}

/** Of one copy. */
function tokensFor(params: Parameters, texts: readonly string[]): number {
  let length = 0
  for (const name of texts) length += lengthOf(params[name])
  if (length * bytesPerCharacter <= messageBytesPerToken) return 1
  const bytes = texts.reduce((sum, name) => sum + Buffer.byteLength(costText(params[name])), 0)
  return Math.ceil(bytes / messageBytesPerToken)
}

function costText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** 0 of what is absent. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0
}
