/** A row from the names of its columns and their values, without the first `from` of them. */
export function toObject(
  columns: readonly string[],
  values: readonly unknown[],
  from = 0,
): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let i = from; i < columns.length; i++) row[columns[i] as string] = values[i]
  return row
}
