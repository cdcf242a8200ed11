/** Parts that start in order and stop in reverse. */
export class Lifecycle {
  readonly #stops: (() => unknown)[] = []
  #stopping: Promise<void> | undefined

  /**
   * Starts parts; when one fails, the parts before it are stopped. @param start adds each part as
   * soon as it runs
   */
  static async start<T>(start: (parts: Lifecycle) => Promise<T>): Promise<T> {
    const parts = new Lifecycle()
    try {
      return await start(parts)
    } catch (error) {
      // The error of the start says more than the errors of stopping.
      await parts.stop().catch(() => {})
      throw error
    }
  }

  /** @param part a running part */
  add<T>(part: T, stop: (part: T) => unknown): T {
    this.#stops.push(() => stop(part))
    return part
  }

  /** @param parts stop at the same time: each may take long to finish its work */
  addTogether(parts: readonly { stop(): Promise<unknown> }[]): void {
    this.add(parts, async (all) => {
      const stopping = all.map((part) => part.stop())
      await Promise.allSettled(stopping)
      await Promise.all(stopping)
    })
  }

  /**
   * Stops each part after those added later have stopped or failed to; a second call waits for the
   * first.
   * @throws the error of the first part that could not be stopped
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    const errors: unknown[] = []
    for (const stop of this.#stops.reverse()) {
      try {
        await stop()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}
