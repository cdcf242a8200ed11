/** The values in request bodies. */
import { isUtf8 } from 'node:buffer'
import { isJsonObject } from '../../lib/json.js'
import { parseArrived } from '../../pipeline/arrived-json.js'
import { invalid } from '../../pipeline/parameters.js'

/** A body in memory. */
export interface RawBody {
  readonly bytes: Buffer
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/**
 * @returns the value of a JSON body, undefined for an empty one
 * @throws AppError invalid_parameter
 */
export function jsonValue({ bytes, contentType, contentEncoding }: RawBody): unknown {
  if (bytes.length === 0) return undefined
  if (contentType !== undefined && !isJsonType(contentType))
    throw invalid(['content-type must be application/json'])
  return parseBody(decodeText(bytes, contentEncoding))
}

/**
 * Returns the text of a body that is one text: a JSON string or an object that wraps one stands for
 * that text, any other body is the text itself, byte for byte (rule B4).
 * @returns undefined for an empty body that is not declared as plain text
 * @throws AppError invalid_parameter
 */
export function textValue({ bytes, contentType, contentEncoding }: RawBody): string | undefined {
  const text = decodeText(bytes, contentEncoding)
  if (contentType !== undefined && !isJsonType(contentType)) return text
  if (text === '') return undefined
  try {
    return wrappedText(parseBody(text)) ?? text
  } catch {
    // Clients also send the bare text under the JSON content type.
    return text
  }
}

const byteOrderMark = 0xfeff
/** The members that hold the text when clients wrap it in an object (rule B4). */
const wrappers: ReadonlySet<string> = new Set(['private_info', 'public_info', 'value'])

/** @returns null when the JSON value does not stand for a text */
function wrappedText(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return null
  const [[name, member] = ['', null], ...others] = Object.entries(value)
  const isWrapped = others.length === 0 && wrappers.has(name) && typeof member === 'string'
  return isWrapped ? member : null
}

// Nearly every request has the one form that is compared first; the pattern covers parameters,
// suffixes and case.
function isJsonType(contentType: string): boolean {
  return (
    contentType === 'application/json' ||
    /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)
  )
}

function decodeText(bytes: Buffer, contentEncoding = 'identity'): string {
  if (contentEncoding.toLowerCase() !== 'identity')
    throw invalid([`the body must be sent without content-encoding, not as ${contentEncoding}`])
  if (!isUtf8(bytes)) throw invalid(['the body must be valid UTF-8'])
  return bytes.toString('utf8')
}

function parseBody(text: string): unknown {
  return parseArrived(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text, 'the body')
}
