/**
 * Splits items into rounds in which each key comes at most once. Items with the same key keep their
 * order.
 */
export function roundsOf<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[][] {
  const rounds: Item[][] = []
  const counts = new Map<string, number>()
  for (const item of items) {
    const key = keyOf(item)
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    const round = rounds[count]
    if (round) round.push(item)
    else rounds[count] = [item]
  }
  return rounds
}
