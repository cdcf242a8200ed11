import { isUtf8 } from 'node:buffer'

const lineBreak = 0x0a
/** A row comes from a body of 1 MiB or an imported object of 4 MiB, and its escapes double it at most. */
const maxLineBytes = 16 * 1024 * 1024

/** Splits the bytes of a file into its lines, chunk by chunk. */
export class LineSplitter {
  /** The line that no chunk has ended yet. */
  #parts: Buffer[] = []
  #rest = 0

  /**
   * @param bad returns the error for lines that are too long or no UTF-8; it gets the end of a
   * sentence about the file
   * @param options.acceptsDamage bytes that are no UTF-8 become U+FFFD
   */
  constructor(
    private readonly bad: (problem: string) => Error,
    private readonly options: { readonly acceptsDamage?: true } = {},
  ) {}

  /** The bytes after the last line break. */
  get rest(): number {
    return this.#rest
  }

  /** Returns the lines that end in a chunk. The memory of the chunk may be used again. */
  add(chunk: Buffer): string[] {
    const last = chunk.lastIndexOf(lineBreak)
    if (last < 0) {
      this.#keep(chunk)
      return []
    }
    const ended = chunk.subarray(0, last)
    const bytes = this.#rest === 0 ? ended : Buffer.concat([...this.#parts, ended])
    this.#parts = []
    this.#rest = 0
    this.#keep(chunk.subarray(last + 1))
    if (!this.options.acceptsDamage && !isUtf8(bytes)) throw this.bad('has bytes that are no UTF-8')
    return bytes.toString('utf8').split('\n')
  }

  #keep(bytes: Buffer): void {
    this.#rest += bytes.length
    if (this.#rest > maxLineBytes)
      throw this.bad(`has a line of more than ${maxLineBytes / 1024 / 1024} MiB`)
    if (bytes.length > 0) this.#parts.push(Buffer.from(bytes))
  }
}
