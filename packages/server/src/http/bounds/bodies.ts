import type { Socket } from 'node:net'
import type { BoundsObserver } from './observer.js'

export interface BodyBounds {
  /** Memory of all bodies that are on their way. */
  readonly bodyBytes: number
  /** How long a body may stand still. */
  readonly stallMs: number
}

/** When too much is taken by bodies, so much of it is left. */
const shareLeft = 0.9
const firstCapacity = 16_384

/** The bodies that are on their way, in parts. Those that came as a whole are not among them. */
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

  /** @param body.refuse is told when the body has to go, because too much is taken and it is among the slowest */
  begin(body: ArrivingBodyOptions): ArrivingBody {
    const arriving = new ArrivingBody(body, (bytes) => this.#grow(bytes))
    this.#arriving.add(arriving)
    return arriving
  }

  /** The body is there, or nobody waits for it. */
  end(body: ArrivingBody): void {
    if (this.#arriving.delete(body)) this.#bytes -= body.capacity
  }

  /**
   * Ends the bodies that stand still.
   * @param now as performance.now()
   * @returns the connections that they are from, which are to be closed
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
  /** What comes at most. */
  readonly maxBytes: number
  refuse(): void
}

/** A body in one piece of memory, which grows with it: many small parts would take many times their size. */
export class ArrivingBody {
  /** When something of it last came, as performance.now(). */
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

  /** Of the memory that it takes. */
  get capacity(): number {
    return this.#memory.length
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }

  refuse(): void {
    this.options.refuse()
  }

  /** @param chunk the next part; it may be the one for which the body is refused */
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
