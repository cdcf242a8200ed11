/** Values by the names of columns. */
export type ValuesOf<Columns> = { readonly [Name in keyof Columns]: unknown }

/**
 * Makes the rows of a bulk statement from values by name. Values in the order of the columns are used as they are, which costs a fraction
 * of looking each of them up; any other order gives the same rows.
 *
 * @param valuesOf always gives its values in the same order, as an object literal does
 */
export function rowOf<Columns extends object, Source extends unknown[]>(
  columns: Columns,
  valuesOf: (...source: Source) => ValuesOf<Columns>,
): (...source: Source) => unknown[] {
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
