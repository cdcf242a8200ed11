import { groupBy } from '../../../../lib/group-by.js'

/**
 * Divides items so that few of them are worked on at once, without separating those that belong together.
 * @param keyOf names what an item belongs to
 * @returns chunks of at most `size` items, or of one key that has more; items of a key keep their order
 */
export function chunksByKey<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  size: number,
): T[][] {
  const chunks: T[][] = []
  for (const ofKey of groupBy(items, keyOf).values()) {
    const last = chunks.at(-1)
    if (last && last.length + ofKey.length <= size) last.push(...ofKey)
    else chunks.push(ofKey)
  }
  return chunks
}
