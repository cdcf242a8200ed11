/**
 * A number when it is exact, else a bigint: the one form of an int64 in the service.
 * @param text a decimal integer
 */
export function toInt64(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

/** Returns the IDs in a list of numbers or digits; skips all other entries. */
export function idsOf(list: unknown): (number | bigint)[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((each: unknown) => {
    if (typeof each === 'bigint' || Number.isSafeInteger(each)) return [each as number | bigint]
    return typeof each === 'string' && /^\d{1,16}$/.test(each) ? [Number(each)] : []
  })
}
