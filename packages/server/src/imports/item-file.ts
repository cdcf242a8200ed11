/** Files of JSON objects: one a line, or a JSON array of them. */
import { isUtf8 } from 'node:buffer'
import { boundedLines } from '../lib/bounded-lines.js'
import { isJsonObject, JsonLimitError, type JsonObject, parseJson } from '../lib/json.js'
import { ImportFileError } from './import-error.js'
import { ArraySplitter } from './json-array.js'

/** An object of a file with its line, from 1, or the reason why there is none. */
export type FileItem =
  | { readonly line: number; readonly item: JsonObject }
  | { readonly line: number; readonly problem: string }

const maxItemBytes = 4 * 1024 * 1024
const tooLong = `is longer than ${maxItemBytes / 1024 / 1024} MiB`
const openList = 0x5b
const openObject = 0x7b
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

const gunzip = 'is compressed; read it through standard input: gunzip -c FILE | hermod import … -'
const signatureBytes = 4
/** First bytes of files that are no text. */
const signatures: readonly (readonly [string, string])[] = [
  ['1f8b', gunzip],
  ['28b52ffd', gunzip.replace('gunzip', 'zstd -d')],
  ['504b0304', 'is a ZIP archive; unpack it first'],
  ['fffe', 'is in UTF-16; convert it to UTF-8 first'],
  ['feff', 'is in UTF-16; convert it to UTF-8 first'],
]

/**
 * Reads the objects of a file, with as much memory for any size.
 * @param name of the file in failures
 * @throws ImportFileError for a file of another form
 */
export async function* readItems(
  input: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<FileItem> {
  const bad = (problem: string) => new ImportFileError(`${name} ${problem}`)
  const chunks = input[Symbol.asyncIterator]()
  const head = await firstChunk(chunks)
  const text = withoutMark(head)
  const form = formOf(text, bad)
  const all = joined(text, chunks)
  if (form === 'array') yield* entriesOf(all, bad)
  else yield* linesOf(all)
}

/** Reads until the first byte that is no white space; returns everything up to the end of its chunk. */
async function firstChunk(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  let head = Buffer.alloc(0)
  const needsMore = () =>
    head.length < signatureBytes || (head.length <= maxItemBytes && isBlank(withoutMark(head)))
  while (needsMore()) {
    const next = await chunks.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

function withoutMark(head: Buffer): Buffer {
  return head.subarray(0, 3).equals(byteOrderMark) ? head.subarray(3) : head
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every(isSpace)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}

async function* joined(head: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value
}

function formOf(head: Buffer, bad: (problem: string) => Error): 'lines' | 'array' {
  requireText(head, bad)
  const first = head.find((byte) => !isSpace(byte))
  if (first === openList) return 'array'
  if (first === openObject) return 'lines'
  throw bad('has neither one JSON object a line nor a JSON array of them')
}

/** @throws the error of `bad` for the first bytes of a file that is empty, compressed or no UTF-8 */
function requireText(head: Buffer, bad: (problem: string) => Error): void {
  const start = head.toString('hex', 0, 4)
  const known = signatures.find(([signature]) => start.startsWith(signature))
  if (known) throw bad(known[1])
  if (isBlank(head)) throw bad('is empty')
  if (head.includes(0)) throw bad('is no text: it has bytes of value 0')
}

/**
 * Passes the bytes of a text file on.
 * @param name of the file in failures
 * @throws ImportFileError for a file that is empty, compressed or no UTF-8
 */
export async function* textBytes(
  input: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer> {
  const chunks = input[Symbol.asyncIterator]()
  const head = await firstChunk(chunks)
  requireText(withoutMark(head), (problem) => new ImportFileError(`${name} ${problem}`))
  yield* joined(head, chunks)
}

async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<FileItem> {
  let line = 0
  for await (const bytes of boundedLines(input, maxItemBytes)) {
    line++
    if (bytes === null || !isBlank(bytes)) yield { line, ...parsed(bytes) }
  }
}

async function* entriesOf(
  input: AsyncIterable<Buffer>,
  bad: (problem: string) => Error,
): AsyncGenerator<FileItem> {
  const splitter = new ArraySplitter(maxItemBytes, bad)
  for await (const chunk of input)
    for (const { line, bytes } of splitter.add(chunk)) yield { line, ...parsed(bytes) }
  splitter.end()
}

function parsed(
  bytes: Buffer | null,
): { readonly item: JsonObject } | { readonly problem: string } {
  if (bytes === null) return { problem: tooLong }
  if (!isUtf8(bytes)) return { problem: 'is not valid UTF-8' }
  try {
    const item = parseJson(bytes.toString('utf8'))
    return isJsonObject(item) ? { item } : { problem: 'is no JSON object' }
  } catch (error) {
    if (error instanceof JsonLimitError) return { problem: error.message }
    return { problem: 'is not valid JSON' }
  }
}
