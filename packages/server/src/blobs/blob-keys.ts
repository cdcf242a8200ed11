const name = /^[a-z0-9_-][a-z0-9._-]*$/
const maxLength = 200

/** Reports whether a text is a valid key; see BlobStore. */
export function isKey(key: string): boolean {
  return key.length <= maxLength && key.split('/').every((part) => name.test(part))
}

/**
 * Throws a RangeError for an invalid key (see BlobStore), so that no key leads out of a folder or
 * names two blobs.
 */
export function assertKey(key: string): void {
  if (!isKey(key))
    throw new RangeError(`no key of a blob: ${JSON.stringify(key.slice(0, maxLength))}`)
}

/** Throws a RangeError for an invalid prefix of keys; "" matches all keys. */
export function assertPrefix(prefix: string): void {
  if (prefix !== '') assertKey(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix)
}
