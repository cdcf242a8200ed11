import { isUtf8 } from 'node:buffer'
import { chunkObjectBytes, retainedBytes } from '../../lib/system/retained-bytes.js'
import { maxFragments, maxFrameBytes } from '../limits.js'

/** Gets the frames of a client. */
export interface FrameEvents {
  /** A text or binary message is whole; text is valid UTF-8. */
  received(message: Buffer, isBinary: boolean): void
  pinged(payload: Buffer): void
  /** A pong has arrived. */
  receivedIdle(): void
  /** The client closes. @param code 1005: it has named none */
  concluded(code: number): void
  /** The client breaks RFC 6455. @param code of the close frame that tells it */
  violated(code: number): void
}

/** The start of a frame. */
interface FrameHead {
  readonly isFinal: boolean
  readonly opcode: number
  /** Bytes of the head, the mask included. */
  readonly headBytes: number
}

const [continuation, text, binary, close, ping, pong] = [0x0, 0x1, 0x2, 0x8, 0x9, 0xa]
const maskBytes = 4
/** Each of these bytes of a message is a step. */
const stepBytes = 65_536

export const closedWithoutCode = 1005
const [protocolError, invalidData, policyViolation, tooBig] = [1002, 1007, 1008, 1009]

/** Thrown while a frame is read. */
class Violation extends Error {
  constructor(readonly code: number) {
    super()
  }
}

/**
 * Reads the frames of a client from the bytes as they arrive (RFC 6455, section 5): those of a
 * server, masked and without extensions. It is needed only while a message is unfinished.
 */
export class FrameReader {
  /**
   * The memory that the unfinished message takes: that of its reads, and the objects of each read
   * and fragment.
   */
  retained = 0
  /** The bytes that have come of it. */
  bytes = 0
  /** The reads in which they came. */
  reads = 0
  /** Grows with each message that has ended, and with each {@link stepBytes} of this one. */
  steps = 0
  #readBytes = 0
  /** Reads from which no frame was taken yet. */
  #parts: Buffer[] = []
  #partBytes = 0
  /** The number of bytes with which the next part of a frame is whole. */
  #needed = 2
  #fragments: Buffer[] = []
  #fragmentBytes = 0
  /** Opcode of the fragments. */
  #opcode = continuation
  /** The client has closed or broken the protocol: nothing more is read. */
  #isOver = false

  constructor(private readonly events: FrameEvents) {}

  /** @returns false when the chunk ends together with a message */
  add(chunk: Buffer): boolean {
    let rest: number | null = null
    let unread = chunk
    while (unread.length > 0 && !this.#isOver) {
      unread = unread.subarray(this.#keep(unread))
      if (this.#partBytes < this.#needed) break
      const after = this.#readFrames()
      if (after !== null) rest = after + unread.length
    }
    if (this.#isOver) return true
    if (this.#partBytes === 0 && this.#opcode === continuation) return false
    this.#count(chunk, rest)
    return true
  }

  /**
   * Keeps bytes of a frame. One that has begun before gets no more than it needs, so that the rest
   * is not copied with it and does not keep its memory.
   * @returns the bytes that were kept
   */
  #keep(bytes: Buffer): number {
    const missing = this.#needed - this.#partBytes
    const keepsAll = this.#parts.length === 0 || bytes.length <= missing
    const kept = keepsAll ? bytes : bytes.subarray(0, missing)
    this.#parts.push(kept)
    this.#partBytes += kept.length
    return kept.length
  }

  /**
   * Counts a chunk that ends within a message.
   * @param rest the bytes after the end of the last message that ended in the chunk; null: none
   * ended
   */
  #count(chunk: Buffer, rest: number | null): void {
    if (rest !== null) {
      this.bytes = 0
      this.reads = 0
      this.#readBytes = 0
    }
    const before = this.bytes
    this.bytes += rest ?? chunk.length
    this.steps += Math.floor(this.bytes / stepBytes) - Math.floor(before / stepBytes)
    this.reads++
    // A part of a chunk keeps all of it.
    this.#readBytes += retainedBytes(chunk)
    this.retained = this.#readBytes + chunkObjectBytes * (this.#fragments.length + 1)
  }

  /** @returns the bytes after the end of the last message; null: none has ended */
  #readFrames(): number | null {
    const bytes = joined(this.#parts, this.#partBytes)
    let at = 0
    let end: number | null = null
    try {
      while (!this.#isOver) {
        const head = this.#headOf(bytes, at)
        if (head === null || bytes.length - at < this.#needed) break
        const payload = bytes.subarray(at + head.headBytes, at + this.#needed)
        unmask(payload, bytes, at + head.headBytes - maskBytes)
        at += this.#needed
        this.#needed = 2
        this.#take(head, payload)
        if (this.#opcode !== continuation) continue
        end = at
        this.steps++
      }
    } catch (error) {
      if (!(error instanceof Violation)) throw error
      this.#isOver = true
      this.events.violated(error.code)
    }
    if (this.#isOver) at = bytes.length
    this.#parts = at === bytes.length ? [] : [bytes.subarray(at)]
    this.#partBytes = bytes.length - at
    return end === null ? null : bytes.length - end
  }

  /**
   * Notes how many bytes the frame needs, as far as its start tells it.
   * @returns null when its start is not whole
   */
  #headOf(bytes: Buffer, at: number): FrameHead | null {
    const available = bytes.length - at
    this.#needed = 2
    if (available < this.#needed) return null
    const first = bytes[at] as number
    const second = bytes[at + 1] as number
    const isFinal = (first & 0x80) !== 0
    const opcode = first & 0x0f
    const short = second & 0x7f
    // Reserved bits are of extensions, and frames of clients have a mask.
    if ((first & 0x70) !== 0 || (second & 0x80) === 0) throw new Violation(protocolError)
    this.#checkOrder(isFinal, opcode, short)
    const headBytes = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + maskBytes
    this.#needed = headBytes
    if (available < headBytes) return null
    const length = lengthOf(bytes, at, short)
    if (opcode < close && this.#fragmentBytes + length > maxFrameBytes) throw new Violation(tooBig)
    this.#needed = headBytes + length
    return { isFinal, opcode, headBytes }
  }

  #checkOrder(isFinal: boolean, opcode: number, length: number): void {
    const isExpected =
      opcode === continuation
        ? this.#opcode !== continuation
        : opcode === text || opcode === binary
          ? this.#opcode === continuation
          : opcode >= close && opcode <= pong && isFinal && length <= 125
    if (!isExpected) throw new Violation(protocolError)
  }

  #take({ isFinal, opcode }: FrameHead, payload: Buffer): void {
    if (opcode === ping) this.events.pinged(payload)
    else if (opcode === pong) this.events.receivedIdle()
    else if (opcode === close) this.#conclude(payload)
    else if (this.#fragments.length === maxFragments) throw new Violation(policyViolation)
    else if (isFinal) this.#end(this.#opcode === continuation ? opcode : this.#opcode, payload)
    else this.#addFragment(opcode, payload)
  }

  #addFragment(opcode: number, payload: Buffer): void {
    if (opcode !== continuation) this.#opcode = opcode
    this.#fragments.push(payload)
    this.#fragmentBytes += payload.length
  }

  #end(opcode: number, last: Buffer): void {
    const message = this.#fragments.length === 0 ? last : Buffer.concat([...this.#fragments, last])
    this.#fragments = []
    this.#fragmentBytes = 0
    this.#opcode = continuation
    if (opcode === text && !isUtf8(message)) throw new Violation(invalidData)
    this.events.received(message, opcode === binary)
  }

  #conclude(payload: Buffer): void {
    const code = payload.length === 0 ? closedWithoutCode : closeCodeOf(payload)
    this.#isOver = true
    this.events.concluded(code)
  }
}

/** A part of the result may stay, so it is no slice of the pool of `Buffer.concat`. */
function joined(parts: readonly Buffer[], length: number): Buffer {
  const [first] = parts
  if (first?.length === length) return first
  const whole = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const part of parts) at += part.copy(whole, at)
  return whole
}

function lengthOf(bytes: Buffer, at: number, short: number): number {
  if (short < 126) return short
  return short === 126
    ? bytes.readUInt16BE(at + 2)
    : bytes.readUInt32BE(at + 2) * 2 ** 32 + bytes.readUInt32BE(at + 6)
}

/** Four bytes a turn take a third of the time: 29 µs for 64 KiB, in place of 92. */
function unmask(payload: Buffer, bytes: Buffer, maskAt: number): void {
  const mask = (at: number) => bytes[maskAt + (at & 3)] as number
  const [first, second, third, fourth] = [mask(0), mask(1), mask(2), mask(3)]
  const whole = payload.length - (payload.length & 3)
  for (let at = 0; at < whole; at += 4) {
    payload[at] = (payload[at] as number) ^ first
    payload[at + 1] = (payload[at + 1] as number) ^ second
    payload[at + 2] = (payload[at + 2] as number) ^ third
    payload[at + 3] = (payload[at + 3] as number) ^ fourth
  }
  for (let at = whole; at < payload.length; at++) payload[at] = (payload[at] as number) ^ mask(at)
}

/** @throws Violation 1002 for a code that no close frame has, 1007 */
function closeCodeOf(payload: Buffer): number {
  const code = payload.length === 1 ? 0 : payload.readUInt16BE()
  const isOfProtocol = code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)
  if (!isOfProtocol && !(code >= 3000 && code <= 4999)) throw new Violation(protocolError)
  if (!isUtf8(payload.subarray(2))) throw new Violation(invalidData)
  return code
}
