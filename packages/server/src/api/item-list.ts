/** Lists with separate results of their entries (rule D9), and the results as callers read them. */
import { AppError, type Int64, type Item, type ItemResult, type UserResult } from '@hermod/protocol'
import { type ItemOutcome, valuesOf } from '../domain/item-outcome.js'

type Malformed = Extract<Item<unknown>, { readonly raw: unknown }>

/** The ID in a malformed entry, 0 when it has none. */
export function rawUserId({ raw }: Malformed): number {
  const userId = fieldOf(raw, 'user_id')
  // Converts -0 into 0.
  return Number.isSafeInteger(userId) ? (userId as number) + 0 : 0
}

/** The username of an entry, '' when a malformed one has none. */
export function usernameOf(item: Item<{ readonly username: string }>): string {
  return textOf(item, 'username')
}

/** A text of an entry, '' when a malformed one has none. */
export function textOf<Name extends string>(
  item: Item<{ readonly [Each in Name]: string }>,
  name: Name,
): string {
  if ('value' in item) return item.value[name]
  const text = fieldOf(item.raw, name)
  return typeof text === 'string' ? shown(text) : ''
}

/** A refused text in a form that an answer can carry: lone surrogates and U+0000 are replaced. */
function shown(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function fieldOf(raw: unknown, name: string): unknown {
  return typeof raw === 'object' && raw !== null
    ? (raw as Readonly<Record<string, unknown>>)[name]
    : undefined
}

/** Processing of the entries of a list. */
interface ItemWork<T, Entry, O, R> {
  /** Converts an entry to the service's form, or refuses it. */
  readonly toEntry: (value: T) => ItemOutcome<Entry>
  /** @returns one outcome for each of the entries, in their order */
  readonly work: (entries: readonly Entry[]) => Promise<readonly ItemOutcome<O>[]>
  readonly toResult: (outcome: ItemOutcome<O>, item: Item<T>) => R
}

/**
 * @returns the result of every entry in the order of the list; that of a malformed one is made of
 * invalid_parameter
 */
export async function itemResults<T, Entry, O, R>(
  list: readonly Item<T>[],
  { toEntry, work, toResult }: ItemWork<T, Entry, O, R>,
): Promise<R[]> {
  const checked = list.map(
    (item): ItemOutcome<Entry> =>
      'value' in item
        ? toEntry(item.value)
        : new AppError('invalid_parameter', shown(item.violation)),
  )
  const outcomes = await work(valuesOf(checked))
  const next = outcomes.values()
  return list.map((item, index) => {
    const refusal = checked[index]
    return toResult(
      refusal instanceof AppError ? refusal : (next.next().value as ItemOutcome<O>),
      item,
    )
  })
}

/**
 * Results for a list of IDs. Repeated IDs count once, at their first place.
 * @param work returns one outcome for each ID, in their order
 */
export async function idResults<R>(
  ids: readonly Int64[],
  work: (distinct: readonly Int64[]) => Promise<readonly ItemOutcome[]>,
  toResult: (id: Int64, outcome: ItemOutcome) => R,
): Promise<R[]> {
  const distinct = [...new Set(ids)]
  const outcomes = await work(distinct)
  return distinct.map((id, index) => toResult(id, outcomes[index] as ItemOutcome))
}

/** The fields of an outcome in results of groups. */
export function toOutcomeFields(outcome: ItemOutcome): Pick<UserResult, 'result' | 'reason'> {
  return outcome === null ? { result: 'success' } : { result: 'fail', reason: outcome.message }
}

/** The fields of an outcome in results of batches of users. */
export function toSuccessFields(
  outcome: ItemOutcome<unknown>,
): Pick<ItemResult, 'success' | 'reason'> {
  return outcome instanceof AppError
    ? { success: false, reason: outcome.message }
    : { success: true }
}
