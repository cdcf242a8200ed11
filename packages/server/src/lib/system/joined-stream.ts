import { Readable } from 'node:stream'
import { JoinedBytes } from './joined-bytes.js'
import { retainedBytes } from './retained-bytes.js'

/** A stream that is not read soon enough holds about this many bytes. */
const fullBytes = 65_536

/**
 * A stream that joins the appended chunks until it is read: it never holds many small chunks, and
 * its reader gets few large ones.
 */
export class JoinedStream extends Readable {
  readonly #joined = new JoinedBytes(2 * fullBytes)
  /** Memory of the chunks that are pushed and not yet read. */
  #pushed = 0
  #wasRead = false
  #isAwaited = false
  #isEnded = false

  /** @param changed called after each change of {@link isFull} and {@link held} */
  constructor(private readonly changed: () => void) {
    // Nothing is read ahead, so that a read shows that the bytes before are done with.
    super({ highWaterMark: 1 })
  }

  /** True while the writer should pause: before the first read, after the first chunk. */
  get isFull(): boolean {
    return this.#joined.length >= (this.#wasRead ? fullBytes : 1)
  }

  /** Bytes of memory. */
  get held(): number {
    return this.#joined.retained + (this.readableLength === 0 ? 0 : this.#pushed)
  }

  append(chunk: Buffer): void {
    this.#joined.append(chunk)
    this.#wake()
    this.changed()
  }

  /** No chunk follows. */
  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  override _read(): void {
    this.#wasRead = true
    this.#isAwaited = true
    if (this.#joined.length > 0 || this.#isEnded) this.#pass()
    this.changed()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#joined.take()
    this.changed()
    done(error)
  }

  /**
   * Passes on after the poll phase: the chunks of one read arrive one after another, and Node runs
   * the queue of ticks between them.
   */
  #wake(): void {
    if (!this.#isAwaited) return
    this.#isAwaited = false
    setImmediate(() => this.#pass())
  }

  #pass(): void {
    if (this.destroyed) return
    this.#isAwaited = false
    if (this.#joined.length > 0) this.#push(this.#joined.take())
    else if (this.#isEnded) this.push(null)
    this.changed()
  }

  #push(chunk: Buffer): void {
    if (this.readableLength === 0) this.#pushed = 0
    this.#pushed += retainedBytes(chunk)
    this.push(chunk)
  }
}
