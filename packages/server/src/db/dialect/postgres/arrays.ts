import type { ColumnType } from '../dialect.js'

/** A value for each element, as the literal of an array: the driver would quote one element after another. */
export function encodeArray(type: ColumnType, values: readonly unknown[]): string {
  return `{${values.map(type === 'text' ? quoter() : encodeNumber).join(',')}}`
}

function encodeNumber(value: unknown): string {
  return value === null ? 'null' : String(value)
}

/** Values that follow each other are often the same, such as the key of the application. */
function quoter(): (value: unknown) => string {
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
