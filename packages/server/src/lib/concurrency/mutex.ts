interface Waiting {
  readonly isShared: boolean
  readonly enter: () => void
}

/**
 * Exclusion between asynchronous callers of one process, first come, first served: one holder by itself, or any number of those who
 * share. A caller that shares waits behind one that waits to be alone, so that no caller waits for ever.
 */
export class Mutex {
  #isLocked = false
  #sharing = 0
  readonly #waiting: Waiting[] = []

  async lock(): Promise<void> {
    if (this.#isLocked || this.#sharing > 0 || this.#waiting.length > 0) return this.#wait(false)
    this.#isLocked = true
  }

  unlock(): void {
    this.#isLocked = false
    this.#admit()
  }

  async lockShared(): Promise<void> {
    if (this.#isLocked || this.#waiting.length > 0) return this.#wait(true)
    this.#sharing++
  }

  unlockShared(): void {
    this.#sharing--
    this.#admit()
  }

  #wait(isShared: boolean): Promise<void> {
    return new Promise((enter) => this.#waiting.push({ isShared, enter }))
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (this.#isLocked || (!next.isShared && this.#sharing > 0)) return
      this.#waiting.shift()
      if (next.isShared) this.#sharing++
      else this.#isLocked = true
      next.enter()
    }
  }
}
