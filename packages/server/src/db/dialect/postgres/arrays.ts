import type { ColumnType } from '../dialect.js'

/**
 * A table of rows from one array for each column, as SQL with the parameters $1 and on.
 *
 * Not `unnest(...)` with all the arrays as a table, which keeps 16 KiB and more for each of them:
 * so much that PostgreSQL asks the system for memory, and gives it back, at every statement.
 * Measured with eleven columns, a statement took two to four times as long.
 * @param before how many parameters stand before those of the table
 * @param place the name of one more column, the number of the row from 1
 */
export function rowsOfArrays(
  columns: Readonly<Record<string, ColumnType>>,
  { before = 0, place }: { readonly before?: number; readonly place?: string } = {},
): string {
  const arrays = Object.entries(columns).map(
    ([name, type], index) => [name, `$${before + index + 1}::${type}[]`] as const,
  )
  const values = arrays.map(([name, array]) => `unnest(${array}) as ${name}`)
  const [first] = arrays
  if (place && first) values.push(`generate_subscripts(${first[1]}, 1) as ${place}`)
  return `(select ${values.join(', ')})`
}

/** The literal of an array, one value for each element. */
export function encodeArray(type: ColumnType, values: readonly unknown[]): string {
  return `{${values.map(type === 'text' ? textEncoder() : encodeNumber).join(',')}}`
}

function encodeNumber(value: unknown): string {
  return value === null ? 'null' : String(value)
}

/** Quotes each value once of a run of equal ones, such as the key of the app. */
function textEncoder(): (value: unknown) => string {
  let last: unknown = null
  let quoted = 'null'
  return (value) => {
    if (value !== last) {
      last = value
      const isNull = value === null || value === undefined
      quoted = isNull ? 'null' : `"${String(value).replace(/["\\]/g, '\\$&')}"`
    }
    return quoted
  }
}
