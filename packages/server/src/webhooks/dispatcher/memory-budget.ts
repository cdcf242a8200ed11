/** Bounds the memory for events of all endpoints of a node. */
export class MemoryBudget {
  #held = 0

  constructor(private readonly maxBytes: number) {}

  /** Tests whether an endpoint with events in memory has to wait until some are sent. */
  get isSpent(): boolean {
    return this.#held >= this.maxBytes
  }

  /** @param bytes negative: they are free again */
  hold(bytes: number): void {
    this.#held += bytes
  }
}
