/** Returns the sum of values. */
export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return (
    ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
  )
}

/** Ratio of a figure of this build to that of another one, over the rounds of both. */
export interface Ratio {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** @param others in the order of `own`: the values of the same rounds */
export function ratioOf(own: readonly number[], others: readonly number[]): Ratio {
  return spreadOf(own.map((value, round) => value / (others[round] ?? Number.NaN)))
}

/** A figure without other work and beside it, and the ratio of both in each round. */
export interface Beside {
  readonly alone: Ratio
  readonly beside: Ratio
  /** Beside other work by alone. */
  readonly ratio: Ratio
}

/** @param values of the rounds */
export function besideOf(values: {
  readonly alone: readonly number[]
  readonly beside: readonly number[]
}): Beside {
  const { alone, beside } = values
  return { alone: spreadOf(alone), beside: spreadOf(beside), ratio: ratioOf(beside, alone) }
}

/** Returns median, minimum and maximum. */
export function spreadOf(ratios: readonly number[]): Ratio {
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) }
}

/** Returns the items, in reverse order every second round, so that no item always comes first. */
export function inTurn<T>(items: readonly T[], round: number): readonly T[] {
  return round % 2 === 0 ? items : items.toReversed()
}
