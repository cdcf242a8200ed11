/** Counts the places of texts in a stream of bytes, also those that two chunks share. */
export async function countTexts(
  bytes: AsyncIterable<Buffer>,
  texts: readonly string[],
): Promise<number[]> {
  const needles = texts.map((text) => Buffer.from(text, 'utf8'))
  const overlap = Math.max(0, ...needles.map(({ length }) => length - 1))
  const counts = needles.map(() => 0)
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk])
    for (const [index, needle] of needles.entries()) {
      // A place within the rest was counted with the chunk before.
      let at = all.indexOf(needle, Math.max(0, rest.length - needle.length + 1))
      for (; at !== -1; at = all.indexOf(needle, at + 1)) counts[index] = (counts[index] ?? 0) + 1
    }
    rest = all.subarray(Math.max(0, all.length - overlap))
  }
  return counts
}
