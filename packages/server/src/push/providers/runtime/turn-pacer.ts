/**
 * Bounds the requests that begin within one turn of the event loop, so that calls of clients run
 * between them.
 */
export class TurnPacer {
  readonly #waiting: (() => void)[] = []
  #begun = 0
  #isScheduled = false

  constructor(private readonly perTurn: number) {}

  /** Resolves in order of arrival when one more request may begin. */
  async begin(): Promise<void> {
    this.#schedule()
    if (this.#begun < this.perTurn) {
      this.#begun++
      return
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const next = this.#waiting.splice(0, this.perTurn)
      this.#begun = next.length
      if (next.length > 0) this.#schedule()
      for (const resolve of next) resolve()
    })
  }
}
