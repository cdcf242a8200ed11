const lineBreak = 0x0a
const maxLineBytes = 64 * 1024 * 1024

/** Splits the bytes of a file into its lines, chunk by chunk. */
export class LineSplitter {
  /** The line that no chunk has ended yet. */
  #parts: Buffer[] = []
  #rest = 0

  /** @param bad returns the error for a line that is too long; it gets the end of a sentence about the file */
  constructor(private readonly bad: (problem: string) => Error) {}

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
    return bytes.toString('utf8').split('\n')
  }

  #keep(bytes: Buffer): void {
    this.#rest += bytes.length
    if (this.#rest > maxLineBytes)
      throw this.bad(`has a line of more than ${maxLineBytes / 1024 / 1024} MiB`)
    if (bytes.length > 0) this.#parts.push(Buffer.from(bytes))
  }
}
