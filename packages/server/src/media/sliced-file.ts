import { setImmediate } from 'node:timers/promises'
import type { ByteRange } from '../lib/system/byte-range.js'

/** A stored file that a detector of types reads parts of. */
export interface StoredBytes {
  readonly size: number
  read(range: ByteRange): Promise<Buffer>
}

/** Finding the type takes too many reads, or too many bytes. */
export class TooManyReadsError extends Error {
  override readonly name = 'TooManyReadsError'
}

const blockBytes = 65_536
const maxBlocks = 64
/** Detectors walk through archives entry by entry and byte by byte, on the event loop. */
const maxReads = 1_000
const maxBytes = 256 * 1024
const readsPerToken = 20
const bytesPerToken = 4_096
/** After this number of reads other work gets a turn: reads of known blocks do not wait for anything. */
const readsPerTurn = 50

/** The part of the interface of Blob that `file-type` uses. Reads whole blocks, each once. */
export class SlicedFile {
  readonly type = ''
  readonly size: number
  readonly #blocks = new Map<number, Buffer>()
  #reads = 0
  #bytesRead = 0

  constructor(private readonly file: StoredBytes) {
    this.size = file.size
  }

  /** The tokens that the reads so far cost. */
  get cost(): number {
    return Math.floor(this.#reads / readsPerToken + this.#bytesRead / bytesPerToken)
  }

  /** @param end exclusive */
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    return { arrayBuffer: () => this.#bytes(start, Math.min(end, this.size)) }
  }

  async #bytes(start: number, end: number): Promise<ArrayBuffer> {
    this.#reads++
    this.#bytesRead += end - start
    if (this.#reads > maxReads || this.#bytesRead > maxBytes) throw new TooManyReadsError()
    if (this.#reads % readsPerTurn === 0) await setImmediate()
    const bytes = new Uint8Array(Math.max(0, end - start))
    for (let at = start; at < end; ) {
      const index = Math.floor(at / blockBytes)
      const part = (await this.#block(index)).subarray(at % blockBytes, end - index * blockBytes)
      bytes.set(part, at - start)
      at += part.length
    }
    return bytes.buffer
  }

  async #block(index: number): Promise<Buffer> {
    const known = this.#blocks.get(index)
    if (known) return known
    if (this.#blocks.size === maxBlocks) throw new TooManyReadsError()
    const start = index * blockBytes
    const end = Math.min(start + blockBytes, this.size) - 1
    const block = await this.file.read({ start, end })
    this.#blocks.set(index, block)
    return block
  }
}
