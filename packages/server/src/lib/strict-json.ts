/**
 * JSON that all parsers read alike, for texts that prove a user: no member twice, no lone
 * surrogates, few levels.
 */
import type { JsonObject } from './json.js'

const maxDepth = 8
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const word = /true|false|null/y
const spaces = /[ \t\r\n]*/y
const integer = /^(?:0|-?[1-9]\d*)$/

/**
 * Parses an object. Objects have no prototype. A number other than an integer below 2^53, written
 * as digits alone, is NaN: no rule accepts it.
 * @returns null for any other text, and for a member twice, a lone surrogate or more than 8 levels
 */
export function parseStrictObject(text: string): JsonObject | null {
  try {
    return new Parser(text).object()
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

class Parser {
  #at = 0

  constructor(private readonly text: string) {}

  /** @throws SyntaxError */
  object(): JsonObject {
    if (this.#next() !== '{') throw new SyntaxError()
    const value = this.#members(1)
    if (this.#next() !== '') throw new SyntaxError()
    return value
  }

  #value(depth: number): unknown {
    const first = this.#next()
    if (depth > maxDepth && (first === '{' || first === '[')) throw new SyntaxError()
    if (first === '{') return this.#members(depth)
    if (first === '[') return this.#entries(depth)
    if (first === '"') return this.#string()
    if (first === '-' || (first >= '0' && first <= '9')) {
      const digits = this.#match(number)
      const value = integer.test(digits) ? Number(digits) : Number.NaN
      return Number.isSafeInteger(value) ? value : Number.NaN
    }
    return JSON.parse(this.#match(word))
  }

  #members(depth: number): JsonObject {
    const members: Record<string, unknown> = Object.create(null)
    this.#list('}', () => {
      if (this.#next() !== '"') throw new SyntaxError()
      const name = this.#string()
      if (name in members || this.#next() !== ':') throw new SyntaxError()
      this.#at++
      members[name] = this.#value(depth + 1)
    })
    return members
  }

  #entries(depth: number): unknown[] {
    const entries: unknown[] = []
    this.#list(']', () => entries.push(this.#value(depth + 1)))
    return entries
  }

  /** Reads from an opening bracket to the closing one. */
  #list(close: string, readOne: () => void): void {
    this.#at++
    if (this.#next() !== close) {
      readOne()
      while (this.#next() === ',') {
        this.#at++
        readOne()
      }
    }
    if (this.#next() !== close) throw new SyntaxError()
    this.#at++
  }

  #string(): string {
    const start = this.#at
    do {
      this.#at = this.text.indexOf('"', this.#at + 1)
      if (this.#at < 0) throw new SyntaxError()
    } while (this.#isEscaped())
    this.#at++
    const value: string = JSON.parse(this.text.slice(start, this.#at))
    if (!value.isWellFormed()) throw new SyntaxError()
    return value
  }

  /** Tests whether an odd number of backslashes precedes the quote. */
  #isEscaped(): boolean {
    let start = this.#at
    while (this.text[start - 1] === '\\') start--
    return (this.#at - start) % 2 === 1
  }

  /** Returns the next character that is no space, without consuming it; '' at the end. */
  #next(): string {
    this.#match(spaces)
    return this.text[this.#at] ?? ''
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.text)?.[0]
    if (found === undefined) throw new SyntaxError()
    this.#at += found.length
    return found
  }
}
