import { compacted, retainedBytes } from './retained-bytes.js'

const firstCapacity = 16_384
const none = Buffer.alloc(0)

/** Joins chunks in one growing buffer, since many small chunks take many times their size. */
export class JoinedBytes {
  #memory = none
  #length = 0

  /** @param maxCapacity the buffer grows beyond it only for bytes that it must hold */
  constructor(private readonly maxCapacity: number) {}

  /** Bytes of memory. */
  get retained(): number {
    return this.#memory === none ? 0 : retainedBytes(this.#memory)
  }

  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  append(chunk: Buffer): void {
    const length = this.#length + chunk.length
    if (length > this.#memory.length) this.#grow(length)
    chunk.copy(this.#memory, this.#length)
    this.#length = length
  }

  /** Returns the bytes and begins with an empty buffer. */
  take(): Buffer {
    const bytes = compacted(this.bytes)
    this.#memory = none
    this.#length = 0
    return bytes
  }

  #grow(length: number): void {
    const before = this.#memory
    const room = Math.min(this.maxCapacity, Math.max(4 * before.length, firstCapacity))
    this.#memory = Buffer.allocUnsafeSlow(Math.max(length, room))
    before.copy(this.#memory, 0, 0, this.#length)
  }
}
