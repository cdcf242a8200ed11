import { read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ByteRange } from './byte-range.js'

/**
 * The size of a read. Larger reads cost less for each byte, and a slow reader holds two of them.
 */
const pieceBytes = 131_072
/** Free memory chunks, shared by all files. */
const maxFree = 32
const free: Buffer[] = []

/**
 * A file, or a part of it, as a stream. Unlike `createReadStream`, it can reuse the memory of a
 * chunk that its reader gives back. This saves most of the cost of reading, since new memory for
 * each chunk keeps the garbage collector busy. The handle is closed at the end.
 */
export class FileReads extends Readable {
  #at: number
  readonly #end: number
  #isReading = false
  #afterRead: (() => void) | null = null

  /** @param range the whole file by default */
  constructor(
    private readonly handle: FileHandle,
    { start, end }: ByteRange = { start: 0, end: Number.POSITIVE_INFINITY },
  ) {
    super({ highWaterMark: pieceBytes })
    this.#at = start
    this.#end = end
  }

  /** @param chunk of this stream, which its reader no longer uses */
  recycle(chunk: Buffer): void {
    if (free.length < maxFree && chunk.buffer.byteLength === pieceBytes)
      free.push(Buffer.from(chunk.buffer))
  }

  override _read(): void {
    const length = Math.min(pieceBytes, this.#end + 1 - this.#at)
    if (length <= 0) {
      this.push(null)
      return
    }
    const buffer = free.pop() ?? Buffer.allocUnsafeSlow(pieceBytes)
    this.#isReading = true
    read(this.handle.fd, buffer, 0, length, this.#at, (error, count) => {
      this.#isReading = false
      if (this.#afterRead) this.#afterRead()
      else if (error) this.destroy(error)
      else this.#took(buffer.subarray(0, count))
    })
  }

  #took(chunk: Buffer): void {
    this.#at += chunk.length
    this.push(chunk.length === 0 ? null : chunk)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const close = () => this.handle.close().then(() => done(error), done)
    // After closing the handle during a read, its number might be that of another file.
    if (this.#isReading) this.#afterRead = close
    else void close()
  }
}
