import type { Socket } from 'node:net'
import { isBoundToProgress } from './deadlines.js'
import type { BoundsObserver } from './observer.js'

/** Bounds on bodies of requests that are arriving. */
export interface BodyBounds {
  /** Memory of all bodies that are arriving. */
  readonly bodyBytes: number
  /** The time for which a body may stand still. */
  readonly stallMs: number
}

/** The share of the bound that is left after bodies were refused. */
const shareLeft = 0.9

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
    const arriving = new ArrivingBody(body, (bytes) => this.#changed(arriving, bytes))
    this.#arriving.add(arriving)
    return arriving
  }

  /** The body is complete, or no longer needed. */
  end(body: ArrivingBody): void {
    if (this.#arriving.delete(body)) this.#bytes -= body.held
  }

  /**
   * Ends the bodies that stand still, except for uploads, which have their own deadline, and for
   * those that the service does not read now.
   * @param now as performance.now()
   * @returns the connections of those that do not end themselves; the caller closes them
   */
  sweep(now: number): Socket[] {
    const stalled = [...this.#arriving].filter(
      ({ progressAt, socket }) =>
        now - progressAt > this.bounds.stallMs && !socket.isPaused() && !isBoundToProgress(socket),
    )
    for (const body of stalled) {
      this.end(body)
      this.observer.closed('body_stalled')
    }
    return stalled.filter((body) => !body.endsStalled()).map(({ socket }) => socket)
  }

  #changed(body: ArrivingBody, bytes: number): void {
    if (!this.#arriving.has(body)) return
    this.#bytes += bytes
    if (bytes > 0 && this.#bytes > this.bounds.bodyBytes) this.#shrink()
  }

  #shrink(): void {
    const now = performance.now()
    const weight = ({ held, progressAt }: ArrivingBody) => held * (now - progressAt + 1)
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
  refuse(): void
  /** Closes the connection of a body that stands still; absent: the server of the connection does. */
  stalled?(): void
}

/** The memory and the progress of one body. */
export class ArrivingBody {
  /** When the last part arrived, as performance.now(). */
  progressAt = performance.now()
  #held = 0

  constructor(
    private readonly options: ArrivingBodyOptions,
    private readonly changed: (bytes: number) => void,
  ) {}

  get socket(): Socket {
    return this.options.socket
  }

  /** Bytes of memory that it takes. */
  get held(): number {
    return this.#held
  }

  refuse(): void {
    this.options.refuse()
  }

  /** @returns false when the server of the connection closes it */
  endsStalled(): boolean {
    this.options.stalled?.()
    return this.options.stalled !== undefined
  }

  /** Reports that a part has arrived. */
  progress(): void {
    this.progressAt = performance.now()
  }

  /** Reports the bytes of memory that the body takes now; it may be refused for them. */
  hold(bytes: number): void {
    const added = bytes - this.#held
    if (added === 0) return
    this.#held = bytes
    this.changed(added)
  }
}
