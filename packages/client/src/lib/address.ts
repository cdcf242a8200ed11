/** The parts of an http or https address. */
export interface Address {
  readonly scheme: 'http' | 'https'
  /** The host with the port, if it has one. */
  readonly host: string
  /** '' or with a slash in front. */
  readonly path: string
  /** '' or with a question mark in front. */
  readonly query: string
}

/**
 * Takes an address apart. The URL of React Native cannot do that.
 * @returns undefined: it is no http or https address, or has dots as parts of its path
 */
export function parseAddress(text: string): Address | undefined {
  const parts = /^(https?):\/\/([^/?#\\\s]+)(\/[^?#\\]*)?(\?[^#]*)?(#[\s\S]*)?$/i.exec(text)
  if (!parts) return undefined
  const [, scheme = '', host = '', path = '', query = ''] = parts
  // A browser would resolve them, and so lead to another path.
  if (/\/(\.|%2e){1,2}(\/|$)/i.test(path)) return undefined
  return { scheme: scheme.toLowerCase() as Address['scheme'], host, path, query }
}
