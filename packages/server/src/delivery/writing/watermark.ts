import { encodePos, type OutboxPosition } from '../../outbox/pos.js'
import { textFrame } from '../../sessions/frames.js'

interface Held {
  count: number
  /** The position before the row. */
  readonly before: OutboxPosition
}

/** The position below which no fan-out of an app is unfinished. */
export class Watermark {
  /** Rows with unfinished fan-outs, in the order of their positions. */
  readonly #held = new Map<number, Held>()
  #begun: OutboxPosition
  #before: OutboxPosition
  #framed: OutboxPosition | null = null
  #frame = textFrame('{}')

  constructor(epoch: string) {
    this.#begun = { epoch, position: 0, time: 0 }
    this.#before = this.#begun
  }

  /** The position of the row that was begun last. */
  get begun(): OutboxPosition {
    return this.#begun
  }

  /** Moves to the next row. @param time of the row; 0 = not known */
  begin(position: number, time: number): void {
    this.#before = this.#begun
    this.#begun = { epoch: this.#begun.epoch, position, time }
  }

  /**
   * Holds the watermark below the row that was begun last.
   * @returns a function that ends the hold; called once
   */
  hold(): () => void {
    const { position } = this.#begun
    const held = this.#held.get(position) ?? { count: 0, before: this.#before }
    this.#held.set(position, held)
    held.count++
    return () => {
      held.count--
      if (held.count === 0) this.#held.delete(position)
    }
  }

  get pos(): OutboxPosition {
    for (const { before } of this.#held.values()) return before
    return this.#begun
  }

  /** The frame of a heartbeat; one buffer until the watermark moves. */
  get frame(): Buffer {
    const { pos } = this
    if (pos !== this.#framed) {
      this.#framed = pos
      this.#frame = textFrame(JSON.stringify({ pos: encodePos(pos) }))
    }
    return this.#frame
  }
}
