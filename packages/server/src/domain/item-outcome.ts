import { AppError, type ErrorName } from '@hermod/protocol'

/**
 * What became of one item of a list whose items succeed or fail one by one: what it gave, null where there is nothing to give, or why it
 * was refused. A service returns one for each item, in the order in which the items were given.
 */
export type ItemOutcome<T = null> = T | AppError

/** @param refusal why a rule refuses the item, or null */
export function toOutcome(refusal: ErrorName | null): ItemOutcome {
  return refusal === null ? null : new AppError(refusal)
}

/**
 * Catches the refusal of one item.
 * @throws what `work` fails with when the service is at fault and not the item
 */
export async function outcomeOf(work: Promise<void>): Promise<ItemOutcome> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof AppError && error.entry.http < 500) return error
    throw error
  }
}

/** @returns what those of the items gave that were not refused, in their order */
export function valuesOf<T>(outcomes: readonly ItemOutcome<T>[]): T[] {
  return outcomes.flatMap((outcome) => (outcome instanceof AppError ? [] : [outcome]))
}

/** @returns those of the items that were not refused, in their order */
export function acceptedOf<Item>(
  items: readonly Item[],
  outcomes: readonly ItemOutcome<unknown>[],
): Item[] {
  return items.filter((_, index) => !(outcomes[index] instanceof AppError))
}

/** For one item, whose refusal is the answer of the call. @throws AppError the first refusal */
export function requireNoRefusal(outcomes: readonly ItemOutcome<unknown>[]): void {
  for (const outcome of outcomes) if (outcome instanceof AppError) throw outcome
}
