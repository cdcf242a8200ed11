/** A conversation as a queue of unsent messages. */
export class Lane {
  readonly key: string
  /** The transaction ID that is being sent or searched; 0: none. */
  current = 0
  isPaused = false
  /** Failures since the last outcome. */
  failures = 0
  readonly #waiting: number[] = []

  constructor(key: string) {
    this.key = key
  }

  /** The transaction ID to send next; 0: none. */
  get first(): number {
    return this.#waiting[0] ?? 0
  }

  get canSend(): boolean {
    return this.current === 0 && !this.isPaused && this.#waiting.length > 0
  }

  get isUnused(): boolean {
    return this.current === 0 && !this.isPaused && this.#waiting.length === 0
  }

  /** Inserts an entry at its place in the order. */
  add(transactionId: number, orderOf: (transactionId: number) => number): void {
    const order = orderOf(transactionId)
    let index = this.#waiting.length
    while (index > 0 && orderOf(this.#waiting[index - 1] ?? 0) > order) index--
    this.#waiting.splice(index, 0, transactionId)
  }

  remove(transactionId: number): void {
    const index = this.#waiting.indexOf(transactionId)
    if (index >= 0) this.#waiting.splice(index, 1)
  }
}
