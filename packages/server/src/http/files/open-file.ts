/** Answers to requests for files: the bytes that a request asks for, and the headers. */
import type { IncomingMessage } from 'node:http'
import type { ByteRange } from '../../lib/system/byte-range.js'
import {
  contentDisposition,
  type FileAnswer,
  type FileContent,
  type FileDescription,
  type FileRedirect,
  smallFileBytes,
} from '../../lib/system/file-answer.js'
import { byteRangesBody, contentRange, rangeLength } from './byte-ranges.js'
import { evaluateConditions, isSameFile, type Validators } from './conditions.js'
import { requestedRanges } from './ranges.js'

/** An answer whose content is in memory, or can be read. */
export interface OpenedFile {
  readonly status: 200 | 206 | 302 | 304 | 412 | 416
  /** Names and values, one after another. */
  readonly headers: readonly string[]
  /** Bytes of the content; null for an answer without a length. */
  readonly length: number | null
  /** The sender reads or destroys it. */
  readonly body: Buffer | AsyncIterable<Buffer>
}

const nothing = Buffer.alloc(0)
/** Pages of other origins may show the file; no browser guesses another type. */
const everyFile = [
  'cross-origin-resource-policy',
  'cross-origin',
  'x-content-type-options',
  'nosniff',
]
/** A browser that shows an attachment gives it an opaque origin without scripts. */
const sandboxed = ['content-security-policy', "sandbox; default-src 'none'"]

/**
 * @returns to GET all or parts of the file, or its address; to HEAD the headers of a GET without a
 * range, also for a file at another
 *   address
 * @throws AppError of the file when it cannot be read
 */
export async function openAnswer(request: IncomingMessage, file: FileAnswer): Promise<OpenedFile> {
  if (file.kind === 'redirect') return redirectAnswer(request, file)
  const validators = validatorsOf(file)
  switch (evaluateConditions(request.headers, validators)) {
    case 'failed':
      return { status: 412, headers: cacheHeaders(file), length: 0, body: nothing }
    case 'not_modified':
      return { status: 304, headers: cacheHeaders(file), length: null, body: nothing }
    case 'send':
      return openParts(request, file, validators)
  }
}

/**
 * The address is signed for GET only. HEAD is answered here, without validators, since those of the
 * store differ.
 */
function redirectAnswer({ method }: IncomingMessage, file: FileRedirect): OpenedFile {
  const uncached = ['cache-control', 'no-store']
  if (method !== 'HEAD') {
    const headers = ['location', file.location, ...uncached]
    return { status: 302, headers, length: 0, body: nothing }
  }
  const headers = withType([...uncached, ...descriptionHeaders(file)], file)
  return { status: 200, headers, length: file.size, body: nothing }
}

async function openParts(
  request: IncomingMessage,
  file: FileContent,
  validators: Validators,
): Promise<OpenedFile> {
  const { size } = file
  const headers = contentHeaders(file)
  if (request.method === 'HEAD')
    return { status: 200, headers: withType(headers, file), length: size, body: nothing }
  const { range } = request.headers
  const ranges = isSameFile(request.headers, validators) ? requestedRanges(range, size) : 'whole'
  if (ranges === 'outside') {
    headers.push('content-range', `bytes */${size}`)
    return { status: 416, headers, length: 0, body: nothing }
  }
  const open = await opener(file)
  if (ranges === 'whole')
    return { status: 200, headers: withType(headers, file), length: size, body: await open(null) }
  const [first, ...others] = ranges as readonly [ByteRange, ...ByteRange[]]
  if (others.length === 0) {
    headers.push('content-range', contentRange(first, size))
    const length = rangeLength(first)
    return { status: 206, headers: withType(headers, file), length, body: await open(first) }
  }
  const { contentType, length, body } = byteRangesBody({ ...file, open }, ranges)
  return { status: 206, headers: withType(headers, { contentType }), length, body }
}

/** Returns the reader of ranges. The bytes of a small file are read once for all ranges. */
async function opener(
  file: FileContent,
): Promise<(range: ByteRange | null) => Promise<Buffer | AsyncIterable<Buffer>>> {
  if (file.size > smallFileBytes)
    return async (range) => (range === null ? file.open() : file.open(range))
  const bytes = file.size === 0 ? nothing : await file.read()
  return async (range) => (range === null ? bytes : bytes.subarray(range.start, range.end + 1))
}

function validatorsOf({ etag, lastModified }: FileContent): Validators {
  return { etag: `"${etag}"`, lastModified: new Date(lastModified).toUTCString() }
}

/** The headers that a client caches with the bytes. */
function cacheHeaders(file: FileContent): string[] {
  const { etag, lastModified } = validatorsOf(file)
  const cacheControl = `private, max-age=${file.maxAgeSeconds}, immutable`
  return ['etag', etag, 'last-modified', lastModified, 'cache-control', cacheControl]
}

function contentHeaders(file: FileContent): string[] {
  return [...cacheHeaders(file), ...descriptionHeaders(file)]
}

function descriptionHeaders(file: FileDescription): string[] {
  const headers = ['accept-ranges', 'bytes', 'content-disposition', contentDisposition(file)]
  headers.push(...everyFile)
  if (file.disposition === 'attachment') headers.push(...sandboxed)
  return headers
}

function withType(headers: string[], { contentType }: { readonly contentType: string }): string[] {
  return ['content-type', contentType, ...headers]
}
