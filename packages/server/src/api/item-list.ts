/** Lists whose entries are judged one by one (decision D9). */
import { AppError, type Item } from '@hermod/protocol'

/** The entries that were well-formed. */
export function validOnly<T>(list: readonly Item<T>[]): T[] {
  return list.flatMap((item) => ('value' in item ? [item.value] : []))
}

/**
 * What became of every entry, in the order of the list.
 * @param outcomes one for each entry of {@link validOnly}; a malformed entry gets its AppError
 */
export function inOrder<T, O, R>(
  list: readonly Item<T>[],
  outcomes: readonly O[],
  toResult: (outcome: NoInfer<O> | AppError, item: Item<T>) => R,
): R[] {
  const next = outcomes.values()
  return list.map((item) => toResult('value' in item ? (next.next().value as O) : new AppError('invalid_parameter', item.fault), item))
}
