export type Row = Record<string, unknown>
/** Makes a row of the values of its columns. */
export type RowMaker = (values: readonly unknown[]) => Row

const maxMakers = 1_000
const makers = new Map<string, RowMaker>()

/**
 * A row from the names of its columns and their values, without the first `from` of them. It is compiled once for each list of names: an
 * object that is written in one piece takes a tenth of the time of one that gets a member after the other, which for a page of history
 * is more than what the rest of the service does with it.
 * @param columns names that statements of the service give, never input
 */
export function rowMaker(columns: readonly string[], from = 0): RowMaker {
  const key = `${from} ${columns.join()}`
  const known = makers.get(key)
  if (known) return known
  if (makers.size >= maxMakers) makers.clear()
  const members = columns.map((name, i) => `${JSON.stringify(name)}: values[${i}]`).slice(from)
  const made = new Function('values', `return { ${members.join(', ')} }`) as RowMaker
  makers.set(key, made)
  return made
}
