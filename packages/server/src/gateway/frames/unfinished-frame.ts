import { chunkObjectBytes, retainedBytes } from '../../lib/system/retained-bytes.js'

/** Each of these bytes of a frame is a step. */
const stepBytes = 65_536

/**
 * The next byte that is read: the first or second one of a header, one of a longer length, or one
 * of mask and payload.
 */
type Next = 'first' | 'second' | 'length' | 'payload'

/**
 * The frame of a connection that has not ended, with all of its fragments. The library keeps its
 * reads and does not report them, so this follows the borders of frames in the bytes (RFC 6455,
 * section 5.2).
 */
export class UnfinishedFrame {
  /**
   * The memory that the library keeps of it: that of its reads, and the objects of each read and
   * fragment.
   */
  retained = 0
  /** The bytes that have come of it. */
  bytes = 0
  /** The reads in which they came. */
  reads = 0
  /** Grows with each frame that has ended, and with each {@link stepBytes} of this one. */
  steps = 0
  #next: Next = 'first'
  #lengthBytes = 0
  #length = 0
  #left = 0
  #hasFurtherFragments = false

  /** @returns false when the chunk ends together with a frame */
  add(chunk: Buffer): boolean {
    let start = 0
    for (let at = 0; at < chunk.length; ) {
      at += this.#next === 'payload' ? this.#skip(chunk.length - at) : this.#header(chunk[at] ?? 0)
      if (this.#next !== 'first' || this.#hasFurtherFragments) continue
      start = at
      this.steps++
      this.retained = 0
      this.bytes = 0
      this.reads = 0
    }
    if (start === chunk.length) return false
    // A part of a chunk keeps all of it.
    this.retained += retainedBytes(chunk)
    const before = this.bytes
    this.bytes += chunk.length - start
    this.steps += Math.floor(this.bytes / stepBytes) - Math.floor(before / stepBytes)
    this.reads++
    return true
  }

  /** @returns the bytes of mask and payload among the given number */
  #skip(available: number): number {
    const skipped = Math.min(this.#left, available)
    this.#left -= skipped
    if (this.#left === 0) this.#next = 'first'
    return skipped
  }

  /** Reads a byte of a header. @returns 1 */
  #header(byte: number): number {
    if (this.#next === 'first') this.#begin(byte)
    else if (this.#next === 'second') {
      const length = byte & 0x7f
      this.#left = (byte & 0x80) === 0 ? 0 : 4
      this.#lengthBytes = length === 126 ? 2 : length === 127 ? 8 : 0
      this.#length = this.#lengthBytes === 0 ? length : 0
      this.#next = 'length'
    } else {
      this.#length = this.#length * 256 + byte
      this.#lengthBytes--
    }
    if (this.#next === 'length' && this.#lengthBytes === 0) {
      this.#left += this.#length
      this.#next = this.#left === 0 ? 'first' : 'payload'
    }
    return 1
  }

  #begin(byte: number): void {
    const isControl = (byte & 0x08) !== 0
    if (!isControl) this.#hasFurtherFragments = (byte & 0x80) === 0
    this.retained += chunkObjectBytes
    this.#next = 'second'
  }
}
