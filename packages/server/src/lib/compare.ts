/** Compares for sorting: negative, 0 or positive. Numbers and bigints compare with each other. */
export function compare<T extends string | number | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}
