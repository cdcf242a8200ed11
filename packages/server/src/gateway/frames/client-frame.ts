import type { AppError } from '@hermod/protocol'
import { findJsonMembers, JsonLimitError, parseJson, stringifyJson } from '../../lib/json.js'
import { compacted } from '../../lib/system/retained-bytes.js'
import { parseArrived } from '../../pipeline/arrived-json.js'
import { bodyCost } from '../../pipeline/call-cost.js'
import { invalid } from '../../pipeline/parameters.js'
import { maxNameLength } from '../limits.js'

/** A frame of a client that asks for an answer. Its data is not parsed. */
export interface ReceivedCall {
  readonly kind: 'call'
  /** The id as JSON text, echoed in the answer. */
  readonly id: string
  readonly op: unknown
  readonly userId: unknown
  readonly groupId: unknown
  /** The whole frame. */
  readonly bytes: Buffer
}

type ClientFrame =
  | ReceivedCall
  /** A frame that asks for nothing, such as `{}`. */
  | { readonly kind: 'idle' }
  /** A frame that is answered with the error, and runs no call. */
  | { readonly kind: 'refused'; readonly id: string; readonly error: AppError }
  /** A frame that breaks the protocol; the connection is closed. */
  | { readonly kind: 'bad'; readonly reason: string }

const idle: ClientFrame = { kind: 'idle' }
const noObject = bad('a frame is one JSON object')
const memberNames = new Set(['id', 'op', 'user_id', 'group_id'])
/** The id of the answer to a frame whose own cannot be read. */
const unknownId = 'null'
/** The longest form of a name: each character as an escape sequence, and the quotes. */
const maxNameText = 6 * maxNameLength + 2

/** Reads the members of a frame that are needed before its parsing is paid; a text frame is valid UTF-8. */
export function readFrame(bytes: Buffer, isBinary: boolean): ClientFrame {
  if (isBinary) return bad('frames are text')
  const text = bytes.toString()
  let id = unknownId
  try {
    const members = findJsonMembers(text, memberNames)
    if (members === null) return noObject
    const given = shortValue(members.get('id'))
    if (isFrameId(given)) id = stringifyJson(given)
    const op = shortValue(members.get('op'))
    if (isUnset(given) && isUnset(op)) {
      // A longer one would have to be paid before, and asks for nothing.
      if (bodyCost(bytes.length) === 0) parseJson(text)
      return idle
    }
    if (id === unknownId)
      return refused(id, `id must be an integer or a text of at most ${maxNameLength} characters`)
    return {
      kind: 'call',
      id,
      op,
      userId: shortValue(members.get('user_id')),
      groupId: shortValue(members.get('group_id')),
      bytes: compacted(bytes),
    }
  } catch (error) {
    return error instanceof JsonLimitError ? refused(id, `the frame ${error.message}`) : noObject
  }
}

/**
 * Parses the data of a call.
 * @throws AppError invalid_parameter
 */
export function dataOf({ bytes }: Pick<ReceivedCall, 'bytes'>): Readonly<Record<string, unknown>> {
  const { data } = parseArrived(bytes.toString(), 'the frame') as { readonly data?: unknown }
  if (isUnset(data)) return {}
  if (typeof data !== 'object' || Array.isArray(data)) throw invalid(['data must be an object'])
  return data as Record<string, unknown>
}

/**
 * Returns the value of a member, or its text when that is too long for any valid value.
 * @throws SyntaxError; JsonLimitError
 */
function shortValue(text: string | undefined): unknown {
  return text === undefined || text.length > maxNameText ? text : parseJson(text)
}

function isFrameId(id: unknown): boolean {
  if (typeof id === 'bigint') return true
  if (typeof id === 'number') return Number.isSafeInteger(id)
  return typeof id === 'string' && id.length <= maxNameLength
}

function isUnset(value: unknown): value is null | undefined {
  return value === undefined || value === null
}

function refused(id: string, violation: string): ClientFrame {
  return { kind: 'refused', id, error: invalid([violation]) }
}

function bad(reason: string): ClientFrame {
  return { kind: 'bad', reason }
}
