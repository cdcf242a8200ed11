import type { Socket } from 'node:net'
import type { BoundsObserver } from './observer.js'

export interface BodyBounds {
  /** Memory of all bodies that are arriving. */
  readonly bodyBytes: number
  /** The time for which a body may stand still. */
  readonly stallMs: number
}

/** The share of the bound that is left after bodies were refused. */
const shareLeft = 0.9
const firstCapacity = 16_384

/** Bounds the memory of bodies that arrive in parts. A body that arrives as a whole does not count. */
export class Bodies {
  readonly #arriving = new Set<ArrivingBody>()
  #bytes = 0

  constructor(
    private readonly bounds: BodyBounds,
    private readonly observer: BoundsObserver,
  ) {}

  get bytes(): number {
    return this.#bytes
  }

  /** @param body.refuse is called when bodies take too much memory and this one is among the slowest */
  begin(body: ArrivingBodyOptions): ArrivingBody {
    const arriving = new ArrivingBody(body, (bytes) => this.#grow(bytes))
    this.#arriving.add(arriving)
    return arriving
  }

  /** The body is complete, or no longer needed. */
  end(body: ArrivingBody): void {
    if (this.#arriving.delete(body)) this.#bytes -= body.capacity
  }

  /**
   * Ends the bodies that stand still.
   * @param now as performance.now()
   * @returns their connections; the caller closes them
   */
  sweep(now: number): Socket[] {
    const stalled = [...this.#arriving].filter(
      ({ progressAt }) => now - progressAt > this.bounds.stallMs,
    )
    for (const body of stalled) {
      this.end(body)
      this.observer.closed('body_stalled')
    }
    return stalled.map(({ socket }) => socket)
  }

  #grow(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.bounds.bodyBytes) this.#shrink()
  }

  #shrink(): void {
    const now = performance.now()
    const weight = ({ capacity, progressAt }: ArrivingBody) => capacity * (now - progressAt + 1)
    const slowest = [...this.#arriving].sort((a, b) => weight(b) - weight(a))
    for (const body of slowest) {
      if (this.#bytes <= this.bounds.bodyBytes * shareLeft) break
      this.observer.refused('body_bytes')
      body.refuse()
    }
  }
}

interface ArrivingBodyOptions {
  readonly socket: Socket
  /** Most bytes of the body. */
  readonly maxBytes: number
  refuse(): void
}

/** A body in one growing buffer: many small parts would take many times their size. */
export class ArrivingBody {
  /** When the last part arrived, as performance.now(). */
  progressAt = performance.now()
  #memory = Buffer.alloc(0)
  #length = 0

  constructor(
    private readonly options: ArrivingBodyOptions,
    private readonly grow: (bytes: number) => void,
  ) {}

  get socket(): Socket {
    return this.options.socket
  }

  /** Bytes of memory that it takes. */
  get capacity(): number {
    return this.#memory.length
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  refuse(): void {
    this.options.refuse()
  }

  /** @param chunk the next part; the body may be refused for it */
  append(chunk: Buffer): void {
    this.progressAt = performance.now()
    const before = this.#memory
    const length = this.#length + chunk.length
    if (length > before.length) {
      const room = Math.min(this.options.maxBytes, Math.max(4 * before.length, firstCapacity))
      this.#memory = Buffer.allocUnsafe(Math.max(length, room))
      before.copy(this.#memory, 0, 0, this.#length)
    }
    chunk.copy(this.#memory, this.#length)
    this.#length = length
    if (this.#memory !== before) this.grow(this.#memory.length - before.length)
  }
}
