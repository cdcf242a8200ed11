import type { ColumnType } from '../dialect.js'

/** One value per element for the driver: numbers as an array literal, which the driver would otherwise quote one by one. */
export function encodeArray(type: ColumnType, values: readonly unknown[]): unknown {
  if (type === 'text') return values
  return `{${values.map((value) => (value === null ? 'null' : String(value))).join(',')}}`
}
