const newline = 0x0a

/**
 * Splits bytes into their lines, without the line breaks; null for a line that is longer than
 * `maxBytes`, of which no more than that is kept.
 */
export async function* boundedLines(
  input: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Buffer | null> {
  const line = new BoundedBytes(maxBytes)
  for await (const chunk of input) {
    let start = 0
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, start)) {
      line.add(chunk.subarray(start, at))
      start = at + 1
      yield line.take()
    }
    line.add(chunk.subarray(start))
  }
  if (line.length > 0) yield line.take()
}

/** Collects bytes up to a bound. */
export class BoundedBytes {
  #parts: Buffer[] = []
  #length = 0

  constructor(private readonly maxBytes: number) {}

  /** All bytes that were added, kept or not. */
  get length(): number {
    return this.#length
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length <= this.maxBytes) this.#parts.push(part)
    else this.#parts = []
  }

  /** Returns the bytes and begins anew; null when they were too many. */
  take(): Buffer | null {
    const bytes = this.#length > this.maxBytes ? null : Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    return bytes
  }
}
