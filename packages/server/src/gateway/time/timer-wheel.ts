/** An entry of a wheel; the wheel keeps the slot in it. */
export interface WheelEntry {
  wheelSlot: number
}

/**
 * One timer for many entries that are due at the same interval. They are spread over the interval,
 * so that each tick has a few of them.
 */
export class TimerWheel<Entry extends WheelEntry> {
  readonly #slots: Set<Entry>[]
  /** It reaches every slot, and spreads entries that come together. */
  readonly #step: number
  #next = 0
  #hand = 0

  /** @param ticks the number of ticks of an interval */
  constructor(ticks: number) {
    this.#slots = Array.from({ length: ticks }, () => new Set())
    let step = Math.ceil(ticks * goldenRatio)
    while (greatestDivisor(step, ticks) > 1) step++
    this.#step = step
  }

  /** The entry is due within an interval, and then once in each. */
  add(entry: Entry): void {
    this.#next = (this.#next + this.#step) % this.#slots.length
    entry.wheelSlot = this.#next
    this.#slots[this.#next]?.add(entry)
  }

  remove(entry: Entry): void {
    this.#slots[entry.wheelSlot]?.delete(entry)
  }

  /**
   * @param ticks passed since the last call; more than an interval counts as one
   * @param due called with each entry
   */
  turn(ticks: number, due: (entry: Entry) => void): void {
    for (let left = Math.min(ticks, this.#slots.length); left > 0; left--) {
      this.#hand = (this.#hand + 1) % this.#slots.length
      for (const entry of this.#slots[this.#hand] ?? []) due(entry)
    }
  }
}

const goldenRatio = 0.618

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}
