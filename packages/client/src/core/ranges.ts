/** Sorted, disjoint ranges of positions that are never adjacent. No function modifies its input. */
import type { SeqRange } from '../model/records.js'

/** Adds positions from the first to the last, both included. @returns the same list when it has them all */
export function addRange(
  ranges: readonly SeqRange[],
  first: number,
  last: number,
): readonly SeqRange[] {
  if (first > last) return ranges
  const end = ranges.at(-1)
  // Nearly all additions are at the end.
  if (!end || end[1] + 1 < first) return [...ranges, [first, last]]
  if (covers(ranges, first, last)) return ranges
  const before = ranges.filter(([, to]) => to + 1 < first)
  const after = ranges.filter(([from]) => from - 1 > last)
  const touched = ranges.slice(before.length, ranges.length - after.length)
  const from = Math.min(first, touched[0]?.[0] ?? first)
  const to = Math.max(last, touched.at(-1)?.[1] ?? last)
  return [...before, [from, to], ...after]
}

/** Tests for all positions from the first to the last. */
export function covers(ranges: readonly SeqRange[], first: number, last: number): boolean {
  return first > last || ranges.some(([from, to]) => from <= first && last <= to)
}

/**
 * Returns the first position from which on all positions below a bound are there; the bound itself
 * when the one before it is missing.
 */
export function coveredFrom(ranges: readonly SeqRange[], before: number): number {
  const range = ranges.findLast(([from]) => from < before)
  return range && range[1] >= before - 1 ? range[0] : before
}

/** Takes one position out. */
export function removePosition(ranges: readonly SeqRange[], seq: number): readonly SeqRange[] {
  return ranges
    .flatMap(([from, to]): SeqRange[] => [
      [from, Math.min(to, seq - 1)],
      [Math.max(from, seq + 1), to],
    ])
    .filter(([from, to]) => from <= to)
}
