import { hash } from 'node:crypto'
import type { Queryable } from '../db/database.js'
import { counted } from '../lib/counted.js'
import {
  lineOf,
  type LineRow,
  type LineScope,
  type LineType,
  readRows,
  wholeScope,
} from './lines.js'

/** For each type with rows their number, and the sum of the hashes of their lines. */
export type Digest = Readonly<Record<string, TypeDigest>>

export interface TypeDigest {
  readonly count: number
  /** The sum modulo 2^256 of SHA-256 over each line: 64 hexadecimal digits. It needs no order. */
  readonly sum: string
}

/** The progress of work that takes minutes; what is left out stays as it was. */
export interface Progress {
  readonly done?: number
  /** 0: not known */
  readonly total?: number
  readonly text?: string
}

/** Options of work that takes minutes. */
export interface WorkOptions {
  readonly signal?: AbortSignal | undefined
  readonly progress?: ((progress: Progress) => void) | undefined
}

/** Options of work that reads all rows. */
export interface ReadingOptions extends WorkOptions {
  /** The number of the rows, for the progress; default: not known. */
  readonly total?: number
}

const words = 8
const wordBytes = 4
const wordSize = 2 ** 32
/** Sums of words below 2^32 stay exact up to 2^21 of them. */
const linesPerCarry = 2 ** 20

/** Adds up the hashes of lines. */
export class LineSum {
  #count = 0
  /** The last word first. */
  readonly #words = new Float64Array(words)

  /** @param line without its line break */
  add(line: string): void {
    const digest = hash('sha256', line, 'buffer')
    for (let word = 0; word < words; word++)
      this.#words[word] =
        (this.#words[word] as number) + digest.readUInt32BE((words - 1 - word) * wordBytes)
    this.#count++
    if (this.#count % linesPerCarry === 0) this.#carry()
  }

  get digest(): TypeDigest {
    this.#carry()
    const hex = Array.from(this.#words, (word) => word.toString(16).padStart(2 * wordBytes, '0'))
    return { count: this.#count, sum: hex.reverse().join('') }
  }

  #carry(): void {
    let carry = 0
    for (let word = 0; word < words; word++) {
      const sum = (this.#words[word] as number) + carry
      carry = Math.floor(sum / wordSize)
      this.#words[word] = sum - carry * wordSize
    }
  }
}

/**
 * Returns the digest of a database, which is the same on both engines (decision page 079). It
 * occupies the processor: beside a service it runs in a process or thread of its own.
 * @param db one snapshot of the data
 * @param scope default: all of an installation
 * @throws the reason of the signal when it is aborted
 */
export async function digestDatabase(
  db: Queryable,
  options: ReadingOptions = {},
  scope: LineScope = wholeScope,
): Promise<Digest> {
  const digest: Record<string, TypeDigest> = {}
  await forEachPage(db, { ...options, scope }, async (type, pages) => {
    const sum = new LineSum()
    for await (const page of pages) for (const row of page) sum.add(lineOf(type, row, scope.textOf))
    if (sum.digest.count > 0) digest[type.name] = sum.digest
  })
  return digest
}

/** Calls `read` with the pages of each type in turn, and reports the rows that were read. */
export async function forEachPage(
  db: Queryable,
  { signal, progress, total = 0, scope }: ReadingOptions & { readonly scope: LineScope },
  read: (type: LineType, pages: AsyncIterable<readonly LineRow[]>) => Promise<void>,
): Promise<void> {
  const { types, apps } = scope
  let done = 0
  for (const type of types) {
    async function* pages() {
      for (const appId of apps ?? [null])
        for await (const page of readRows(db, type, appId)) {
          signal?.throwIfAborted()
          yield page
          done += page.length
          progress?.({ done, total, text: type.name })
        }
    }
    await read(type, pages())
  }
}

/** Returns the number of rows of all types. */
export function rowsOf(digest: Digest): number {
  return Object.values(digest).reduce((sum, { count }) => sum + count, 0)
}

/** Lists the types in which two digests differ, as a text of each. */
export function digestDifferences(expected: Digest, found: Digest): string[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])].sort()
  return names.flatMap((name) => {
    const [wanted, had] = [expected[name], found[name]]
    if (wanted?.count === had?.count && wanted?.sum === had?.sum) return []
    const counts = `${had?.count ?? 0} of ${counted(wanted?.count ?? 0, 'row')}`
    return wanted?.count === had?.count ? `${name}: other rows` : `${name}: ${counts}`
  })
}
