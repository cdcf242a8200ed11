/** Splits a list into chunks of at most `size` items, in order; none for an empty list. */
export function chunksOf<T>(list: readonly T[], size: number): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += size)
    chunks.push(list.slice(start, start + size))
  return chunks
}

/**
 * Repeats the last item of a list until its length is a power of two. For lists of keys in a
 * statement: repeated keys change nothing, and the statement has few texts instead of one for every
 * length.
 */
export function paddedForPlanCache<T>(list: readonly T[]): T[] {
  const last = list.slice(-1)
  const filled = [...list]
  while ((filled.length & (filled.length - 1)) !== 0) filled.push(...last)
  return filled
}
