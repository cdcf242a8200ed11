/** A line in which keys take turns, however many items one of them has; the items of a key are served in order. */
export class FairLine<Item> {
  /** The key whose turn is next comes first. */
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

  /** @returns undefined when the line is empty */
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
