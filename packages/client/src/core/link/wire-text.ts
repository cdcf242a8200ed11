const encoder = new TextEncoder()

/** Returns the length of a text in UTF-8. */
export function bytesOf(text: string): number {
  return encoder.encode(text).length
}

/** Reads an object of JSON. @returns undefined: the text is none */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
