/** An entry of a wheel; the wheel keeps the slot in it. */
export interface WheelEntry {
  wheelSlot: number
}

/**
 * One timer for many entries that are due at the same interval. They are spread over the interval, so that each tick has a few of them.
 */
export class TimerWheel<Entry extends WheelEntry> {
  readonly #slots: Set<Entry>[]
  #next = 0
  #hand = 0

  /** @param ticks the number of ticks of an interval */
  constructor(ticks: number) {
    this.#slots = Array.from({ length: ticks }, () => new Set())
  }

  /** The entry is due within an interval, and then once in each. */
  add(entry: Entry): void {
    // A step that has no divisor in common with usual numbers of slots spreads entries that come together.
    this.#next = (this.#next + 37) % this.#slots.length
    entry.wheelSlot = this.#next
    this.#slots[this.#next]?.add(entry)
  }

  remove(entry: Entry): void {
    this.#slots[entry.wheelSlot]?.delete(entry)
  }

  /** @param ticks passed since the last call; more than an interval counts as one @param due called with each entry */
  turn(ticks: number, due: (entry: Entry) => void): void {
    for (let left = Math.min(ticks, this.#slots.length); left > 0; left--) {
      this.#hand = (this.#hand + 1) % this.#slots.length
      for (const entry of this.#slots[this.#hand] ?? []) due(entry)
    }
  }
}
