import type { ByteRange } from '../lib/system/byte-range.js'

/** A stored file that a detector of types reads parts of. */
export interface StoredBytes {
  readonly size: number
  read(range: ByteRange): Promise<Buffer>
}

/** The file has its type in too many places. */
export class TooManyReadsError extends Error {
  override readonly name = 'TooManyReadsError'
}

const blockBytes = 65_536
const maxBlocks = 64

/** The part of the interface of Blob that `file-type` uses. Reads whole blocks, each once, and only so many. */
export class SlicedFile {
  readonly type = ''
  readonly size: number
  readonly #blocks = new Map<number, Buffer>()

  constructor(private readonly file: StoredBytes) {
    this.size = file.size
  }

  /** @param end exclusive */
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    return { arrayBuffer: () => this.#bytes(start, Math.min(end, this.size)) }
  }

  async #bytes(start: number, end: number): Promise<ArrayBuffer> {
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
