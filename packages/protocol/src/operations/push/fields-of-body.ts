/** Reading of bodies for checks that a schema cannot express. */

/** An object of a body. */
export type Fields = Readonly<Record<string, unknown>>

/** Tests whether a value is an object with members. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the size of a value as JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  const text = JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `${each}` : each))
  return encodeURIComponent(text).replaceAll(/%../g, '.').length
}
