/**
 * A queue that serves its keys in turn, and the items of a key in order. A key with many items does
 * not delay the others.
 */
export class FairQueue<Item> {
  /** Items by key, in the order in which the keys are served. */
  readonly #items = new Map<string, Item[]>()
  #length = 0

  get length(): number {
    return this.#length
  }

  lengthOf(key: string): number {
    return this.#items.get(key)?.length ?? 0
  }

  push(key: string, item: Item): void {
    const items = this.#items.get(key)
    if (items) items.push(item)
    else this.#items.set(key, [item])
    this.#length++
  }

  /** @returns undefined when the queue is empty */
  shift(): Item | undefined {
    const [first] = this.#items
    if (first === undefined) return undefined
    const [key, items] = first
    this.#items.delete(key)
    const item = items.shift()
    if (items.length > 0) this.#items.set(key, items)
    this.#length--
    return item
  }
}
