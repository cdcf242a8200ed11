/** Whether some order of calls that ran at once explains their answers. */
import { isDeepStrictEqual } from 'node:util'

/** Every order of a list. */
function* permutations<T>(items: readonly T[]): Generator<readonly T[]> {
  if (items.length === 0) yield []
  for (const [index, item] of items.entries())
    for (const rest of permutations(items.toSpliced(index, 1))) yield [item, ...rest]
}

/**
 * @param before a state of plain data; each order begins with a copy
 * @param answered the calls with what each was answered
 * @param step does a call to a state and says what its answer must be
 * @returns the states to which the orders lead that explain all of the answers
 */
export function explanations<State, Call, Result>(
  before: State,
  answered: readonly (readonly [Call, Result])[],
  step: (state: State, call: Call) => Result,
): State[] {
  const found: State[] = []
  for (const order of permutations(answered)) {
    const state = structuredClone(before)
    if (order.every(([call, result]) => isDeepStrictEqual(step(state, call), result)))
      found.push(state)
  }
  return found
}
