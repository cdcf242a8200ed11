/** Request bodies: their bytes and the values in them. */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { AppError } from '@hermod/protocol'
import type { ArrivingBody, Bodies } from '../edge/bodies.js'
import { requestTimeoutMs } from '../edge/deadlines.js'
import { parseJson } from '../lib/json.js'
import { isRecord } from '../pipeline/decode.js'
import { invalid } from '../pipeline/parameters.js'

/** @throws AppError body_too_large when the announced length exceeds the limit */
export function requireAnnouncedSize(request: IncomingMessage, maxBytes: number): void {
  if (announcedBytes(request) > maxBytes) throw bodyTooLarge(maxBytes)
}

function bodyTooLarge(maxBytes: number): AppError {
  return new AppError('body_too_large', `at most ${maxBytes} bytes`)
}

function bodyEndedEarly(cause?: unknown): AppError {
  return new AppError('malformed_request', 'the body ended early', { cause })
}

/** 0 when it is not announced. */
function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

/**
 * Reads a request body into memory, within the bound of all bodies that are arriving.
 * @throws AppError body_too_large; unavailable when bodies take too much memory; malformed_request when the client went away before its end
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  bodies: Bodies,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    requireAnnouncedSize(request, maxBytes)
    if (request.destroyed) throw bodyEndedEarly()
    const announced = announcedBytes(request)
    const parts: Buffer[] = []
    let arriving: ArrivingBody | null = null
    let length = 0
    let count = 0
    let isDone = false
    const end = () => {
      isDone = true
      if (arriving) bodies.end(arriving)
    }
    const fail = (error: AppError) => {
      if (isDone) return
      end()
      request.off('data', take)
      reject(error)
    }
    const take = (part: Buffer) => {
      length += part.length
      if (length > maxBytes) return fail(bodyTooLarge(maxBytes))
      if (++count > maxSmallParts && length < count * smallPart) {
        fail(bodyEndedEarly())
        request.destroy()
        return
      }
      // A body that arrives as a whole is in memory for a moment only.
      if (!arriving && (request.complete || length === announced)) return void parts.push(part)
      arriving ??= bodies.begin({
        socket: request.socket,
        maxBytes: announced || maxBytes,
        refuse: () => fail(tooManyBodies()),
      })
      arriving.append(part)
    }
    request.on('data', take)
    request.on('end', () => {
      if (isDone) return
      end()
      resolve(arriving ? arriving.bytes : joinedChunks(parts))
    })
    request.on('close', () => {
      if (!isDone) fail(bodyEndedEarly())
    })
  })
}

/** Each part costs as much as a small call, so a body of single bytes would cost as much as a million calls. */
const maxSmallParts = 2_000
const smallPart = 32

function joinedChunks(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

function tooManyBodies(): AppError {
  return new AppError('unavailable', 'too many bodies are on their way')
}

/**
 * Returns a request body as a stream, for a body that must not be in memory as a whole. It fails with AppError body_too_large once it
 * exceeds the limit, and with malformed_request when the client goes away; the request itself stays open for the answer.
 * @param arrived called with the number of bytes of each part
 * @throws AppError body_too_large
 */
export function streamBody(
  request: IncomingMessage,
  maxBytes: number,
  arrived: (bytes: number) => void,
): Readable {
  requireAnnouncedSize(request, maxBytes)
  return Readable.from(limitedChunks(request, maxBytes, arrived), { objectMode: false })
}

async function* limitedChunks(
  request: IncomingMessage,
  maxBytes: number,
  arrived: (bytes: number) => void,
): AsyncGenerator<Buffer, void> {
  const chunks = request.iterator({ destroyOnReturn: false })
  let length = 0
  try {
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      length += chunk.length
      arrived(chunk.length)
      if (length > maxBytes) throw bodyTooLarge(maxBytes)
      yield chunk
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw bodyEndedEarly(error)
  } finally {
    // The rest of a body that is not read would keep the next call on the connection waiting.
    request.resume()
  }
}

/**
 * Reads on after the answer of a request, since closing would take the answer from its client, but no longer than a whole request may
 * take.
 */
export function drainRequest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  const timer = setTimeout(() => request.destroy(), requestTimeoutMs)
  request.once('close', () => clearTimeout(timer))
}

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
  const text = decodeText(bytes, contentEncoding)
  try {
    return parseBody(text)
  } catch (error) {
    // The parser of exact numbers is recursive; no request of the contract is nested nearly as deep as it can go.
    const isTooDeep = error instanceof RangeError
    throw invalid([isTooDeep ? 'the body is nested too deeply' : 'the body must be valid JSON'])
  }
}

/**
 * Returns the text of a body that is one text: a JSON string or an object that wraps one stands for that text, any other body is the text
 * itself, byte for byte (rule B4).
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
  if (!isRecord(value)) return null
  const [[name, member] = ['', null], ...others] = Object.entries(value)
  const isWrapped = others.length === 0 && wrappers.has(name) && typeof member === 'string'
  return isWrapped ? member : null
}

// Nearly every request has the one form that is compared first; the pattern covers parameters, suffixes and case.
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
  return parseJson(text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text)
}
