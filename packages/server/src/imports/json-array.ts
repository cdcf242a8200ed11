/** Splits a JSON array into its entries, without parsing them. */
import { BoundedBytes } from '../lib/bounded-lines.js'

/** The bytes of an entry with the number of its first line; null: it is too long. */
export interface ArrayEntry {
  readonly line: number
  readonly bytes: Buffer | null
}

const newline = 0x0a
const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openList = 0x5b
const closeList = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
const spaces: ReadonlySet<number> = new Set([0x20, 0x09, 0x0d, newline])

/** `start`: before the array; `entry`: one is next; `inside` one; `after` one; `end`: after the array. */
type Place = 'start' | 'first' | 'entry' | 'inside' | 'after' | 'end'

/** Finds the entries of an array, chunk by chunk. Each is an object. */
export class ArraySplitter {
  readonly #entry: BoundedBytes
  #place: Place = 'start'
  #line = 1
  #firstLine = 1
  #depth = 0
  #inString = false
  #escaped = false

  /** @param bad returns the error for a text that is no array of objects; it gets the end of a sentence */
  constructor(
    maxBytes: number,
    private readonly bad: (problem: string) => Error,
  ) {
    this.#entry = new BoundedBytes(maxBytes)
  }

  /** Returns the entries that end in a chunk. */
  add(chunk: Buffer): ArrayEntry[] {
    const entries: ArrayEntry[] = []
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      if (byte === newline) this.#line++
      if (this.#place === 'inside') {
        if (!this.#endsWith(byte)) continue
        this.#entry.add(chunk.subarray(start, at + 1))
        entries.push({ line: this.#firstLine, bytes: this.#entry.take() })
        this.#place = 'after'
      } else if (!spaces.has(byte)) {
        this.#between(byte)
        start = at
      }
    }
    if (this.#place === 'inside') this.#entry.add(chunk.subarray(start))
    return entries
  }

  /** @throws the error of `bad` when the array has not ended */
  end(): void {
    if (this.#place !== 'end') throw this.bad('ends inside its array: it is cut off')
  }

  /** Reads a byte of an entry; true at its last one. */
  #endsWith(byte: number): boolean {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false
      else if (byte === backslash) this.#escaped = true
      else if (byte === quote) this.#inString = false
      return false
    }
    if (byte === quote) this.#inString = true
    else if (byte === openObject || byte === openList) this.#depth++
    else if (byte === closeObject || byte === closeList) return --this.#depth === 0
    return false
  }

  #between(byte: number): void {
    const next = this.#nextPlace(byte)
    if (next === null) throw this.bad(`is no JSON array of objects at line ${this.#line}`)
    this.#place = next
    if (next !== 'inside') return
    this.#firstLine = this.#line
    this.#depth = 1
  }

  #nextPlace(byte: number): Place | null {
    switch (this.#place) {
      case 'start':
        return byte === openList ? 'first' : null
      case 'first':
        return byte === openObject ? 'inside' : byte === closeList ? 'end' : null
      case 'entry':
        return byte === openObject ? 'inside' : null
      case 'after':
        return byte === comma ? 'entry' : byte === closeList ? 'end' : null
      default:
        return null
    }
  }
}
