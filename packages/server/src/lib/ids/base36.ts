/** The digits for which 36 to the power of their number fits into a small integer of the engine. */
const digits = 5
const part = 36 ** digits

/**
 * `value.toString(36)` for whole numbers, in parts that are small integers. The engine writes
 * larger numbers in a base other than ten digit by digit with floating-point arithmetic, which
 * takes more than a microsecond for a message ID.
 */
export function toBase36(value: number | bigint): string {
  if (typeof value === 'bigint') return value.toString(36)
  if (value < 0) return `-${toBase36(-value)}`
  if (value < part) return value.toString(36)
  const high = Math.floor(value / part)
  return high.toString(36) + (value - high * part).toString(36).padStart(digits, '0')
}
