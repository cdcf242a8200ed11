/** The list in pieces of at most `size` items, in order; none for an empty list. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += size)
    chunks.push(list.slice(start, start + size))
  return chunks
}
