import { isJsonObject, parseJson } from '../lib/json.js'
import { maxTextBytes } from './carrier.js'

/** Content of one text of the carrier: whole messages, or a part of one. */
export type TextFrame =
  | { readonly from: string; readonly messages: readonly unknown[] }
  | {
      readonly from: string
      /** The number of its message among those of its node, its index, and the count of parts. */
      readonly part: readonly [number, number, number]
      readonly base64: string
    }

/** Bytes of a message in one part; base64 makes four of three. */
const partBytes = 5_000
/** The fields of a frame around its content. */
const frameBytes = 100
/** Messages of other nodes of which parts are missing, and the bytes of their parts. */
const maxUnfinished = 1_000
const maxUnfinishedBytes = 4 * 1024 * 1024
const unfinishedMs = 2_000
/** The parts that a message may have. */
const maxParts = 100
export const maxMessageBytes = maxParts * partBytes

/** Puts messages, as JSON, into as few texts as hold them. Longer ones are cut into parts. */
export class TextWriter {
  #cut = 0

  constructor(private readonly from: string) {}

  /** A text without messages. */
  get emptyText(): string {
    return this.#textOf([])
  }

  toTexts(messages: Iterable<string>): string[] {
    const texts: string[] = []
    let waiting: string[] = []
    let bytes = 0
    const flush = () => {
      if (waiting.length > 0) texts.push(this.#textOf(waiting))
      waiting = []
      bytes = 0
    }
    for (const message of messages) {
      const length = Buffer.byteLength(message) + 1
      if (bytes + length > maxTextBytes - frameBytes) flush()
      if (length > maxTextBytes - frameBytes) texts.push(...this.#partsOf(message))
      else {
        waiting.push(message)
        bytes += length
      }
    }
    flush()
    return texts
  }

  #textOf(messages: readonly string[]): string {
    return `{"from":${JSON.stringify(this.from)},"messages":[${messages.join(',')}]}`
  }

  #partsOf(message: string): string[] {
    const content = Buffer.from(message)
    const count = Math.ceil(content.length / partBytes)
    const number = this.#cut++
    return Array.from({ length: count }, (_, index) => {
      const base64 = content.subarray(index * partBytes, (index + 1) * partBytes).toString('base64')
      return JSON.stringify({ from: this.from, part: [number, index, count], base64 })
    })
  }
}

type Part = Extract<TextFrame, { readonly base64: string }>

interface Unfinished {
  readonly parts: (Buffer | undefined)[]
  missing: number
  bytes: number
  readonly since: number
}

/** Joins the parts of messages. Those that stay incomplete for 2 s are forgotten. */
export class TextReader {
  readonly #unfinished = new Map<string, Unfinished>()
  #bytes = 0

  /** @param now milliseconds that only grow */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * @returns the messages that are complete with this text
   * @throws when the text is not from a node
   */
  read(text: string): { readonly from: string; readonly messages: readonly unknown[] } {
    const frame = parseJson(text)
    if (!isJsonObject(frame) || typeof frame.from !== 'string') throw new Error('no sender')
    const { from, messages } = frame
    if (Array.isArray(messages)) return { from, messages }
    return { from, messages: this.#join(frame as Part) }
  }

  /** @returns the message, once it is complete */
  #join({ from, part: [number, index, count], base64 }: Part): readonly unknown[] {
    if (!(count <= maxParts && index < count)) throw new Error('not a part')
    const now = this.now()
    for (const [key, { since }] of this.#unfinished) {
      const isFull = this.#unfinished.size >= maxUnfinished || this.#bytes > maxUnfinishedBytes
      if (now - since > unfinishedMs || isFull) this.#forget(key)
      else break
    }
    const key = `${from}/${number}`
    const message = this.#unfinished.get(key) ?? {
      parts: new Array<Buffer | undefined>(count),
      missing: count,
      bytes: 0,
      since: now,
    }
    this.#unfinished.set(key, message)
    if (message.parts[index] !== undefined || message.parts.length !== count) return []
    const content = Buffer.from(base64, 'base64')
    message.parts[index] = content
    message.missing--
    message.bytes += content.length
    this.#bytes += content.length
    if (message.missing > 0) return []
    this.#forget(key)
    return [parseJson(Buffer.concat(message.parts as Buffer[]).toString())]
  }

  #forget(key: string): void {
    this.#bytes -= this.#unfinished.get(key)?.bytes ?? 0
    this.#unfinished.delete(key)
  }
}
