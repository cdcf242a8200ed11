import type { Shares } from '../../../dist/nodes/shares.js'

/** Shares that a test gives to a node and takes away. */
export class TestShares implements Shares {
  readonly #ends: (() => Promise<void>)[] = []
  #isHeld: boolean
  #isOwn: boolean

  constructor({ isHeld = true }: { readonly isHeld?: boolean } = {}) {
    this.#isHeld = isHeld
    this.#isOwn = isHeld
  }

  add(_kind: string, _name: string, end: () => Promise<void>) {
    this.#ends.push(end)
    const [isHeld, isOwn] = [() => this.#isHeld, () => this.#isOwn]
    return {
      get isHeld() {
        return isHeld()
      },
      get isOwn() {
        return isOwn()
      },
    }
  }

  take(): void {
    this.#isHeld = true
    this.#isOwn = true
  }

  /** The lease is over, and the node has not noticed it, as after a pause of its machine. */
  expire(): void {
    this.#isHeld = false
    this.#isOwn = false
  }

  /** Other nodes have all shares from now on. */
  async lose(): Promise<void> {
    this.#isOwn = false
    await this.giveBack()
  }

  /** Resolves when nothing runs, and other nodes may have the shares. */
  async giveBack(): Promise<void> {
    this.#isHeld = false
    await Promise.all(this.#ends.map((end) => end()))
    this.#isOwn = false
  }
}
