/**
 * A number when it is exact, else a bigint: the one form of an int64 in the service.
 * @param text a decimal integer
 */
export function toInt64(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}
