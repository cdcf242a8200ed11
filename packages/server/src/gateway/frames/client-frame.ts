import { JsonLimitError, parseJson, stringifyJson } from '../../lib/json.js'
import { maxNameLength } from '../limits.js'

/** A frame of a client that asks for an answer. */
export interface ReceivedCall {
  readonly kind: 'call'
  /** The id as JSON text, echoed in the answer. */
  readonly id: string
  readonly op: unknown
  readonly data: unknown
  readonly userId: unknown
  readonly groupId: unknown
  /** The size of the frame. */
  readonly bytes: number
}

export type ClientFrame =
  | ReceivedCall
  /** A frame that asks for nothing, such as `{}`. */
  | { readonly kind: 'idle' }
  /** A frame that breaks the protocol; the connection is closed. */
  | { readonly kind: 'bad'; readonly reason: string }

const idle: ClientFrame = { kind: 'idle' }

/** Reads a frame; a text frame is valid UTF-8. */
export function readFrame(bytes: Buffer, isBinary: boolean): ClientFrame {
  if (isBinary) return bad('frames are text')
  const value = parse(bytes.toString())
  if (typeof value === 'string') return bad(value)
  const { id, op, data, user_id: userId, group_id: groupId } = value
  if (id === undefined || id === null)
    return op === undefined || op === null ? idle : bad('a call needs an id')
  if (!isId(id))
    return bad(`id must be an integer or a text of at most ${maxNameLength} characters`)
  return {
    kind: 'call',
    id: stringifyJson(id),
    op,
    data,
    userId,
    groupId,
    bytes: bytes.length,
  }
}

type Members = Readonly<Record<string, unknown>>

/** @returns the fault as text when the frame holds no object */
function parse(text: string): Members | string {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Members)
      : 'a frame is one JSON object'
  } catch (error) {
    return error instanceof JsonLimitError
      ? `a frame ${error.message}`
      : 'a frame is one JSON object'
  }
}

function isId(id: unknown): boolean {
  if (typeof id === 'bigint') return true
  if (typeof id === 'number') return Number.isSafeInteger(id)
  return typeof id === 'string' && id.length <= maxNameLength
}

function bad(reason: string): ClientFrame {
  return { kind: 'bad', reason }
}
