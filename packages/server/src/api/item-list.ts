/** Lists whose entries are checked one by one (rule D9). */
import { AppError, type Item } from '@hermod/protocol'

type Malformed = Extract<Item<unknown>, { readonly raw: unknown }>

/** The ID that a malformed entry names, 0 when it names none. */
export function rawUserId({ raw }: Malformed): number {
  const userId = fieldOf(raw, 'user_id')
  return Number.isSafeInteger(userId) ? (userId as number) : 0
}

/** The username of a malformed entry, '' when it has none. */
export function rawUsername({ raw }: Malformed): string {
  const username = fieldOf(raw, 'username')
  return typeof username === 'string' ? username : ''
}

function fieldOf(raw: unknown, name: string): unknown {
  return typeof raw === 'object' && raw !== null
    ? (raw as Readonly<Record<string, unknown>>)[name]
    : undefined
}

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
  return list.map((item) =>
    toResult(
      'value' in item
        ? (next.next().value as O)
        : new AppError('invalid_parameter', item.violation),
      item,
    ),
  )
}
