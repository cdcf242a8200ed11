import { AppError, type ErrorName } from '@hermod/protocol'

/**
 * Outcome of one item of a list: its result, null without a result, or the reason of its refusal. A
 * service returns one outcome per item, in the order of the items.
 */
export type ItemOutcome<T = null> = T | AppError

/** @param refusal rule that refuses the item, or null */
export function toOutcome(refusal: ErrorName | null): ItemOutcome {
  return refusal === null ? null : new AppError(refusal)
}

/**
 * Catches the refusal of one item.
 * @throws errors of the service, which are not a fault of the item
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

/** @returns results of the accepted items, in order */
export function valuesOf<T>(outcomes: readonly ItemOutcome<T>[]): T[] {
  return outcomes.flatMap((outcome) => (outcome instanceof AppError ? [] : [outcome]))
}

/** @returns the accepted items, in order */
export function acceptedOf<Item>(
  items: readonly Item[],
  outcomes: readonly ItemOutcome<unknown>[],
): Item[] {
  return items.filter((_, index) => !(outcomes[index] instanceof AppError))
}

/**
 * Requires that one item was accepted; its refusal is the answer of the call.
 * @throws AppError the first refusal
 */
export function requireNoRefusal(outcomes: readonly ItemOutcome<unknown>[]): void {
  for (const outcome of outcomes) if (outcome instanceof AppError) throw outcome
}
