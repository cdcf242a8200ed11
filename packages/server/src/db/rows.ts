import { type Columns, camelCaseOf, type TableRow } from './columns.js'

/** Values by the names of columns. */
export type ColumnValues<Columns> = { readonly [Name in keyof Columns]: unknown }

/** Makes the rows of a bulk statement from values with the names in code; compiled as {@link rowMaker}. */
export function rowOf<Table extends Columns>(columns: Table): (values: TableRow<Table>) => unknown[]
/**
 * Makes the rows of a bulk statement from values by the names of the columns. Values in the order
 * of the columns are used as they are, which costs a fraction of looking each of them up; any other
 * order gives the same rows. Rows of every message name all values: V8 takes several microseconds
 * to spread another object into one.
 *
 * @param valuesOf always gives its values in the same order, as an object literal does
 */
export function rowOf<Columns extends object, Source extends unknown[]>(
  columns: Columns,
  valuesOf: (...source: Source) => ColumnValues<Columns>,
): (...source: Source) => unknown[]
export function rowOf<Columns extends object, Source extends unknown[]>(
  columns: Columns,
  valuesOf?: (...source: Source) => ColumnValues<Columns>,
): (...source: Source) => unknown[] {
  if (!valuesOf) {
    const members = Object.keys(columns).map((column) => `values.${camelCaseOf(column)}`)
    return new Function('values', `return [${members.join(', ')}]`) as () => unknown[]
  }
  const names = Object.keys(columns) as (keyof Columns)[]
  let isInOrder: boolean | undefined
  return (...source) => {
    const values = valuesOf(...source)
    isInOrder ??= names.join() === Object.keys(values).join()
    return isInOrder ? Object.values(values) : names.map((name) => values[name])
  }
}

/** The position of each column in a row. */
export function positionsOf<Columns extends object>(
  columns: Columns,
): Readonly<Record<keyof Columns, number>> {
  return Object.fromEntries(Object.keys(columns).map((name, index) => [name, index])) as Record<
    keyof Columns,
    number
  >
}

/** A row by the names of its columns. */
export type Row = Record<string, unknown>
/** Makes a row of the values of its columns. */
export type RowMaker = (values: readonly unknown[]) => Row

const maxMakers = 1_000
const makers = new Map<string, RowMaker>()

/**
 * Makes a row from the names of its columns and their values, without the first `from` of them. It
 * is compiled once for each list of names: an object literal takes a tenth of the time of an object
 * that gets its members one by one, which for a page of history is more than the rest of its work.
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
